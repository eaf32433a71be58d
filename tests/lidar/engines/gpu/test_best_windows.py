"""The gates that the kernel finds reach what those of linkedbandits.lidar.gates reach."""

from __future__ import annotations

import numpy as np
import pytest

from linkedbandits.lidar import Sensor
from linkedbandits.lidar.engines.gpu.tables import gate_words, search_numbers
from linkedbandits.lidar.gates import CLOSE, AnySubset, Windows, _lost, best_gate, worth_per_time
from tests.support.kernels_on_cpu import CANARY, compiled, needs_compiler, run
from tests.support.outlooks import outlooks

pytestmark = needs_compiler

PERIOD = Sensor().period


def bins_of(gate, bins):
    """From words to bins."""
    place = np.arange(bins)
    return (gate[:, place // 32] >> (place % 32).astype(np.uint32) & 1).astype(bool)


def best_windows(worth, chance, sensor, active=None):
    lanes, bins = worth.shape
    kind = sensor.gates
    shortest, gap = kind.in_bins(sensor) if isinstance(kind, Windows) else (1, 1)
    rise = sensor.rise_bins if kind.rises else 0
    lost = _lost(sensor)
    count = lanes if active is None else active.size
    stride = count + 3
    scratch = np.full(search_numbers(bins) * stride + 8, CANARY, dtype=np.float32)
    gate = np.full((lanes, gate_words(bins)), 77, dtype=np.uint32)
    run(
        compiled("best_windows.cu", (f"-DBINS={bins}",)),
        "best_windows",
        count + 2,  # blocks of one thread; the last ones have nothing to do
        active,
        count,
        worth.astype(np.float32),
        chance.astype(np.float32),
        gate,
        scratch,
        np.int64(stride),
        shortest,
        gap,
        rise,
        np.append(sensor.rising, 0.0),
        lost.base,
        lost.late,
    )
    assert (scratch[-8:] == np.float32(CANARY)).all()
    assert (scratch[:-8].reshape(-1, stride)[:, count:] == np.float32(CANARY)).all()
    return gate


def windows(bins, shortest, gap):
    return Windows(shortest * PERIOD / bins, gap * PERIOD / bins)


@pytest.mark.parametrize("dead", [0.0, 0.3, 0.95, 2.5])
@pytest.mark.parametrize(
    ("shortest", "gap", "rise"),
    [(1, 1, 0.0), (5, 1, 0.0), (1, 4, 0.0), (7, 3, 0.0), (3, 9, 2.4), (2, 2, 4.0), (1, 1, 1.0), (60, 10, 0.0)],
)
def test_no_gate_of_numpy_is_better(shortest, gap, rise, dead):
    bins, lanes = 75, 30
    worth, chance = outlooks(bins, lanes, seed=shortest + 10 * gap)
    kind = windows(bins, shortest, gap)
    sensor = Sensor(bins=bins, dead_time=dead * PERIOD, rise=rise * PERIOD / bins, gates=kind)
    found = bins_of(best_windows(worth, chance, sensor), bins)
    its = kind.best(worth, chance, sensor)
    kind.check(found, sensor)
    mine, numpys = (worth_per_time(gate, worth, chance, sensor) for gate in (found, its))
    assert (mine >= numpys / (1 + CLOSE) * (1 - 1e-5)).all()
    assert (found == its).all(axis=1).mean() > 0.5
    assert (found != (np.arange(bins) >= found.argmax(axis=1)[:, np.newaxis])).any() or shortest == 60


@pytest.mark.parametrize("dead", [0.0, 0.4, 1.7])
def test_any_subset_opens_at_once(dead):
    bins = 64
    worth, chance = outlooks(bins, 30, seed=4)
    sensor = Sensor(bins=bins, dead_time=dead * PERIOD, rise=2 * PERIOD / bins, gates=AnySubset())
    found = bins_of(best_windows(worth, chance, sensor), bins)
    best = sensor.gates.best(worth, chance, sensor)
    mine, numpys = (worth_per_time(gate, worth, chance, sensor, rises=False) for gate in (found, best))
    assert found.any(axis=1).all()
    assert (mine >= numpys / (1 + CLOSE) * (1 - 1e-5)).all()
    assert (mine[5:] > 1.02 * worth_per_time(np.ones_like(found), worth, chance, sensor, rises=False)[5:]).any()


def test_without_lost_periods_it_is_the_best_of_a_cycle():
    bins = 40
    worth, chance = outlooks(bins, 30, seed=5)
    sensor = Sensor(bins=bins, dead_time=0.0, gates=AnySubset())
    if sensor.lost_periods(np.arange(bins)).any():
        pytest.fail("a sensor that is never blind loses nothing")
    found = bins_of(best_windows(worth, chance, sensor), bins)
    mine, its = (worth_per_time(gate, worth, chance, sensor, rises=False) for gate in (found, best_gate(worth, chance)))
    np.testing.assert_allclose(mine, its, rtol=1e-5)


def test_pixels_of_a_list_are_searched_and_no_others():
    bins = 40
    worth, chance = outlooks(bins, 9, seed=6)
    sensor = Sensor(bins=bins, gates=AnySubset())
    active = np.array([7, 2, 5], dtype=np.int32)
    some, all_of_them = best_windows(worth, chance, sensor, active), best_windows(worth, chance, sensor)
    assert np.array_equal(some[active], all_of_them[active])
    assert (np.delete(some, active, axis=0) == 77).all()
