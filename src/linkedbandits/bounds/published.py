"""The paper's bounds by name, as written, with the constants that it leaves open taken as 1.

Beside each stands the bound for the standard bandit that the paper compares it with, so that the improvement, which
depends on the means and not just the gaps, is a number. Gaps are Delta_i = mu* - mu_i, and Delta is the least of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, log, sqrt

import numpy as np
import numpy.typing as npt

from linkedbandits.bounds.divergence import kl, kl_of_error
from linkedbandits.checks import check_probability
from linkedbandits.display import short_repr
from linkedbandits.errors import InvalidParameter
from linkedbandits.model import FloatArray, check_means

__all__ = ["Improvement", "PaperBounds", "corollary_in_kl", "log_log_rate", "paper"]

_LARGEST_LOG = log(np.finfo(np.float64).max)


@dataclass(frozen=True, slots=True)
class Improvement:
    """How many times fewer plays than the standard bandit, by each bound without its logarithms and lesser terms.

    Where arms tie for the best these are the limits as their gaps shrink together.
    """

    maximal: float
    uniform: float
    linked_ege: float
    lower: float

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class PaperBounds:
    """The paper's bounds on plays, then those on the samples of the standard bandit.

    ``maximal``, ``uniform`` and ``linked_ege`` are the upper bounds of Theorems 3.1, 3.2 and 4.1, ``lower`` is
    Corollary 5.1.1. All are infinite where arms tie for the best. ``maximal`` grows exponentially in the number of
    arms and may overflow to infinity: ``maximal_log10`` then still says how large it is.
    """

    maximal: float
    maximal_log10: float
    uniform: float
    linked_ege: float
    lower: float
    standard_uniform: float
    standard_ege: float
    standard_lower: float
    improvement: Improvement

    __repr__ = short_repr


def paper(means: npt.ArrayLike, delta: float) -> PaperBounds:
    """Evaluate the paper's bounds.

    The factors log((1/delta) log(1/Delta_i)) say nothing about gaps so wide that log(1/Delta_i) <= delta, where they
    would be negative or undefined; they count as 0 there.

    >>> bounds = paper([0.1] + [0.05] * 9, delta=0.1)
    >>> round(bounds.uniform), round(bounds.standard_uniform), round(bounds.improvement.uniform, 2)
    (3039, 18421, 6.67)
    """
    vector = check_means(means)
    check_probability("delta", delta)
    arms, top = vector.size, float(vector.max())
    rivals = np.delete(vector, vector.argmax())
    gaps = top - rivals
    gap = float(gaps.min())
    # (Delta / Delta_i)^2: sums of mu_i / Delta_i^2 are taken as multiples of 1 / Delta^2, which alone may overflow.
    shares = np.ones_like(gaps)
    np.divide(gap, gaps, out=shares, where=gaps > 0)
    shares **= 2
    hits, hits_but_last = float(rivals @ shares), float(vector[:-1].sum())
    with np.errstate(divide="ignore"):  # log 0 where an arm always succeeds
        log_miss = np.log1p(-vector)
    all_miss, log_all_miss_but_last = exp(log_miss.sum()), float(log_miss[:-1].sum())
    improvement = Improvement(
        maximal=arms * exp(2 * log_all_miss_but_last),
        uniform=arms / (1 + hits_but_last),
        linked_ege=float(shares.sum()) / (1 + hits),
        lower=(float(shares.sum()) + 1) / (hits + top + all_miss),
    )
    if gap == 0:
        return PaperBounds(inf, inf, inf, inf, inf, inf, inf, inf, improvement)
    log_maximal = -2 * (log(gap) + log_all_miss_but_last)
    log_maximal += log(log(arms / delta) - log(gap) - log_all_miss_but_last)
    effort = _exp_or_infinity(-2 * log(gap))
    certainty = log(1 / delta)
    factors = _double_logarithms(gaps, delta)
    standard_ege = float(shares @ factors) * effort
    linked_ege = (float(_double_logarithms(np.array(gap), delta)) + float((rivals * shares) @ factors)) * effort
    return PaperBounds(
        maximal=_exp_or_infinity(log_maximal),
        maximal_log10=log_maximal / log(10),
        uniform=((1 + hits_but_last) * effort + sqrt((arms - 1) * effort)) * log(arms / delta),
        linked_ege=linked_ege + sqrt(standard_ege) * certainty,
        lower=(hits + top + all_miss) * effort * certainty,
        standard_uniform=arms * effort * log(arms / delta),
        standard_ege=standard_ege,
        standard_lower=(float(shares.sum()) + 1) * effort * certainty,
        improvement=improvement,
    )


def corollary_in_kl(means: npt.ArrayLike, delta: float) -> float:
    """Evaluate the paper's lower bound with the constant that its proof leaves open.

    The proof shows E[T] >= sum of mu_i E[t_i] + p max E[t_i]. Here each E[t_i] is replaced by the most that can be
    said of it alone, kl(delta, 1 - delta)/kl(mu_i, mu*), and for the best arm kl(delta, 1 - delta)/kl(mu*, mu_i) of its
    closest rival. It can be compared with :func:`lower`, which is never below it, in plays.

    >>> round(corollary_in_kl([0.1, 0.05, 0.05], delta=0.1), 1)
    104.5
    """
    vector = check_means(means)
    check_probability("delta", delta)
    best = int(vector.argmax())
    rivals = np.delete(vector, best)
    with np.errstate(divide="ignore"):
        samples = 1 / kl(vector, vector[best])
        samples[best] = 1 / kl(vector[best], rivals.max())
    if not np.isfinite(samples).all():
        return inf
    return kl_of_error(delta) * float(vector @ samples + np.prod(1 - vector) * samples.max())


def log_log_rate(means: npt.ArrayLike, delta: float) -> float:
    """Evaluate the rate in plays that the paper's source states, and has commented out, after Farrell 1964.

    (2 - 4 delta) (sum of mu_i Delta_i^-2 log log Delta_i^-2 + p Delta^-2 log log Delta^-2), the sum over all arms but
    the best, where p is the chance that a play of all arms has no hit. (The source calls it M and does not define it;
    what it says of M is true of p.) **No bound at given means**: what it comes from is a limes superior, along some
    gaps that shrink to 0, and a policy may take fewer plays at any single instance. It does not grow as delta falls.
    Where log log is negative or undefined, for gaps above exp(-1/2), it counts as 0.

    >>> round(log_log_rate([0.1, 0.05, 0.05], delta=0.1))
    1045
    """
    vector = check_means(means)
    check_probability("delta", delta)
    if delta >= 0.5:
        raise InvalidParameter(f"delta={delta!r} is not below 1/2, where the rate says nothing; try delta=0.05")
    rivals = np.delete(vector, vector.argmax())
    gaps = vector.max() - rivals
    if gaps.min() == 0:
        return inf
    efforts = np.log(np.maximum(-2 * np.log(gaps), 1)) / gaps**2
    return (2 - 4 * delta) * float(rivals @ efforts + np.prod(1 - vector) * efforts[gaps.argmin()])


def _double_logarithms(gaps: FloatArray, delta: float) -> FloatArray:
    """Return log((1/delta) log(1/gap)), and 0 where that is negative or undefined."""
    return np.log(np.maximum(-np.log(gaps) / delta, 1))


def _exp_or_infinity(exponent: float) -> float:
    return exp(exponent) if exponent < _LARGEST_LOG else inf
