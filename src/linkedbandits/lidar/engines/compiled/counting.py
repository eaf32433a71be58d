"""Randomness by counter in machine code: what :mod:`linkedbandits.lidar.engines.counter` says, pixel by pixel."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkedbandits.lidar.engines.compiled.arithmetic import logarithm
from linkedbandits.lidar.engines.compiled.compiling import machine_code
from linkedbandits.lidar.engines.counter import MULTIPLIERS, ROUNDS, WEYL

_FIRST, _SECOND = np.uint64(MULTIPLIERS[0]), np.uint64(MULTIPLIERS[1])
_WEYL_LOW, _WEYL_HIGH = np.uint64(WEYL[0]), np.uint64(WEYL[1])
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_BLOCK, _WHICH = np.uint64(2), np.uint64(3)


@machine_code
def _fill(four: Any, key: Any, pixel: Any, stream: Any, block: Any) -> None:
    """Put the four words of a counter into ``four``."""
    one, two, three, last = block & _LOW, stream, pixel & _LOW, pixel >> _HALF
    low, high = key & _LOW, key >> _HALF
    for _ in range(ROUNDS):
        first, second = _FIRST * one, _SECOND * three
        one, two = (second >> _HALF) ^ two ^ low, second & _LOW
        three, last = (first >> _HALF) ^ last ^ high, first & _LOW
        low, high = (low + _WEYL_LOW) & _LOW, (high + _WEYL_HIGH) & _LOW
    four[0], four[1], four[2], four[3] = one, two, three, last


@machine_code
def uniform(four: Any, key: Any, pixel: Any, stream: Any, number: int, fresh: bool) -> float:
    """A number between 0 and 1. Without ``fresh``, ``four`` holds the words of the number before this one."""
    count = np.uint64(number)
    which = count & _WHICH
    if fresh or which == np.uint64(0):
        _fill(four, key, pixel, np.uint64(stream), count >> _BLOCK)
    return (np.float64(four[which]) + 0.5) * 2.0**-32


@machine_code
def exponential(four: Any, key: Any, pixel: Any, stream: Any, number: int, fresh: bool) -> float:
    """A number of the exponential distribution with mean 1; ``four`` and ``fresh`` as in :func:`uniform`."""
    return -logarithm(uniform(four, key, pixel, stream, number, fresh))
