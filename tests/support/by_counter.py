"""The random numbers of engines, for the reference: it counts the same photons then, one by one."""

from __future__ import annotations

import numpy as np

from linkedbandits.lidar import thompson_gating
from linkedbandits.lidar.acquiring import Acquired, _acquire_gate_by_gate, _acquire_whole_windows
from linkedbandits.lidar.acquisitions import find_acquisition
from linkedbandits.lidar.engines.counter import DETECTIONS, DRAWS, PHOTONS, exponentials, uniforms
from linkedbandits.stopping.looks import GROWTH


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


def by_reference(task, method, light, number, key, monkeypatch, around=None, first_draw=0) -> Acquired:
    """What the reference acquires of one pixel with this number; ``light`` and ``around`` have one row each.

    ``first_draw`` is the number of the draw that an engine's first gate is from, where gates are drawn.
    """
    made = find_acquisition(method, task)
    stream = ByCounter(key, number, DETECTIONS if method == "free-running" else PHOTONS)
    rates = task.sensor.rates(*light)
    monkeypatch.setattr(
        thompson_gating, "uniform", lambda seed, step: uniforms(key, [number], DRAWS, step + first_draw)
    )
    if made.gates is None:
        return _acquire_whole_windows(made, task, rates, stream)
    expected = None if around is None else around.expected(task.sensor.bins)
    return _acquire_gate_by_gate(made, made.gates, task, rates, stream, expected)


def alike(found, its, pixel) -> bool:
    """Is all that was acquired of a pixel what the reference has of it alone?"""
    names = ("samples", "successes", "cycles", "seconds", "bin", "stopped", "proved")
    pairs = [(getattr(found, name)[pixel], getattr(its, name)[0]) for name in names]
    return all(np.allclose(one, other, rtol=1e-12) for one, other in pairs)


def evenly(rates, number, key, most):
    """Samples and photons, bin after bin, until each has those of its round: a play opens there, and ends so."""
    bins = rates.size
    samples, fired = np.zeros((2, bins), dtype=np.int64)
    played, level, missing = 0, 0, 1
    while played < most:
        needs = np.full(bins, missing)
        for first in range(bins):
            while needs[first] > 0 and played < most:
                until = float(exponentials(key, number, PHOTONS, played))
                light = np.cumsum(rates[first:])
                place = first + int(np.searchsorted(light, until, side="right"))
                samples[first : place + 1] += 1
                needs[first : place + 1] -= 1
                if place < bins:
                    fired[place] += 1
                played += 1
        level += missing
        missing = max(int(level * GROWTH), 1)
    return samples, fired
