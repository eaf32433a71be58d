"""How many samples each rival needs, once the best arm has s of them.

To tell rival a from the best arm b, the least of s kl(mu_b, l) + t kl(mu_a, l) over l has to reach 1. With the
ratio x = t/s the minimum is at the pooled mean m = (mu_b + x mu_a)/(1 + x), and the condition reads g(x) = 1/s for

    g(x) = kl(mu_b, m) + x kl(mu_a, m),    g'(x) = kl(mu_a, m),    g(0) = 0,    g(inf) = kl(mu_b, mu_a) = K.

g is concave and grows. For a small gap g(x) = K x/(1 + x), so that log(g/(K - g)) = log x; for every gap it is close
to linear in log x at both ends. Newton's method in these coordinates therefore needs two or three steps where
the plain equation, flat near K, would need dozens. A rival with mean 0 has K = inf and g(x) ~ mu_b log x instead,
and gets the coordinate log(exp(g/mu_b) - 1), linear at both ends likewise.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from linkedbandits.bounds.divergence import kl, pooled_kl
from linkedbandits.model import FloatArray

__all__ = ["Rivals"]

Link = Callable[[FloatArray], tuple[FloatArray, FloatArray]]

_CHUNK = 8192
"""Arms solved at a time: small enough that every temporary stays in the processor's cache."""

_STEP_TOLERANCE = 1e-7
"""Newton's error is about the square of its last step."""

_MAX_STEPS = 100

_LARGEST_LOG_RATIO = 300.0
"""Far beyond any ratio that a search looks at; a bold first step stops here instead of overflowing."""


class Rivals:
    """The arms other than the best, with what one solution leaves behind to make the next one quick."""

    def __init__(self, best: float, means: FloatArray) -> None:
        self.best = best
        self.means = means
        self._positive = np.flatnonzero(means > 0)
        self._ceilings: FloatArray = kl(best, means[self._positive])
        # How far log x lies from its value for a small gap: the part of the answer that hardly depends on s.
        self._offsets = np.zeros(self._positive.size)
        self._zero_offset = np.zeros(1)

    @property
    def least_of_best(self) -> float:
        """The samples of the best arm at which the closest rival, unless its mean is 0, would need infinitely many."""
        return float(1 / self._ceilings.min()) if self._positive.size else 0.0

    def needs(self, samples_of_best: float) -> tuple[FloatArray, FloatArray]:
        """Return the least samples t of each rival, and dt/ds: how they change with those of the best arm."""
        ratios, slopes = np.empty_like(self.means), np.empty_like(self.means)
        target = np.array(1 / samples_of_best)
        for start in range(0, self._positive.size, _CHUNK):
            part = slice(start, start + _CHUNK)
            arms = self._positive[part]
            ratios[arms], slopes[arms], self._offsets[part] = _solve(
                self.best, self.means[arms], partial(_odds, self._ceilings[part]), target, self._offsets[part]
            )
        if self._positive.size < self.means.size:
            at_zero = self.means == 0
            ratios[at_zero], slopes[at_zero], self._zero_offset = _solve(
                self.best, np.zeros(1), partial(_exponential, self.best), target, self._zero_offset
            )
        return samples_of_best * ratios, slopes


def _solve(
    best: float, means: FloatArray, link: Link, target: FloatArray, offsets: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Solve g(x) = target for each rival; return x, dt/ds = -kl(mu_b, m)/kl(mu_a, m), and the new offsets."""
    goal, _ = link(target)
    log_ratio = goal + offsets
    low, high = np.full_like(means, -np.inf), np.full_like(means, np.inf)
    for _ in range(_MAX_STEPS):
        ratio = np.exp(log_ratio)
        of_best, of_rival = pooled_kl(best, means, ratio)
        gained = ratio * of_rival
        reached, slope = link(of_best + gained)
        missing = goal - reached
        np.copyto(low, log_ratio, where=missing > 0)
        np.copyto(high, log_ratio, where=missing < 0)
        newton = np.clip(log_ratio + missing / (slope * gained), -_LARGEST_LOG_RATIO, _LARGEST_LOG_RATIO)
        # A step that leaves what is known to hold the root crosses a finite end, so the middle is finite too.
        outside = (newton < low) | (newton > high)
        if outside.any():
            newton[outside] = (low[outside] + high[outside]) / 2
        largest_step = np.abs(newton - log_ratio).max()
        log_ratio = newton
        if largest_step < _STEP_TOLERANCE:
            break
    return np.exp(log_ratio), -of_best / of_rival, log_ratio - goal


def _odds(ceiling: FloatArray, g: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log(g/(K - g)) and its derivative in g."""
    left = np.maximum(ceiling - g, np.finfo(np.float64).eps * ceiling)  # g may round up to K
    return np.log(g / left), ceiling / left / g


def _exponential(best: float, g: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log(exp(g/mu_b) - 1), written so that it cannot overflow, and its derivative in g."""
    scaled = g / best
    fading = -np.expm1(-scaled)
    return scaled + np.log(fading), 1 / (best * fading)
