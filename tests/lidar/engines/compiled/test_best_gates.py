"""Gates of machine code against those of the reference, for the same worth and chance."""

import numpy as np
import pytest

pytest.importorskip("numba")

from linkedbandits.lidar.engines.compiled.best_suffix import best_suffix, suffix_rates
from linkedbandits.lidar.engines.compiled.searching import search, worth_per_time
from linkedbandits.lidar.engines.compiled.tables import SUFFIX, timing_of
from linkedbandits.lidar.gates import AnySubset, Suffixes, Windows
from linkedbandits.lidar.gates import worth_per_time as worth_by_numpy
from linkedbandits.lidar.sensor import Sensor
from tests.support.kept_machine_code import kept

BINS = 60


@kept
def best_of_each(timing, worth, chance):
    gates, reached = np.zeros(worth.shape, np.bool_), np.zeros(len(worth))
    bins = worth.shape[1]
    rates, ends, logs = np.zeros(bins + 1), np.zeros(bins + 1), np.zeros(bins + 1)
    for i in range(len(worth)):
        suffix_rates(timing, worth[i], chance[i], rates, ends, logs)
        if timing.kind == SUFFIX:
            gates[i, best_suffix(timing, rates) :] = True
        else:
            search(timing, worth[i], chance[i], rates, gates[i])
        reached[i] = worth_per_time(timing, gates[i], worth[i], chance[i])
    return gates, reached


@pytest.mark.parametrize("dead_time", [0.0, 7e-9, 55e-9, 100e-9])
@pytest.mark.parametrize("rise", [0.0, 1.5e-9])
@pytest.mark.parametrize(
    "gates", [Suffixes(), Suffixes(7), AnySubset(), Windows(2e-9, 3e-9), Windows(1e-10, 1e-10)], ids=lambda g: g.words
)
def test_gates_are_as_good_as_those_of_the_reference(gates, rise, dead_time):
    generator = np.random.default_rng(7)
    sensor = Sensor(bins=BINS, reach=6.0, dead_time=dead_time, rise=rise, gates=gates)
    peaks = np.exp(-(((np.arange(BINS) - generator.uniform(0, BINS, (60, 1))) / 3) ** 2))
    worth = peaks * generator.uniform(0, 1, (60, 1)) + 0.05 * generator.random((60, BINS)) ** 4 + 1e-12
    chance = np.clip(generator.uniform(0, 0.3, (60, 1)) * generator.random((60, BINS)) + 0.3 * peaks, 1e-6, 1)
    chance[0] = 1.0  # fires always, so that nothing behind the first bin is seen
    chance[1, 20:] = 1 - 1e-12
    best = gates.best(worth, chance, sensor)
    found, reached = best_of_each(timing_of(sensor), worth, chance)
    gates.check(found, sensor)
    right = worth_by_numpy(best, worth, chance, sensor, rises=gates.rises)
    mine = worth_by_numpy(found, worth, chance, sensor, rises=gates.rises)
    np.testing.assert_allclose(mine, right, rtol=1e-5)
    np.testing.assert_allclose(reached, mine, rtol=1e-9)
