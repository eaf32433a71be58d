"""The suffixes that the kernel finds are those of linkedbandits.lidar.gates."""

from __future__ import annotations

import numpy as np
import pytest

from linkedbandits.lidar import Sensor
from linkedbandits.lidar.engines.gpu.tables import gate_words
from linkedbandits.lidar.gates import Suffixes, _lost, worth_per_time
from tests.support.kernels_on_cpu import compiled, needs_compiler, number, run
from tests.support.outlooks import outlooks

pytestmark = needs_compiler

PERIOD = Sensor().period
WARPS = 2


def best_suffix(worth, chance, sensor, active=None):
    lanes, bins = worth.shape
    library = compiled("suffix.cu", (f"-DBINS={bins}",))
    active = np.arange(lanes, dtype=np.int32) if active is None else active
    may_open = None
    if sensor.gates.positions is not None:
        may_open = np.isin(np.arange(bins), sensor.gates.starts(bins)).astype(np.uint8)
    opens = np.full(lanes, -1, dtype=np.int32)
    run(
        library,
        "best_suffix",
        -(-active.size // WARPS) + 1,  # the last one has nothing to do
        active,
        active.size,
        worth.astype(np.float32),
        chance.astype(np.float32),
        _lost(sensor).base,
        _lost(sensor).late,
        np.append(sensor.rising, 0.0).astype(np.float32),
        sensor.rise_bins,
        may_open,
        opens,
        threads=32 * WARPS,
        shared_bytes=WARPS * number(library, "suffix_bytes_a_warp"),
    )
    return opens


@pytest.mark.parametrize("dead", [0.0, 0.3, 0.95, 2.5])
@pytest.mark.parametrize(
    ("bins", "rise", "positions"),
    [(75, 0.0, None), (75, 2.4, None), (64, 0.0, 20), (64, 30.0, None), (40, 5.0, 7), (31, 0.0, None), (97, 60.0, 97)],
)
def test_it_opens_where_numpy_opens(bins, rise, positions, dead):
    worth, chance = outlooks(bins, 30, seed=bins + int(rise))
    kind = Suffixes(positions)
    sensor = Sensor(bins=bins, dead_time=dead * PERIOD, rise=rise * PERIOD / bins, gates=kind)
    opens = best_suffix(worth, chance, sensor)
    found, its = np.arange(bins) >= opens[:, np.newaxis], kind.best(worth, chance, sensor)
    kind.check(found, sensor)
    mine, numpys = (worth_per_time(gate, worth, chance, sensor) for gate in (found, its))
    np.testing.assert_allclose(mine, numpys, rtol=3e-6, atol=1e-12)
    assert (opens == its.argmax(axis=1)).mean() > 0.9
    assert np.unique(opens).size > 4


def test_pixels_of_a_list_are_looked_at_and_no_others():
    worth, chance = outlooks(40, 9, seed=6)
    sensor = Sensor(bins=40)
    active = np.array([7, 2, 5], dtype=np.int32)
    some, every = best_suffix(worth, chance, sensor, active), best_suffix(worth, chance, sensor)
    assert np.array_equal(some[active], every[active])
    assert (np.delete(some, active) == -1).all()


def test_the_first_bin_of_a_gate():
    bins = 75
    first = np.array([0, 31, 32, 63, 64, 74, 5], dtype=np.int32)
    gate = np.zeros((first.size, gate_words(bins)), dtype=np.uint32)
    for row, bin_ in zip(gate, first, strict=True):
        for each in range(bin_, bins, 3):
            row[each // 32] |= np.uint32(1 << each % 32)
    active, opens = np.array([6, 5, 4, 3, 2, 0], dtype=np.int32), np.full(first.size, -1, dtype=np.int32)
    library = compiled("suffix.cu", (f"-DBINS={bins}",))
    run(library, "first_open", 2, active, active.size, gate, opens, threads=4)
    assert np.array_equal(opens[active], first[active])
    assert opens[1] == -1
