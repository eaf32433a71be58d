"""Confidence limits for a share."""

from __future__ import annotations


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
