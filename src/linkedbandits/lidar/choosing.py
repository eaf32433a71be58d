"""Which way to run a sensor is better: free-running, or with gates? That depends on its dead time, most of all.

Free-running wastes nothing where the detector is soon on again; where it is blind for periods after each ambient
photon, a gate that lets few of those in is worth more. Both are tried on made-up pixels: in time, where pixels end by
themselves; and where all have the same time or cycles, by how many are right when that is over. These are two
questions: bright ambient light takes long, and gates shorten that; but dim pixels are what is left when all others are
right, and in most of them little is hidden.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import log

import numpy as np

from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar.acquiring import Acquired, acquire
from linkedbandits.lidar.acquisitions import ACQUISITIONS, Task, find_acquisition
from linkedbandits.lidar.borrowing import COARSEST, Around
from linkedbandits.lidar.engines.engine import Light
from linkedbandits.lidar.engines.finding import find
from linkedbandits.lidar.expected import Expected
from linkedbandits.lidar.trusting import SINGLE, WIDTHS, Trust
from linkedbandits.model import FloatArray

PIXELS = 256
SPAN = 9.0
"""Backgrounds of the made-up pixels are this factor apart: what a scene in the sun has."""
NEAREST, FARTHEST = 0.2, 0.9
"""Where all have the same time, depths are between these shares of the reach: the signals of pixels that are equally
bright are then a factor of 20 apart, by one over depth squared, as in a room."""
LIKELY = 0.95
_MOST_CYCLES = 20_000
_MOST_ALIKE = 4_000
"""Cycles or periods, where all pixels have the same: by then all are right, or will not be for long."""
_SEED = 1


@lru_cache(maxsize=64)
def faster(task: Task) -> str:
    """``pulse`` or ``free-running``: what takes made-up pixels less time until depths are likely right.

    Where every pixel has the same time or cycles, because the task has neither ``likely`` nor ``delta``: what has more
    of them right by then, or is nearer to the truth where that is equal.
    """
    choices = [name for name in ("pulse", "free-running") if ACQUISITIONS[name](task).mode in task.sensor.modes]
    if not choices:
        raise InvalidParameter(f"auto is pulse or free-running, and this sensor has {', '.join(task.sensor.modes)}")
    if len(choices) == 1:
        return choices[0]
    ends = task.likely is not None or task.delta is not None
    return min(choices, key=lambda name: mean_seconds(name, task) if ends else wrong(name, task))


def mean_seconds(name: str, task: Task) -> float:
    """What a made-up pixel takes this way until its depth is likely right, whatever the task may spend."""
    trial = replace(task, delta=None, likely=LIKELY, cycles=_MOST_CYCLES, seconds=None)
    sensor = task.sensor
    generator = np.random.default_rng(_SEED)
    depth = generator.uniform(sensor.first_seen, sensor.bins, PIXELS)
    shade = _shades(task, generator)
    light = Light(depth, np.full(PIXELS, task.signal), sensor.ambient * shade / sensor.bins + sensor.dark)
    return float(_acquired(name, trial, light, None).seconds.mean())


def wrong(name: str, task: Task) -> tuple[float, float]:
    """The share of made-up pixels that are wrong this way when the task's time or cycles are over; the mean error.

    They are in the sun: signal and background are in proportion to the shade, the signal also to one over depth
    squared. Where pixels borrow, all but those of the first pass begin with what is usual around them.
    """
    sensor = task.sensor
    seconds = None if task.seconds is None else min(task.seconds, _MOST_ALIKE * sensor.period)
    # With a clock, cycles are as many as fit: there may be fewer of them than periods, and no more.
    trial = replace(task, cycles=min(task.cycles, _MOST_ALIKE), seconds=seconds, present=True)
    generator = np.random.default_rng(_SEED)
    first = max(NEAREST * sensor.bins, sensor.first_seen)
    depth = generator.uniform(first, max(FARTHEST * sensor.bins, first), PIXELS)
    shade = _shades(task, generator)
    signal = shade / depth**2
    light = Light(depth, signal * task.signal / signal.mean(), sensor.ambient * shade / sensor.bins + sensor.dark)
    expected = _around(light, task, generator) if task.borrow else None
    acquired = _acquired(name, trial, light, expected)
    found = find(find_acquisition(name, trial), trial, "map", acquired)
    error = np.abs(np.where(np.isfinite(found.depth), found.depth, sensor.bins / 2) - depth)
    return float((error > task.tolerance).mean()), float(error.mean())


def _shades(task: Task, generator: np.random.Generator) -> FloatArray:
    """How bright made-up pixels are, 1 on average."""
    if task.told:
        return np.ones(PIXELS)
    return np.asarray(log(SPAN) / (SPAN - 1) * SPAN ** generator.uniform(0, 1, PIXELS))


def _around(light: Light, task: Task, generator: np.random.Generator) -> Expected:
    """What pixels that borrow may expect: a neighbour that is mostly right, as is usual."""
    usual, bins = Trust.usual(), task.sensor.bins
    shares = usual.shares[SINGLE] / usual.shares[SINGLE].sum()
    width = generator.choice(WIDTHS, PIXELS, p=shares)
    near = np.clip(light.depth + generator.laplace(0.0, width), 0.0, bins)
    depth = np.where(generator.random(PIXELS) < usual.anywhere, generator.uniform(0, bins, PIXELS), near)
    alone = np.arange(PIXELS) % COARSEST**2 == 0
    return Around(
        depth=depth[:, np.newaxis],
        trust=np.where(alone, 0.0, 1 - usual.anywhere)[:, np.newaxis],
        signal=np.full(PIXELS, task.signal),
        background=np.full(PIXELS, task.sensor.background),
        group=np.zeros(PIXELS, dtype=np.int64),
        shares=shares[np.newaxis, np.newaxis],
        widths=WIDTHS,
    ).expected(bins)


def _acquired(name: str, task: Task, light: Light, expected: Expected | None) -> Acquired:
    made = find_acquisition(name, task)
    return acquire(made, task, task.sensor.rates(*light), 0, np.random.SeedSequence(_SEED), expected)
