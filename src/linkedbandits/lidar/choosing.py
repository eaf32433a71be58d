"""Which way to run a sensor is faster: free-running, or with gates? That depends on its dead time, most of all.

Free-running wastes nothing where the detector is soon on again; where it is blind for periods after each ambient
photon, a gate that lets few of those in is worth more. Both are tried on made-up pixels, in time.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import log

import numpy as np

from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar.acquiring import acquire
from linkedbandits.lidar.acquisitions import ACQUISITIONS, Task, find_acquisition

PIXELS = 256
SPAN = 9.0
"""Backgrounds of the made-up pixels are this factor apart: what a scene in the sun has."""
LIKELY = 0.95
_MOST_CYCLES = 20_000
_SEED = 1


@lru_cache(maxsize=64)
def faster(task: Task) -> str:
    """``pulse`` or ``free-running``: what takes made-up pixels less time until depths are likely right."""
    choices = [name for name in ("pulse", "free-running") if ACQUISITIONS[name](task).mode in task.sensor.modes]
    if not choices:
        raise InvalidParameter(f"auto is pulse or free-running, and this sensor has {', '.join(task.sensor.modes)}")
    return min(choices, key=lambda name: mean_seconds(name, task)) if len(choices) > 1 else choices[0]


def mean_seconds(name: str, task: Task) -> float:
    """What a made-up pixel takes this way until its depth is likely right, whatever the task may spend."""
    trial = replace(task, delta=None, likely=LIKELY, cycles=_MOST_CYCLES, seconds=None)
    sensor = task.sensor
    generator = np.random.default_rng(_SEED)
    depth = generator.uniform(sensor.first_seen, sensor.bins, PIXELS)
    ambient = sensor.ambient * np.ones(PIXELS)
    if not task.told:
        ambient *= log(SPAN) / (SPAN - 1) * SPAN ** generator.uniform(0, 1, PIXELS)
    rates = sensor.rates(depth, np.full(PIXELS, task.signal), ambient / sensor.bins + sensor.dark)
    acquired = acquire(find_acquisition(name, trial), trial, rates, 0, np.random.SeedSequence(_SEED), None)
    return float(acquired.seconds.mean())
