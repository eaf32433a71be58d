"""From counts to depths: the same counts are found to be the same by machine code and by the reference."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("numba")

from linkedbandits.lidar.certificate import Certificate
from linkedbandits.lidar.engines.compiled.engine import Job
from linkedbandits.lidar.engines.compiled.locating import locate_block
from linkedbandits.lidar.engines.engine import Light, Pixels
from linkedbandits.lidar.engines.finding import find
from linkedbandits.lidar.returns import shares
from linkedbandits.lidar.sensor import Sensor
from linkedbandits.lidar.two_returns import gain_of_two
from tests.support.kernel_pixels import make_pixels
from tests.support.one_by_one import SENSOR, TASK

COUNT = 60
DELTA = 0.05
CASES = {
    "pulse": ("pulse", replace(TASK, delta=0.1, cycles=200)),
    "told": ("pulse", replace(TASK, delta=0.1, cycles=200, told=True, strongest=3.0)),
    "present": ("pulse", replace(TASK, cycles=8, present=True)),
    "shifted": ("shifted", TASK),
    "even": ("even", replace(TASK, cycles=300)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_same_counts_are_found_to_be_the_same(name):
    acquisition, task = CASES[name]
    depth = np.random.default_rng(1).uniform(2, SENSOR.bins - 2, COUNT)
    depth[::6] = np.nan
    light = Light(depth, np.where(np.isnan(depth), 0.0, 0.8), np.full(COUNT, SENSOR.background))
    job = Job(Pixels(task, acquisition, "map", np.arange(COUNT), light, None, 3, 0))
    acquired = job.acquire(slice(0, COUNT))
    mine = job._find(replace(acquired, level=acquired.level.copy()))
    its = find(job.made, task, "map", replace(acquired, level=acquired.level.copy()))
    for field in its._fields:
        np.testing.assert_allclose(getattr(mine, field), getattr(its, field), rtol=1e-4, atol=1e-4, err_msg=field)
    assert np.isfinite(mine.depth).sum() > COUNT / 3


def test_all_that_is_located_in_counts():
    """Of one pixel at a time, as the reference looks for a level until all pixels together have settled."""
    sensor = Sensor(bins=50, fwhm=3.0)
    pixels = make_pixels(sensor.pulse, bins=50, count=25)
    model, expected = pixels.model, pixels.expected
    found = locate_block(
        pixels.samples, pixels.fired, sensor, model, expected, delta=DELTA, tolerance=1.5, strongest=None
    )
    certificate = Certificate(sensor.pulse, 1.5, within_range=False)
    right = []
    for i in range(pixels.count):
        samples, fired, of_it = pixels.samples[[i]], pixels.fired[[i]], expected.take(slice(i, i + 1))
        depth, level = model.fitted(samples, fired, of_it.background, of_it.log_prior)
        evidence = model.evidence(samples, fired, level, depth, of_it.log_prior)
        ends = certificate.interval(samples, fired, depth, np.log(1 / DELTA), of_it)
        fit = certificate.fit_at(samples, fired, depth, of_it)
        likelihood = (
            model.log_likelihood(samples, fired, level, rough=True) + of_it.log_prior[:, np.newaxis, np.newaxis]
        )
        probable, _ = shares(likelihood, model.none_better(samples, fired, level, depth), 1.5)
        two = gain_of_two(sensor.pulse, samples, fired, depth, 1.5, *fit)
        right.append([depth, evidence, *ends, *fit, probable, two])
    np.testing.assert_allclose(found.T, np.array(right)[..., 0], rtol=1e-4, atol=1e-4)
    assert (found[3] - found[2] < 5).sum() > 5  # some are found,
    assert (found[3] - found[2] == 50).sum() > 1  # and some are not
