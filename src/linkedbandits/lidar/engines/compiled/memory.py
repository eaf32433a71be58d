"""Working memory of a thread: made once, used for one pixel after the other."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkedbandits.lidar.engines.compiled.compiling import machine_code
from linkedbandits.lidar.engines.compiled.exposing import CLOCKS, GUIDES
from linkedbandits.lidar.engines.compiled.likelihood import stride_of
from linkedbandits.lidar.engines.compiled.tables import BLOCK

ARM, LEVEL, STOPPED, CERTAIN, NEXT_TRY, FRESH = 0, 1, 2, 3, 4, 5
"""Places of what is thought of a pixel: its likeliest bin, the level of its background, whether it is over and with a
proof, at how many cycles the proof is tried next, and whether the photons added up so far are of another level."""
STATES = 6


class Memory(NamedTuple):
    """Arrays by what they are for; those in single precision first."""

    fire: Any
    weight: Any
    padded: Any
    missed: Any
    log_prior: Any
    best: Any
    of_bin: Any
    more: Any
    known: Any
    mass: Any
    has_weight: Any
    reached: Any
    worth: Any
    chance: Any
    suffix_rates: Any
    ends: Any
    logs: Any
    upto: Any
    light: Any
    seen: Any
    sums: Any
    guide: Any
    clock: Any
    fine: Any
    fine_padded: Any
    fine_missed: Any
    fine_best: Any
    hits: Any
    marks: Any
    state: Any
    four: Any
    gate: Any
    counted: Any


@machine_code
def make_memory(model: Any) -> Memory:
    """All of it, for pixels of this many bins."""
    bins, stride = model.bins, stride_of(model)
    phases, rows = model.share.shape[0], model.fire.shape[1]
    single, whole = np.float32, np.int64
    return Memory(
        np.zeros(rows * stride, single),
        np.zeros(rows * stride, single),
        np.zeros(stride, single),
        np.zeros((phases, bins), single),
        np.zeros(bins, single),
        np.zeros((phases, bins), single),
        np.zeros(bins, single),
        np.zeros(bins, single),
        np.zeros(bins, single),
        np.zeros((phases, bins), single),
        np.zeros(bins // BLOCK + 1, np.bool_),
        np.zeros(bins // BLOCK + 1, np.bool_),
        np.zeros(bins),
        np.zeros(bins),
        np.zeros(bins + 1),
        np.zeros(bins + 1),
        np.zeros(bins + 1),
        np.zeros(bins * phases + 1),
        np.zeros(bins),
        np.zeros(bins),
        np.zeros(bins + 1),
        np.zeros(GUIDES, whole),
        np.zeros(CLOCKS),
        np.zeros(rows * stride),
        np.zeros(stride),
        np.zeros((phases, bins)),
        np.zeros((phases, bins)),
        np.zeros(bins, whole),
        np.zeros(bins, whole),
        np.zeros(STATES, whole),
        np.zeros(4, np.uint64),
        np.ones(bins, np.bool_),
        np.ones(bins, np.bool_),
    )
