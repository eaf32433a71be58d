"""Rates of gates that stay open, against those of the reference; all searches are in test_best_gates."""

import numpy as np
import pytest

pytest.importorskip("numba")

from linkedbandits.lidar import Sensor
from linkedbandits.lidar.engines.compiled.best_suffix import best_suffix, suffix_rates
from linkedbandits.lidar.engines.compiled.tables import timing_of
from linkedbandits.lidar.gates import Suffixes, _suffix_rates
from tests.support.in_python import in_python
from tests.support.outlooks import outlooks

BINS = 40


@pytest.mark.parametrize("dead_time", [0.0, 35e-9, 100e-9])
@pytest.mark.parametrize("rise", [0.0, 1.5e-9, 38e-9])
def test_every_gate_is_worth_what_the_reference_says(rise, dead_time):
    sensor = Sensor(bins=BINS, reach=6.0, dead_time=dead_time, rise=rise)
    worth, chance = outlooks(BINS, 12, seed=1)
    chance[5] = 1 - 1e-9  # so small that ratios of what is left would not be exact
    timing, rates = timing_of(sensor), in_python(suffix_rates)
    right = _suffix_rates(worth, chance, sensor, sensor.rise_bins)
    found, ends, logs = np.zeros((3, BINS + 1))
    for lane in range(len(worth)):
        rates(timing, worth[lane], chance[lane], found, ends, logs)
        np.testing.assert_allclose(found[:-1], right[lane], rtol=1e-9, atol=1e-15)


def test_the_first_of_equals_among_those_allowed():
    timing = timing_of(Sensor(bins=BINS, gates=Suffixes(5)))
    allowed = np.flatnonzero(timing.allowed)
    rates = np.full(BINS + 1, 0.5)
    rates[allowed[2:4]] = 0.7
    rates[allowed[2] - 1] = 0.9
    assert in_python(best_suffix)(timing, rates) == allowed[2]
