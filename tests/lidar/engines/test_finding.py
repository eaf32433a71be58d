"""From counts to what is kept of pixels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from linkedbandits.lidar import Sensor, Task
from linkedbandits.lidar.acquiring import Acquired
from linkedbandits.lidar.acquisitions import find_acquisition
from linkedbandits.lidar.engines.finding import find

SENSOR = Sensor(bins=60, ambient=1.0)
TASK = Task(SENSOR, signal=1.0, cycles=200, delta=0.05)
PIXELS = 6


def acquired(proved=True):
    """A bright return, a dimmer one, no return, no photon at all, a photon alone, a return at the end."""
    depth, signal = np.array([20.3, 41.7, np.nan, np.nan, np.nan, 59.2]), np.array([2.0, 0.5, 0.0, 0.0, 0.0, 1.0])
    samples = np.full((PIXELS, SENSOR.bins), 200)
    fired = np.random.default_rng(1).binomial(samples, SENSOR.chances(depth, signal))
    fired[3:5] = 0
    fired[4, 7] = 1
    return Acquired(
        samples=samples,
        successes=fired,
        cycles=np.full(PIXELS, 200.0),
        seconds=np.full(PIXELS, 1e-5),
        bin=np.full(PIXELS, 9),
        stopped=np.full(PIXELS, proved),
        proved=np.full(PIXELS, proved),
        level=np.full(PIXELS, 33),
        log_prior=np.full(samples.shape, -np.log(SENSOR.bins)),
    )


def test_depth_light_and_how_sure_that_is():
    found = find(find_acquisition("pulse", TASK), TASK, "map", acquired())
    np.testing.assert_allclose(found.depth[[0, 1, 5]], [20.3, 41.7, 59.2], atol=0.3)
    assert np.isnan(found.depth[3])
    np.testing.assert_allclose(found.signal[[0, 1]], [2.0, 0.5], rtol=0.3)
    np.testing.assert_allclose(found.background[:3], SENSOR.background, rtol=0.2)
    assert (found.sure[[0, 1, 5]] > 0.9).all()
    assert found.sure[3] == 0
    assert found.signal[3] == 0
    assert found.proved.tolist() == [1.0] * PIXELS
    assert np.array_equal(found.confident > 0, np.isfinite(found.depth))
    assert found.bin.tolist() == [9.0] * PIXELS


def test_only_the_depth_that_was_proved_is_confident():
    made = find_acquisition("pulse", TASK)
    assert not find(made, TASK, "map", acquired(proved=False)).confident.any()
    assert not find(made, TASK, "coates", acquired()).confident.any()
    without = replace(TASK, delta=None)
    assert not find(find_acquisition("pulse", without), without, "map", acquired()).confident.any()


def test_where_there_is_a_return_for_certain_a_photon_has_a_depth():
    present = replace(TASK, present=True)
    found = find(find_acquisition("pulse", present), present, "map", acquired())
    assert np.isfinite(found.depth).tolist() == [True, True, True, False, True, True]


def test_without_a_model_nothing_is_sure_and_the_background_is_fitted():
    made = find_acquisition("synchronous", replace(TASK, delta=None))
    counts = replace(acquired(), log_prior=np.zeros((PIXELS, 0)), level=np.zeros(PIXELS, dtype=np.int64))
    found = find(made, TASK, "map", counts)
    np.testing.assert_allclose(found.depth[[0, 1, 5]], [20.3, 41.7, 59.2], atol=0.3)
    assert not found.sure.any()
