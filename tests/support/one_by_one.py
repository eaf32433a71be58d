"""A few pixels that machine code acquires, and that the reference acquires one by one with the same random numbers."""

from __future__ import annotations

import numpy as np

from linkedbandits.lidar import Sensor, Task
from linkedbandits.lidar.acquiring import Acquired
from linkedbandits.lidar.engines.compiled.engine import Job
from linkedbandits.lidar.engines.counter import key_of
from linkedbandits.lidar.engines.engine import Light, Pixels
from tests.support.by_counter import by_reference

SEED, BINS = 7, 48
KEY = key_of(SEED)
SENSOR = Sensor(bins=BINS, ambient=2.0, reach=3.0)
TASK = Task(SENSOR, signal=1.0, cycles=40, borrow=False)
NUMBERS = np.array([3, 1, 2**33], dtype=np.int64)
LIGHT = Light(np.array([30.3, np.nan, 12.8]), np.array([1.5, 0.0, 1.0]), np.array([0.04, 0.03, 0.06]))


def in_machine_code(task, method, around=None) -> Acquired:
    """What machine code acquires of all of them."""
    job = Job(Pixels(task, method, "map", NUMBERS, LIGHT, around, SEED, 0))
    return job.acquire(slice(0, NUMBERS.size))


def one_by_one(task, method, monkeypatch, around=None) -> list[Acquired]:
    """What the reference acquires of each."""
    return [
        by_reference(
            task,
            method,
            LIGHT.take(slice(pixel, pixel + 1)),
            NUMBERS[pixel],
            KEY,
            monkeypatch,
            None if around is None else around.take(slice(pixel, pixel + 1)),
        )
        for pixel in range(NUMBERS.size)
    ]
