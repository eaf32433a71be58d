"""The search for the best gate of any bins, or of windows: with few bins, against all gates that there are."""

from itertools import product

import numpy as np
import pytest

pytest.importorskip("numba")

from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar import Sensor
from linkedbandits.lidar.engines.compiled.best_suffix import suffix_rates
from linkedbandits.lidar.engines.compiled.searching import search, worth_per_time
from linkedbandits.lidar.engines.compiled.tables import timing_of
from linkedbandits.lidar.gates import AnySubset, Windows
from linkedbandits.lidar.gates import worth_per_time as worth_by_numpy
from tests.support.in_python import in_python
from tests.support.outlooks import outlooks

BINS = 9
PERIOD = Sensor(bins=BINS, reach=6.0).period
KINDS = {
    "any bins": (AnySubset(), 0.0),
    "windows": (Windows(2 * PERIOD / BINS, 2 * PERIOD / BINS), 0.0),
    "windows that rise": (Windows(3 * PERIOD / BINS, 1 * PERIOD / BINS), 1.4 * PERIOD / BINS),
}


def patchy(lanes, seed):
    """Bins worth something, in patches, and between them some that only fire."""
    generator = np.random.default_rng(seed)
    good = np.repeat(generator.random((lanes, 3)) < 0.6, BINS // 3, axis=1)
    worth = np.where(good, generator.uniform(0.01, 0.1, (lanes, BINS)), 1e-12)
    return worth, np.where(good, 0.05, generator.uniform(0.2, 0.6, (lanes, BINS)))


def possible(gate, sensor):
    try:
        sensor.gates.check(gate[np.newaxis], sensor)
    except InvalidParameter:
        return False
    return True


@pytest.mark.parametrize("dead", [0.0, 0.4, 1.3])
@pytest.mark.parametrize("kind", KINDS)
def test_no_gate_is_better(kind, dead):
    gates, rise = KINDS[kind]
    sensor = Sensor(bins=BINS, reach=6.0, dead_time=dead * PERIOD, rise=rise, gates=gates)
    every = np.array([each for each in product([False, True], repeat=BINS) if any(each)])
    every = every[[possible(gate, sensor) for gate in every]]
    timing, worth, chance = timing_of(sensor), *patchy(12, seed=2)
    rates, ends, logs = np.zeros((3, BINS + 1))
    differ = 0
    for i in range(len(worth)):
        in_python(suffix_rates)(timing, worth[i], chance[i], rates, ends, logs)
        gate = np.zeros(BINS, dtype=np.bool_)
        in_python(search)(timing, worth[i], chance[i], rates, gate)
        assert possible(gate, sensor)
        alike = (np.broadcast_to(each[i], every.shape) for each in (worth, chance))
        best = worth_by_numpy(every, *alike, sensor, rises=gates.rises).max()
        mine = in_python(worth_per_time)(timing, gate, worth[i], chance[i])
        assert mine == pytest.approx(best, rel=1e-4)
        differ += best > rates[:-1].max() * 1.001
    assert differ  # where some gate is better than any that stays open


@pytest.mark.parametrize("kind", KINDS)
def test_worth_per_time_is_that_of_the_reference(kind):
    gates, rise = KINDS[kind]
    sensor = Sensor(bins=BINS, reach=6.0, dead_time=0.4 * PERIOD, rise=rise, gates=gates)
    worth, chance = outlooks(BINS, 30, seed=3)
    gate = np.random.default_rng(4).random((30, BINS)) < 0.6
    gate[:, 4] = True
    right = worth_by_numpy(gate, worth, chance, sensor, rises=gates.rises)
    mine = [in_python(worth_per_time)(timing_of(sensor), *each) for each in zip(gate, worth, chance, strict=True)]
    np.testing.assert_allclose(mine, right, rtol=1e-9, atol=1e-15)
