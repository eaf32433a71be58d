"""Confidence limits for a share."""

from __future__ import annotations

import math


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
    from scipy.optimize import brentq  # take long to load, and a simulation does without
    from scipy.special import betaln, xlog1py, xlogy

    if samples == 0:
        return 0.0, 1.0
    failures = samples - successes
    average = float(betaln(successes + 1, failures + 1))

    def beyond(mean: float) -> float:
        return average - float(xlogy(successes, mean) + xlog1py(failures, -mean)) + math.log(1 - confidence)

    seen = successes / samples
    low = 0.0 if successes == 0 else float(brentq(beyond, 1e-300, seen, xtol=1e-300))
    high = 1.0 if failures == 0 else float(brentq(beyond, seen, 1 - 1e-16, xtol=1e-300))
    return low, high
