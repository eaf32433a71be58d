"""What counts say about a return: the likelihood of every depth and signal, and the depth that fits best.

A pulse that is moved by a whole bin is the same pulse, so one table serves all depths: it has a column for each bin
around the depth and a row for each pair of a signal and a *phase*, the depth's place within its bin. Multiplied with
the counts around every bin it gives the log-likelihood of every depth and signal, against "no return":

    sum_i  x_i log(p_i / p) - (m_i - x_i) signal g_i,     p_i = 1 - exp(-signal g_i - b),  p = 1 - exp(-b),

where bin i was sampled m_i times and fired x_i times, g_i is its share of the pulse and b the background.

The background is that of the pixel, and is not known. It has a grid of *levels*, 15 % apart, with a table each; a pixel
uses the level nearest to what its own bins away from the likeliest depth say. Many more photons come from there than
from the return, so that is as good as being told: cycles until 95 % of pixels are right are the same to some percent.

Products are taken lane by lane: then what a lane gets does not depend, not even in the last digit, on the lanes beside
it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import ceil, log
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from linkedbandits.lidar.pulse import PulseShape
from linkedbandits.lidar.sensor import LEAST_BACKGROUND
from linkedbandits.model import FloatArray, IntArray

SIGNAL_RATIO = 2.5
"""Neighbouring signals of the grid differ by at most this factor,"""
LEVEL_RATIO = 1.15
"""neighbouring backgrounds by this one,"""
LEVEL_SPAN = 100.0
"""and the grid reaches to backgrounds this many times brighter and darker than expected."""
PHOTONS_BEFORE = 3.0
"""What is expected of the background counts as this many photons."""
ROUNDS = 4
"""Depth and background are found in turn, this often at most."""
LEAST_EVIDENCE = 0.01
"""Nats. With less, which may be rounding, nothing speaks for a return."""
_CELLS_AT_ONCE = 2**17
_BETWEEN = 16
"""Depths that are tried between two of the grid, for the estimate."""

Floats = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class ReturnModel:
    """The tables of one pulse, and a grid of backgrounds, depths and signals; make it with :func:`return_model`."""

    pulse: PulseShape
    backgrounds: FloatArray
    """The levels; one, if the background is known."""
    signals: FloatArray
    phases: FloatArray
    miss: Floats
    """What a sample without a photon takes from the log-likelihood, (signals * phases, window);"""
    fire: Floats
    """what a photon adds to it, by level;"""
    chance: Floats
    """the bin's chance to fire, less that of the background, by level;"""
    entropy: Floats
    """and the entropy of that, likewise."""
    between: FloatArray
    """What makes of the log-likelihood at a few neighbouring depths that of all depths between them."""

    @property
    def told(self) -> bool:
        """Is the background known?"""
        return self.backgrounds.size == 1

    @property
    def expected_background(self) -> float:
        """The background that the levels are around."""
        return float(self.backgrounds[self.backgrounds.size // 2])

    @property
    def cells_per_bin(self) -> int:
        """Numbers that the log-likelihood of one bin consists of."""
        return int(self.miss.shape[0])

    def level_of(self, background: FloatArray) -> IntArray:
        """The level nearest to each of these backgrounds."""
        if self.told:
            return np.zeros(background.shape, dtype=np.int64)
        step = np.log(background / self.backgrounds[0]) / log(LEVEL_RATIO)
        return np.asarray(np.clip(np.rint(step).astype(np.int64), 0, self.backgrounds.size - 1))

    def log_likelihood(self, samples: IntArray, successes: IntArray, level: IntArray, rough: bool = False) -> Floats:
        """Of every signal, phase and bin, against no return: (lanes, signals, phases, bins).

        ``rough`` numbers have single precision: enough to choose a gate, and twice as fast.
        """
        lanes, bins = samples.shape
        tables = self.in_single_precision if rough else self
        around = surroundings_of_both(successes, samples - successes, self.pulse.half, tables.fire.dtype)
        likelihood: Floats = tables.fire_and_miss[level] @ around
        return likelihood.reshape(lanes, self.signals.size, self.phases.size, bins)

    @cached_property
    def in_single_precision(self) -> ReturnModel:
        """The same tables, rounded."""
        names = ("miss", "fire", "chance", "entropy")
        return replace(self, **{name: getattr(self, name).astype(np.float32) for name in names})

    @cached_property
    def fire_and_miss(self) -> Floats:
        """By level, what photons and samples without one add to the log-likelihood, side by side."""
        miss = np.broadcast_to(self.miss, self.fire.shape)
        return np.ascontiguousarray(np.concatenate([self.fire, -miss], axis=2))

    @cached_property
    def sums(self) -> Floats:
        """By level, what makes chance and entropy of every bin of a window from the weights of signals and phases."""
        return np.ascontiguousarray(np.concatenate([self.chance, self.entropy], axis=2).swapaxes(1, 2))

    def background_elsewhere(
        self, samples: IntArray, successes: IntArray, depth: FloatArray, expected: FloatArray
    ) -> FloatArray:
        """Photons a bin in the bins that a return at ``depth`` does not reach, with a few as ``expected`` added."""
        if self.told:
            return np.full(depth.shape, self.backgrounds[0])
        fired, tried = self._elsewhere(samples, successes, depth)
        share = (fired + PHOTONS_BEFORE) / (tried + PHOTONS_BEFORE / -np.expm1(-expected))
        return np.asarray(-np.log1p(-np.minimum(share, 1 - 1e-9)))

    def _elsewhere(self, samples: IntArray, successes: IntArray, depth: FloatArray) -> tuple[IntArray, IntArray]:
        """Photons and samples, together, of the bins that a return at ``depth`` does not reach."""
        place = np.floor(depth).astype(np.int64)[:, np.newaxis]
        reach, bins = self.pulse.half, samples.shape[1]
        near = place + np.arange(-reach, reach + 1)
        inside = (near >= 0) & (near < bins)
        near = np.where(inside, near, 0)
        fired, tried = (
            counts.sum(axis=1) - (np.take_along_axis(counts, near, axis=1) * inside).sum(axis=1)
            for counts in (successes, samples)
        )
        return fired, tried

    def estimate(
        self, samples: IntArray, successes: IntArray, level: IntArray, log_prior: FloatArray | None = None
    ) -> FloatArray:
        """The depth that fits best, in bins: the mean over depths near the likeliest of the grid, and between them.

        ``log_prior`` has the weights of bins beforehand, (lanes, bins); without it every depth has the same. Signals
        have theirs on a logarithmic scale.
        """
        likelihood = self.log_likelihood(samples, successes, level)
        if log_prior is not None:
            likelihood += log_prior[:, np.newaxis, np.newaxis]
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

    def evidence(
        self,
        samples: IntArray,
        successes: IntArray,
        level: IntArray,
        depth: FloatArray,
        log_prior: FloatArray | None = None,
    ) -> FloatArray:
        """How much likelier the counts are with a return, about at ``depth``, than without: the ratio's logarithm."""
        likelihood = self.log_likelihood(samples, successes, level)
        likelihood += -log(samples.shape[1]) if log_prior is None else log_prior[:, np.newaxis, np.newaxis]
        ratio = logsumexp(likelihood, axis=(1, 2, 3)) - log(self.cells_per_bin)
        return np.asarray(ratio - self.none_better(samples, successes, level, depth))

    def none_better(self, samples: IntArray, successes: IntArray, level: IntArray, depth: FloatArray) -> FloatArray:
        """How much likelier "no return" is, against one at ``depth``, than both are with the level's background.

        Each may have the background that fits it best: with many photons the nearest level is off by more than a dim
        return matters, and whoever is held to it alone would always lose.
        """
        if self.told:
            return np.zeros(level.shape)
        background = self.backgrounds[level]
        fired, tried = self._elsewhere(samples, successes, depth)
        without = _gained(successes.sum(axis=1), samples.sum(axis=1), background)
        return np.asarray(without - _gained(fired, tried, background))

    def fitted(
        self,
        samples: IntArray,
        successes: IntArray,
        expected: FloatArray,
        log_prior: FloatArray | None = None,
    ) -> tuple[FloatArray, IntArray]:
        """The depth that fits best, and the level of the background that goes with it."""
        level = self.level_of(self.background_elsewhere(samples, successes, np.full(expected.shape, -1e6), expected))
        for _ in range(1 if self.told else ROUNDS):
            depth = self.estimate(samples, successes, level, log_prior)
            found = self.level_of(self.background_elsewhere(samples, successes, depth, expected))
            if np.array_equal(found, level):
                break
            level = found
        return depth, level


def _gained(fired: IntArray, tried: IntArray, background: FloatArray) -> FloatArray:
    """How much likelier counts of background alone are with the one that fits them best than with this one."""
    missed = tried - fired
    best = np.maximum(np.log1p(fired / np.maximum(missed, 0.5)), LEAST_BACKGROUND)
    gained = fired * np.log(np.expm1(-best) / np.expm1(-background)) - missed * (best - background)
    return np.asarray(np.maximum(gained, 0.0))


def surroundings(counts: npt.NDArray[Any], half: int, dtype: npt.DTypeLike = np.float64) -> Floats:
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


def surroundings_of_both(one: IntArray, other: IntArray, half: int, dtype: npt.DTypeLike) -> Floats:
    """The surroundings of two kinds of counts, one below the other."""
    lanes, bins = one.shape
    padded = np.zeros((lanes, 2, bins + 2 * half), dtype=dtype)
    padded[:, 0, half : half + bins] = one
    padded[:, 1, half : half + bins] = other
    windows = np.lib.stride_tricks.sliding_window_view(padded, bins, axis=2)
    return np.ascontiguousarray(windows).reshape(lanes, -1, bins)


def shares(log_weight: Floats, none: FloatArray, tolerance: float) -> tuple[FloatArray, FloatArray]:
    """How probable is the best window of twice the tolerance, and how probable no return at all, in every lane?

    ``log_weight`` has log-likelihoods, (lanes, signals, phases, bins), plus the logarithms of the weights that bins had
    beforehand, which add up to one; ``none`` is the log-likelihood of no return. That was as probable beforehand.
    """
    lanes, signals, phases, bins = log_weight.shape
    top = log_weight.max(axis=(1, 2, 3), keepdims=True)
    weight = np.exp(log_weight - top).sum(axis=1)
    upto = np.zeros((lanes, bins * phases + 1))
    np.cumsum(weight.swapaxes(1, 2).reshape(lanes, -1), axis=1, out=upto[:, 1:])
    wide = min(max(1, round(2 * tolerance * phases)), bins * phases)
    of_none = signals * phases * np.exp(np.minimum(none - top[:, 0, 0, 0], 50.0))
    total = upto[:, -1] + of_none
    return np.asarray((upto[:, wide:] - upto[:, :-wide]).max(axis=1) / total), np.asarray(of_none / total)


def few_at_a_time(lanes: int, cells: int) -> Iterator[slice]:
    """Parts of the lanes small enough that arrays of ``cells`` cells a lane stay in a core's cache."""
    size = max(1, _CELLS_AT_ONCE // cells)
    return (slice(start, start + size) for start in range(0, lanes, size))


def binary_entropy(chance: FloatArray) -> FloatArray:
    """The entropy of a coin that can come up, in nats."""
    never = np.maximum(1 - chance, np.finfo(np.float64).tiny)
    return np.asarray(-chance * np.log(chance) - never * np.log(never))


@lru_cache(maxsize=64)
def return_model(
    pulse: PulseShape, background: float, weakest: float, strongest: float, told: bool = False
) -> ReturnModel:
    """The model of a pulse over a background of about that, with signals from ``weakest`` to ``strongest``."""
    background = max(background, LEAST_BACKGROUND)
    reach = ceil(log(LEVEL_SPAN) / log(LEVEL_RATIO))
    levels: FloatArray = np.zeros(1) if told else np.arange(-reach, reach + 1, dtype=np.float64)
    backgrounds = background * LEVEL_RATIO**levels
    count = 1 + max(1, ceil(log(strongest / weakest) / log(SIGNAL_RATIO)))
    signals = np.geomspace(weakest, strongest, count)
    per_bin = max(1, round(3 / pulse.sigma))  # two or three depths a standard deviation
    phases = (np.arange(per_bin) + 0.5) / per_bin
    first = np.arange(-pulse.half, pulse.half + 1) - phases[:, np.newaxis]  # from the depth to the bin's first edge
    more = signals[:, np.newaxis, np.newaxis] * (pulse.cumulative(first + 1) - pulse.cumulative(first))
    miss = more.reshape(count * per_bin, first.shape[1])
    alone = -np.expm1(-backgrounds)[:, np.newaxis, np.newaxis]
    chance = -np.expm1(-(miss + backgrounds[:, np.newaxis, np.newaxis]))
    # The likelihood is smooth over the pulse's width, so a spline through a few depths gives all of it.
    from scipy.interpolate import CubicSpline  # slow to import, and not every command has a pulse

    reach = ceil(pulse.sigma * per_bin)
    places = np.linspace(-reach, reach, 2 * reach * _BETWEEN + 1)
    spline = CubicSpline(np.arange(-reach, reach + 1), np.eye(2 * reach + 1))
    return ReturnModel(
        pulse=pulse,
        backgrounds=backgrounds,
        signals=signals,
        phases=phases,
        miss=miss,
        fire=np.log(chance / alone),
        chance=chance - alone,
        entropy=binary_entropy(chance) - binary_entropy(alone),
        between=spline(places).T,
    )
