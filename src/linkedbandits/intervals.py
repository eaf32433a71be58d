"""Confidence limits for a share."""

from __future__ import annotations

import math

import numpy as np

from linkedbandits.model import BoolArray, FloatArray, IntArray

FARTHEST = 700.0
"""Logarithm of odds beyond which a mean is 0 or 1 in a float."""
HALVINGS = 64
"""Of an interval of such logarithms, until it is as short as it gets in a float."""


def share_interval(count: int, total: int, confidence: float = 0.95) -> tuple[float, float]:
    """Two-sided limits for a probability, from ``count`` of ``total``, never too narrow (Clopper and Pearson).

    >>> low, high = share_interval(0, 1000)
    >>> low, round(high, 5)
    (0.0, 0.00368)
    """
    from scipy.special import betaincinv  # takes long to load, and a simulation does without

    tail = (1 - confidence) / 2
    low = 0.0 if count == 0 else float(betaincinv(count, total - count + 1, tail))
    high = 1.0 if count == total else float(betaincinv(count + 1, total - count, 1 - tail))
    return low, high


def anytime_interval(successes: int, samples: int, confidence: float = 0.95) -> tuple[float, float]:
    """Limits for a mean that hold at all times together, however often one looks and whenever one stops.

    The means at which the average likelihood over all means (uniform) is less than 1/(1 - confidence) times the
    likelihood: at the true mean that ratio is a nonnegative martingale from 1, so it ever gets there with probability
    at most 1 - confidence (Ville).

    >>> low, high = anytime_interval(50, 100)
    >>> round(low, 3), round(high, 3)
    (0.345, 0.655)
    >>> anytime_interval(0, 0)
    (0.0, 1.0)
    """
    return anytime_limits(successes, samples, 1 - confidence)


def anytime_limits(successes: int, samples: int, wrong: float) -> tuple[float, float]:
    """The same, for a chance to be ``wrong`` that may be too small to be told from a confidence of 1.

    >>> low, high = anytime_limits(50, 100, 1e-30)
    >>> round(low, 3), round(high, 3)
    (0.064, 0.936)
    """
    failures = samples - successes
    average = math.lgamma(successes + 1) + math.lgamma(failures + 1) - math.lgamma(samples + 2)
    least = average + math.log(wrong)
    odds = math.log(successes / failures) if successes and failures else FARTHEST * ((successes > 0) - (failures > 0))
    limits = []
    for end in (-FARTHEST, FARTHEST):
        outside, inside = end, odds
        for _ in range(HALVINGS):
            middle = (outside + inside) / 2
            small = math.log1p(math.exp(-abs(middle)))
            likelihood = -successes * (small + max(-middle, 0.0)) - failures * (small + max(middle, 0.0))
            if likelihood < least:
                outside = middle
            else:
                inside = middle
        limits.append(1 / (1 + math.exp(-outside)))
    return limits[0] if successes else 0.0, limits[1] if failures else 1.0


def anytime_intervals(
    successes: IntArray, samples: IntArray, confidence: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """The same for many means at once; everything is possible for one without samples.

    >>> low, high = anytime_intervals(np.array([0, 50]), np.array([0, 100]))
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.345], [1.0, 0.655])
    """
    from scipy.special import betaln  # takes long to load, and a simulation does without

    failures = samples - successes
    average = betaln(successes + 1.0, failures + 1.0) + math.log(1 - confidence)

    def beyond(logit: FloatArray) -> BoolArray:
        """Is the likelihood so small there?"""
        likelihood = -successes * np.logaddexp(0.0, -logit) - failures * np.logaddexp(0.0, logit)
        return np.asarray(likelihood < average)

    with np.errstate(divide="ignore"):
        odds = np.log(np.where(samples > 0, successes, 1)) - np.log(np.where(samples > 0, failures, 1))
    limits = []
    for end in (-FARTHEST, FARTHEST):
        outside, inside = np.full(samples.shape, end), np.clip(odds, -FARTHEST, FARTHEST)
        for _ in range(HALVINGS):
            middle = (outside + inside) / 2
            is_beyond = beyond(middle)
            outside, inside = np.where(is_beyond, middle, outside), np.where(is_beyond, inside, middle)
        limits.append(1 / (1 + np.exp(-outside)))
    low, high = limits
    return np.where(successes > 0, low, 0.0), np.where(failures > 0, high, 1.0)
