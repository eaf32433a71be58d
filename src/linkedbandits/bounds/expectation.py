"""The mean of the exact law of plays, for needs under the linkage ``ordered``.

The plays are T = max over needed i of m[i] + sum_{j<i} X[j] with X[j] ~ Binomial(m[j], mu[j]), independent. From the
last arm backwards, R = max(m[i], X[i] + R of the arms behind) is T in the end, so one convolution per arm gives its
whole distribution. Where those would take too long, T is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, sqrt

import numpy as np
import numpy.typing as npt

from linkedbandits.checks import check_whole
from linkedbandits.display import short_repr
from linkedbandits.errors import InvalidParameter
from linkedbandits.linkage import Ordered
from linkedbandits.model import FloatArray, IntArray, check_means, check_needs

__all__ = ["ExpectedPlays", "expected_plays"]

_EXACT_WORK = 3e8
"""Multiplications that convolving may take: a fraction of a second."""

_LOG_TAIL = 46.0
"""Outcomes outside an interval that holds all but 2 exp(-46) = 2e-20 of a binomial law are left out."""

_CELLS = 2**20
"""Binomial draws held at a time."""


@dataclass(frozen=True, slots=True)
class ExpectedPlays:
    """The expected plays. ``draws`` is 0 for an exact value (to about 12 digits), whose standard error is 0."""

    plays: float
    standard_error: float
    draws: int

    __repr__ = short_repr


def expected_plays(
    needs: npt.ArrayLike, means: npt.ArrayLike, *, rng: np.random.Generator | None = None, draws: int = 10_000
) -> ExpectedPlays:
    """Return the exact expectation of the plays that needs take in order, or an estimate with its standard error.

    Exact as long as that takes under a second: needs in the thousands for a few hundred arms, in the millions for a
    few. Beyond, ``draws`` plays are drawn from ``rng``.

    >>> expected_plays([100, 100], [0.25, 0.5]).plays
    125.0
    >>> round(expected_plays([120, 100], [0.25, 0.5]).plays, 6)
    130.021403
    """
    vector = check_means(means)
    wanted = check_needs(needs, vector.size)
    check_whole("draws", draws, least=2)
    needed = wanted > 0
    if not needed.any():
        return ExpectedPlays(0.0, 0.0, 0)
    exact = _by_convolution(wanted[needed], vector[needed])
    if exact is not None:
        return ExpectedPlays(exact, 0.0, 0)
    if rng is None:
        raise InvalidParameter(
            f"needs up to {wanted.max()} of {wanted.size} arms are too many for the exact law; "
            "pass rng=numpy.random.default_rng(seed) for an estimate"
        )
    return _by_drawing(wanted[needed], vector[needed], rng, draws)


def _by_convolution(needs: IntArray, means: FloatArray) -> float | None:
    """The mean by exact recursion, or None where it would take too long."""
    lowest, law = int(needs[-1]), np.ones(1)
    work = 0.0
    for need, mean in zip(needs[-2::-1].tolist(), means[-2::-1].tolist(), strict=True):
        least_hits, most_hits = _window(need, mean)
        work += (most_hits - least_hits + 1) * law.size
        if work > _EXACT_WORK:
            return None
        law = np.convolve(law, _binomial(need, mean, least_hits, most_hits))
        lowest += least_hits
        if need > lowest:  # plays that would be done earlier still have this arm to try
            early = min(need - lowest, law.size - 1) + 1
            law = np.concatenate([[law[:early].sum()], law[early:]])
            lowest = need
        law, dropped = _trim(law)
        lowest += dropped
    return lowest + float(law @ np.arange(law.size))


def _window(need: int, mean: float) -> tuple[int, int]:
    """Bernstein's inequality: hits outside these limits are as rare as ``_LOG_TAIL`` says."""
    reach = _LOG_TAIL / 3 + sqrt((_LOG_TAIL / 3) ** 2 + 2 * _LOG_TAIL * need * mean * (1 - mean))
    return max(0, floor(need * mean - reach)), min(need, ceil(need * mean + reach))


def _binomial(need: int, mean: float, low: int, high: int) -> FloatArray:
    """Binomial probabilities on [low, high], by their ratios outwards from the mode: no factorial, no cancellation."""
    if mean in {0.0, 1.0}:
        law = np.zeros(high - low + 1)
        law[round(need * mean) - low] = 1
        return law
    mode = min(max(floor((need + 1) * mean), low), high)
    up = np.arange(mode, high, dtype=np.float64)
    down = np.arange(mode, low, -1, dtype=np.float64)
    odds = mean / (1 - mean)
    above = np.cumprod((need - up) / (up + 1) * odds)
    below = np.cumprod(down / ((need - down + 1) * odds))
    law = np.concatenate([below[::-1], [1.0], above])
    law /= law.sum()
    return law


def _trim(law: FloatArray) -> tuple[FloatArray, int]:
    """Cut off both ends where they are negligible; also say how many values were cut from the front."""
    kept = np.flatnonzero(law > np.exp(-_LOG_TAIL))
    trimmed = law[kept[0] : kept[-1] + 1]
    return trimmed / trimmed.sum(), int(kept[0])


def _by_drawing(needs: IntArray, means: FloatArray, rng: np.random.Generator, draws: int) -> ExpectedPlays:
    """Estimate how far T exceeds the one term of its maximum that is largest on average.

    That term's mean is known, and where one arm decides the number of plays the excess is mostly 0, so that little is
    left to chance.
    """
    wanted = needs.astype(np.float64)
    first_order = Ordered().quote(wanted, means)
    leading = int(np.flatnonzero(first_order.prices)[-1])
    excess = np.empty(draws)
    batch = max(1, _CELLS // needs.size)
    for start in range(0, draws, batch):
        part = slice(start, min(start + batch, draws))
        hits = rng.binomial(needs, means, size=(part.stop - start, needs.size)).astype(np.float64)
        finished = np.cumsum(hits, axis=1) - hits + wanted
        excess[part] = finished.max(axis=1) - finished[:, leading]
    standard_error = float(excess.std(ddof=1)) / sqrt(draws)
    return ExpectedPlays(first_order.plays + float(excess.mean()), standard_error, draws)
