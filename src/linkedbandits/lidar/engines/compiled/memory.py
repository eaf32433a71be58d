"""Working memory of a thread: made once, used for one pixel after the other.

It is passed on by reference. Tuples of so many arrays would be copied at every call, and take the compiler long.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.experimental import structref

from linkedbandits.lidar.engines.compiled.compiling import machine_code
from linkedbandits.lidar.engines.compiled.exposing import CLOCKS, GUIDES
from linkedbandits.lidar.engines.compiled.likelihood import stride_of
from linkedbandits.lidar.engines.compiled.tables import BLOCK

ARM, LEVEL, STOPPED, CERTAIN, NEXT_TRY, FRESH = 0, 1, 2, 3, 4, 5
"""Places of what is thought of a pixel: its likeliest bin, the level of its background, whether it is over and with a
proof, at how many cycles the proof is tried next, and whether the photons added up so far are of another level."""
STATES = 6
NEVER = np.float32(-1e30)
"""The logarithm of the weight of bins behind the range, which are there so that bins can be done several at a time."""
_LINE = 16


@structref.register
class _Record(types.StructRef):
    """Names and arrays."""


_SINGLES, _DOUBLES, _WHOLES = types.float32[::1], types.float64[::1], types.int64[::1]
_ROWS_OF_SINGLES, _ROWS_OF_DOUBLES, _FLAGS = types.float32[:, ::1], types.float64[:, ::1], types.boolean[::1]

_MEMORY = _Record(
    [
        ("fire", _SINGLES),
        ("weight", _SINGLES),
        ("padded", _SINGLES),
        ("missed", _ROWS_OF_SINGLES),
        ("log_prior", _SINGLES),
        ("best", _ROWS_OF_SINGLES),
        ("of_bin", _SINGLES),
        ("more", _SINGLES),
        ("gained", _SINGLES),
        ("posterior", _SINGLES),
        ("mass", _ROWS_OF_SINGLES),
        ("has_weight", _FLAGS),
        ("reached", _FLAGS),
        ("worth", _DOUBLES),
        ("chance", _DOUBLES),
        ("suffix_rates", _DOUBLES),
        ("ends", _DOUBLES),
        ("logs", _DOUBLES),
        ("upto", _DOUBLES),
        ("light", _DOUBLES),
        ("seen", _DOUBLES),
        ("sums", _DOUBLES),
        ("guide", _WHOLES),
        ("clock", _DOUBLES),
        ("fine", _DOUBLES),
        ("fine_padded", _DOUBLES),
        ("fine_missed", _ROWS_OF_DOUBLES),
        ("fine_best", _ROWS_OF_DOUBLES),
        ("hits", _WHOLES),
        ("marks", _WHOLES),
        ("state", _WHOLES),
        ("four", types.uint64[::1]),
        ("gate", _FLAGS),
        ("counted", _FLAGS),
    ]
)


@machine_code
def _aligned(count: int) -> Any:
    """Zeros in single precision that begin where a line of the processor's cache does: pieces are read whole then."""
    numbers = np.zeros(count + _LINE, np.float32)
    first = -(numbers.ctypes.data // 4) % _LINE
    return numbers[first : first + count]


@machine_code
def make_memory(model: Any) -> Any:
    """All of it, for pixels of this many bins."""
    bins, room, stride = model.bins, model.room, stride_of(model)
    phases, rows = model.share.shape[0], model.fire.shape[1]
    memory = structref.new(_MEMORY)
    memory.fire = _aligned(rows * stride)
    memory.weight = _aligned(rows * stride)
    memory.padded = _aligned(stride)
    memory.missed = _aligned(phases * room).reshape((phases, room))
    memory.log_prior = _aligned(room)
    memory.log_prior[bins:] = NEVER
    memory.best = _aligned(phases * room).reshape((phases, room))
    memory.of_bin = _aligned(room)
    memory.more = _aligned(room)
    memory.gained = _aligned(room)
    memory.posterior = np.zeros(bins, np.float32)
    memory.mass = np.zeros((phases, bins), np.float32)
    memory.has_weight = np.zeros(room // BLOCK, np.bool_)
    memory.reached = np.zeros(room // BLOCK, np.bool_)
    memory.worth = np.zeros(bins)
    memory.chance = np.zeros(bins)
    memory.suffix_rates = np.zeros(bins + 1)
    memory.ends = np.zeros(bins + 1)
    memory.logs = np.zeros(bins + 1)
    memory.upto = np.zeros(bins * phases + 1)
    memory.light = np.zeros(bins)
    memory.seen = np.zeros(bins)
    memory.sums = np.zeros(bins + 1)
    memory.guide = np.zeros(GUIDES, np.int64)
    memory.clock = np.zeros(CLOCKS)
    memory.fine = np.zeros(rows * stride)
    memory.fine_padded = np.zeros(stride)
    memory.fine_missed = np.zeros((phases, bins))
    memory.fine_best = np.zeros((phases, bins))
    memory.hits = np.zeros(bins, np.int64)
    memory.marks = np.zeros(bins, np.int64)
    memory.state = np.zeros(STATES, np.int64)
    memory.four = np.zeros(4, np.uint64)
    memory.gate = np.ones(bins, np.bool_)
    memory.counted = np.ones(bins, np.bool_)
    return memory
