"""What counts say about a return: the likelihood of every depth and signal, and the depth that fits best.

A pulse that is moved by a whole bin is the same pulse, so one table serves all depths: it has a column for each bin
around the depth and a row for each pair of a signal and a *phase*, the depth's place within its bin. Multiplied with
the counts around every bin it gives the log-likelihood of every depth and signal, against "no return":

    sum_i  x_i log(p_i / p) - (m_i - x_i) signal g_i,     p_i = 1 - exp(-signal g_i - b),  p = 1 - exp(-b),

where bin i was sampled m_i times and fired x_i times, g_i is its share of the pulse and b the background. Products are
taken lane by lane: then what a lane gets does not depend, not even in the last digit, on the lanes beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, log
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from linkedbandits.lidar.pulse import Pulse
from linkedbandits.model import FloatArray, IntArray

SIGNAL_RATIO = 2.0
"""Neighbouring signals of the grid differ by at most this factor."""
_CELLS_AT_ONCE = 2**17
_BETWEEN = 16
"""Depths that are tried between two of the grid, for the estimate."""

Floats = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class ReturnModel:
    """The tables of one pulse, one background and one grid of depths and signals; make it with :func:`return_model`."""

    pulse: Pulse
    background: float
    signals: FloatArray
    phases: FloatArray
    miss: FloatArray
    """What a sample without a photon takes from the log-likelihood, (signals * phases, window);"""
    fire: FloatArray
    """what a photon adds to it;"""
    chance: FloatArray
    """and the bin's chance to fire, less that of the background."""
    between: FloatArray
    """What makes of the log-likelihood at a few neighbouring depths that of all depths between them."""

    def log_likelihood(
        self, samples: IntArray, successes: IntArray, dtype: type[np.floating[Any]] = np.float64
    ) -> Floats:
        """Of every signal, phase and bin, against no return: (lanes, signals, phases, bins)."""
        lanes, bins = samples.shape
        half = self.pulse.half
        likelihood = self.fire.astype(dtype) @ surroundings(successes, half, dtype)
        likelihood -= self.miss.astype(dtype) @ surroundings(samples - successes, half, dtype)
        return likelihood.reshape(lanes, self.signals.size, self.phases.size, bins)

    def estimate(self, samples: IntArray, successes: IntArray) -> FloatArray:
        """The depth that fits best, in bins: the mean over depths near the likeliest of the grid, and between them.

        Every depth has the same prior weight, and signals have it on a logarithmic scale.
        """
        likelihood = self.log_likelihood(samples, successes)
        lanes, _, phases, bins = likelihood.shape
        best = likelihood.max(axis=1).swapaxes(1, 2).reshape(lanes, bins * phases).argmax(axis=1)
        reach = self.between.shape[0] // 2
        around = np.arange(-reach, reach + 1)
        bin_of, phase = np.divmod(np.clip(best[:, np.newaxis] + around, 0, bins * phases - 1), phases)
        near = logsumexp(likelihood[np.arange(lanes)[:, np.newaxis], :, phase, bin_of], axis=2)
        fine = (near[:, np.newaxis] @ self.between)[:, 0]
        depth = (best[:, np.newaxis] + np.linspace(-reach, reach, fine.shape[1]) + 0.5) / phases
        weight = np.exp(fine - fine.max(axis=1, keepdims=True)) * ((depth >= 0) & (depth <= bins))
        return np.asarray((depth * weight).sum(axis=1) / weight.sum(axis=1))

    def evidence(self, samples: IntArray, successes: IntArray) -> FloatArray:
        """How much likelier the counts are with a return than without one: the logarithm of the ratio."""
        likelihood = self.log_likelihood(samples, successes)
        return np.asarray(logsumexp(likelihood, axis=(1, 2, 3)) - log(likelihood[0].size))


def surroundings(counts: npt.NDArray[Any], half: int, dtype: type[np.floating[Any]] = np.float64) -> Floats:
    """The counts around every bin, from ``half`` before it to ``half`` after it: (lanes, 2 * half + 1, bins).

    There is nothing before the first bin and after the last.

    >>> surroundings(np.array([[1, 2, 3]]), half=1)
    array([[[0., 1., 2.],
            [1., 2., 3.],
            [2., 3., 0.]]])
    """
    lanes, bins = counts.shape
    padded = np.zeros((lanes, bins + 2 * half), dtype=dtype)
    padded[:, half : half + bins] = counts
    return np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(padded, bins, axis=1))


def few_at_a_time(lanes: int, cells: int) -> Iterator[slice]:
    """Parts of the lanes small enough that arrays of ``cells`` cells a lane stay in a core's cache."""
    size = max(1, _CELLS_AT_ONCE // cells)
    return (slice(start, start + size) for start in range(0, lanes, size))


@lru_cache(maxsize=64)
def return_model(fwhm: float, background: float, weakest: float, strongest: float) -> ReturnModel:
    """The model of a pulse over a known background, with signals from ``weakest`` to ``strongest``."""
    pulse = Pulse(fwhm)
    count = 1 + max(1, ceil(log(strongest / weakest) / log(SIGNAL_RATIO)))
    signals = np.geomspace(weakest, strongest, count)
    per_bin = max(1, round(3 / pulse.sigma))  # two or three depths a standard deviation
    phases = (np.arange(per_bin) + 0.5) / per_bin
    first = np.arange(-pulse.half, pulse.half + 1) - phases[:, np.newaxis]  # from the depth to the bin's first edge
    more = signals[:, np.newaxis, np.newaxis] * (pulse.cumulative(first + 1) - pulse.cumulative(first))
    chance = -np.expm1(-(more + background))
    alone = -np.expm1(-background)
    shape = (count * per_bin, first.shape[1])
    # The likelihood is smooth over the pulse's width, so a spline through a few depths gives all of it.
    from scipy.interpolate import CubicSpline  # slow to import, and not every command has a pulse

    reach = ceil(pulse.sigma * per_bin)
    places = np.linspace(-reach, reach, 2 * reach * _BETWEEN + 1)
    spline = CubicSpline(np.arange(-reach, reach + 1), np.eye(2 * reach + 1))
    return ReturnModel(
        pulse=pulse,
        background=background,
        signals=signals,
        phases=phases,
        miss=more.reshape(shape),
        fire=np.log(chance / alone).reshape(shape),
        chance=(chance - alone).reshape(shape),
        between=spline(places).T,
    )
