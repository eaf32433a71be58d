"""The engine numpy: pixels by parts, on any number of processes."""

from __future__ import annotations

import numpy as np
import pytest

from linkedbandits.lidar import Sensor, Task
from linkedbandits.lidar.acquiring import acquire
from linkedbandits.lidar.acquisitions import find_acquisition
from linkedbandits.lidar.engines import reference
from linkedbandits.lidar.engines.engine import Light, Pixels
from linkedbandits.lidar.engines.finding import find
from linkedbandits.lidar.engines.reference import NumpyEngine
from linkedbandits.streams import block_lanes

SENSOR = Sensor(bins=40, ambient=1.0)


def pixels_of(count, method="synchronous", number=2):
    rng = np.random.default_rng(1)
    light = Light(rng.uniform(0, 40, count), rng.uniform(0.2, 2.0, count), np.full(count, SENSOR.background))
    task = Task(SENSOR, signal=1.0, cycles=5, borrow=False)
    return Pixels(task, method, "map", np.arange(count), light, None, seed=7, number=number)


def test_parts_begin_where_blocks_of_lanes_do():
    block = block_lanes(SENSOR.bins)
    parts = reference._parts(pixels_of(3 * block + 5))
    assert [part.first % block for part in parts] == [0] * len(parts)
    assert all(part.pixels.numbers.size >= reference.LEAST_PIXELS for part in parts[:-1])
    numbers = np.concatenate([part.pixels.numbers for part in parts])
    assert np.array_equal(numbers, np.arange(3 * block + 5))
    assert reference._name(parts[0]) == f"pixels 0 to {parts[1].first - 1} of synchronous"


@pytest.mark.parametrize("method", ["synchronous", "even"])
def test_every_part_is_acquired_and_found_by_the_reference(method):
    block = block_lanes(SENSOR.bins)
    pixels, told = pixels_of(block + 40, method), []
    found = NumpyEngine().measure(pixels, told.append)
    assert sum(told) == pixels.numbers.size
    assert len(told) == 2
    made = find_acquisition(method, pixels.task)
    last = pixels.take(slice(block, None))
    key = (2, block) if made.in_time else ()
    seed = np.random.SeedSequence(7, spawn_key=key)
    its = find(made, pixels.task, "map", acquire(made, pixels.task, SENSOR.rates(*last.light), block, seed, None))
    for mine, numpys in zip(found, its, strict=True):
        assert np.array_equal(mine[block:], numpys, equal_nan=True)


def test_passes_see_other_photons():
    one, other = (NumpyEngine().measure(pixels_of(30, number=number), lambda _: None) for number in (0, 1))
    assert not np.array_equal(one.depth, other.depth, equal_nan=True)


@pytest.mark.slow
def test_workers_change_nothing():
    pixels = pixels_of(2 * block_lanes(SENSOR.bins) + 1)
    one, two = (NumpyEngine(workers).measure(pixels, lambda _: None) for workers in (1, 2))
    for mine, its in zip(one, two, strict=True):
        assert np.array_equal(mine, its, equal_nan=True)
