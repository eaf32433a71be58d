"""The random numbers of engines, for the reference: it counts the same photons then, one by one."""

from __future__ import annotations

import numpy as np

from linkedbandits.lidar.engines.counter import exponentials


class ByCounter:
    """Stands in for a generator of one pixel: the numbers of its stream, one after the other."""

    def __init__(self, key, pixel, stream):
        self.key, self.pixel, self.stream, self.used = key, pixel, stream, 0

    def standard_exponential(self, size):
        """Light until a photon."""
        self.used += size
        return exponentials(self.key, self.pixel, self.stream, self.used - size + np.arange(size))

    def integers(self, _, *, size, dtype):
        """Seeds, which are not used."""
        return np.zeros(size, dtype=dtype)
