"""What is known of the pixels of a tile, on a device."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from linkedbandits.lidar.engines.engine import Light
from linkedbandits.lidar.engines.gpu.device import import_cupy
from linkedbandits.model import IntArray

NOTHING = np.uint64(0)
"""A pointer to nothing."""


class PixelArrays:
    """Light, counts, clocks and gates of some pixels, on the current device."""

    def __init__(self, light: Light, numbers: IntArray, bins: int) -> None:
        cupy = import_cupy()
        self.count = numbers.size
        self.numbers, self.depth, self.signal, self.background = (cupy.asarray(each) for each in (numbers, *light))
        self.marks = cupy.zeros((self.count, bins), dtype=cupy.int32)
        """Differences, from bin to bin, of how often bins were sampled;"""
        self.fired = cupy.zeros((self.count, bins), dtype=cupy.int32)
        """how often they fired."""
        self.cycles, self.armed, self.detections, self.times, self.opens, self.arm, self.level, self.steps = (
            cupy.zeros(self.count, dtype=cupy.int32) for _ in range(8)
        )
        self.next_try = cupy.zeros(self.count, dtype=cupy.int32)
        self.bins_gone = cupy.zeros(self.count, dtype=cupy.int64)
        self.last_fired = cupy.full(self.count, -inf)
        self.stopped, self.done, self.promising, self.certain = (
            cupy.zeros(self.count, dtype=cupy.uint8) for _ in range(4)
        )
        self.log_prior: Any = NOTHING
        self.expected_signal: Any = NOTHING
        self.expected_background: Any = NOTHING
        self.gate: Any = NOTHING
        """A row of bits for each pixel, where gates are no suffixes."""

    @property
    def scene(self) -> tuple[Any, ...]:
        """The light, as kernels that expose take it, but for the pulse."""
        return self.numbers, self.depth, self.signal, self.background

    @property
    def clocks(self) -> tuple[Any, ...]:
        """What they keep of time."""
        return self.bins_gone, self.last_fired, self.armed, self.detections

    def samples(self) -> Any:
        """How often each bin was sampled."""
        return self.marks.cumsum(axis=1, dtype=self.marks.dtype)


def bytes_of_pixel(bins: int) -> int:
    """What a pixel takes of a device's memory, at most: counts, worth, chance, prior and gates as it runs; or counts,
    and the shares that fired with what those are made from, when it has ended."""
    return 36 * bins + bins // 8 + 256
