"""Kullback-Leibler divergence between Bernoulli arms, accurate where the means nearly agree or touch 0 and 1.

With q = p + step, the linear terms of p log(p/q) + (1-p) log((1-p)/(1-q)) cancel exactly and leave

    kl(p, q) = p phi(step / p) + (1 - p) phi(-step / (1 - p)),    phi(z) = z - log(1 + z) >= 0,

a sum of two terms that are never negative. A gap of 1e-6 then keeps all its digits, where the textbook formula
loses ten of them.
"""

from __future__ import annotations

from math import log, log1p
from typing import Any

import numpy as np
import numpy.typing as npt

from linkedbandits.model import FloatArray

__all__ = ["kl", "kl_of_error", "pooled_kl", "pooled_kl_per_cost"]

Vector = npt.NDArray[np.float64] | np.float64 | float

# Coefficients of (atanh(r)/r - 1)/r^2 in powers of r^2: enough of them for |z| <= 0.2, that is |r| <= 1/9.
_ATANH_TAIL = tuple(1.0 / k for k in range(3, 21, 2))
_SERIES_BELOW = 0.2


def kl(p: npt.ArrayLike, q: npt.ArrayLike) -> Any:
    """Divergence of a Bernoulli(p) arm from a Bernoulli(q) one, in nats; infinite where q rules out what p does.

    >>> round(float(kl(0.5, 0.25)), 6)
    0.143841
    >>> float(kl(0.0, 1.0))
    inf
    >>> float(kl(0.5, 0.5 + 2**-30)) * 2**59
    1.0
    """
    first, second = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    return _kl(first, 1 - first, second, 1 - second, second - first)


def pooled_kl(best: Vector, rival: FloatArray, ratio: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Divergence of the best arm, and of each rival, from the mean m of their pooled samples.

    ``ratio`` is the rival's samples for each sample of the best arm, so m = (best + ratio rival)/(1 + ratio).
    """
    gap = best - rival
    of_best = 1 / (1 + ratio)
    of_rival = ratio * of_best
    below_best = gap * of_rival
    above_rival = gap * of_best
    # Each of m and 1 - m is a sum of positive parts, so neither loses digits near 0 or near 1.
    pooled = rival + above_rival
    pooled_complement = (1 - best) + below_best
    return (
        _kl(best, 1 - best, pooled, pooled_complement, -below_best),
        _kl(rival, 1 - rival, pooled, pooled_complement, above_rival),
    )


def pooled_kl_per_cost(
    best: FloatArray, rival: FloatArray, ratio: FloatArray, slope: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The same where the two are alike if the rival has ``slope`` times the mean of the best arm.

    Of the means (l, slope l), the closest is where kl(best, l) + ratio kl(rival, slope l) is least: the smaller root of
    a quadratic equation.
    """
    successes = best + ratio * rival
    middle = successes * (1 + slope) + slope * ratio * (1 - rival) + (1 - best)
    root = np.sqrt(np.maximum(middle * middle - 4 * slope * (1 + ratio) * successes, 0.0))
    pooled = np.minimum(2 * successes / (middle + root), np.minimum(1.0, 1 / slope))
    return kl(best, pooled), kl(rival, np.minimum(slope * pooled, 1.0))


def kl_of_error(delta: float) -> float:
    """Return kl(delta, 1 - delta): the evidence that an answer wrong with probability at most delta must rest on.

    From delta = 1/2 on, guessing will do, and the evidence needed is 0.

    >>> round(kl_of_error(0.1), 6), round(kl_of_error(1e-300), 4), kl_of_error(0.5)
    (1.75778, 690.7755, 0.0)
    """
    return (1 - 2 * delta) * (log1p(-delta) - log(delta)) if delta < 0.5 else 0.0


def _kl(p: Vector, p_complement: Vector, q: FloatArray, q_complement: FloatArray, step: FloatArray) -> FloatArray:
    """Sum the two terms; the complements 1 - p, 1 - q and the step q - p come from the caller, who knows them best."""
    return _term(p, q, step) + _term(p_complement, q_complement, -step)


def _term(p: Vector, q: FloatArray, step: FloatArray) -> FloatArray:
    """Return p phi(step/p), and its limit, the step itself, where p is 0 or too small to divide by."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        z = step / p
        r = z / (2 + z)
        square = r * r
        tail = np.full_like(square, _ATANH_TAIL[-1])
        for coefficient in reversed(_ATANH_TAIL[:-1]):
            tail *= square
            tail += coefficient
        # phi(z) = r (z - 2 r^2 tail), from log(1 + z) = 2 atanh(r) and z - 2r = z r.
        near = p * r * (z - 2 * square * tail)
        far = step - p * np.log(q / p)
    return np.where(np.abs(z) <= _SERIES_BELOW, near, np.where(np.isfinite(z), far, step))
