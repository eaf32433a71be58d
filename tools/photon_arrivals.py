"""Photons that arrive one by one, and detectors that miss some of them; nothing here knows the package's model.

Arrivals are Poisson in continuous time: a normal pulse in every laser cycle, and light that is the same at all times.
Times are in bins.
"""

from __future__ import annotations

from math import log, sqrt
from typing import NamedTuple

import numpy as np

from linkedbandits.model import FloatArray, IntArray


class Light(NamedTuple):
    """Photons a cycle that come back and that do not, the pulse's full width at half maximum, bins and cycles."""

    signal: float
    ambient: float
    fwhm: float
    bins: int
    cycles: int

    def arrivals(self, depth: float, rng: np.random.Generator) -> FloatArray:
        """The moments at which photons of a pixel with this depth arrive, counted from the first cycle on."""
        cycle = np.repeat(np.arange(self.cycles), rng.poisson(self.signal, self.cycles))
        returned = cycle * self.bins + rng.normal(depth, self.fwhm / sqrt(8 * log(2)), cycle.size)
        length = float(self.cycles * self.bins)
        other = rng.uniform(0.0, length, rng.poisson(self.ambient * self.cycles))
        moments = np.sort(np.concatenate([returned, other]))
        return moments[(moments >= 0) & (moments < length)]


def first_photons(light: Light, depths: FloatArray, rng: np.random.Generator) -> IntArray:
    """How often each bin has the first photon of a cycle, (pixels, bins): a synchronous sensor."""
    found = []
    for depth in depths:
        moments = light.arrivals(float(depth), rng)
        _, first = np.unique(moments // light.bins, return_index=True)
        found.append(np.bincount((moments[first] % light.bins).astype(np.int64), minlength=light.bins))
    return np.array(found)


def stamps_of_free_running(
    light: Light, depths: FloatArray, dead: float, rng: np.random.Generator
) -> tuple[IntArray, IntArray, IntArray]:
    """Pixel, cycle and bin of each photon that a detector sees which is blind for ``dead`` bins after each of them."""
    rows = []
    for pixel, depth in enumerate(depths):
        ready = 0.0
        for moment in light.arrivals(float(depth), rng).tolist():
            if moment >= ready:
                ready = moment + dead
                rows.append((pixel, int(moment // light.bins), int(moment % light.bins)))
    pixel, cycle, place = np.array(rows, dtype=np.int64).T
    return pixel, cycle, place
