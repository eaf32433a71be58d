"""The characteristic time of an instance: the plays that a unit of evidence about its best arms must cost.

    Tstar = min { plays(t) : t >= 0, C_ab(t) >= 1 for every a among the k best and every b that is not },
    C_ab(t) = min over l of t_a kl(mu_a, l) + t_b kl(mu_b, l),

where plays(t) is what samples t cost under the linkage, to first order. Every policy that errs with probability at
most delta on all instances needs at least kl(delta, 1 - delta) Tstar plays on average.

Where arms have costs c, and the best is the one with most successes per cost, a and b have to be told from means with
which b has as many: C_ab(t) = min over l of t_a kl(mu_a, l) + t_b kl(mu_b, l c_b/c_a).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linkedbandits.bounds.allocation import Allocation
from linkedbandits.bounds.divergence import kl
from linkedbandits.bounds.search import allocate_by_search
from linkedbandits.bounds.told import check_difference
from linkedbandits.checks import check_costs, check_costs_of_arms, check_odds_ratio, check_positive, check_whole
from linkedbandits.display import short_repr
from linkedbandits.errors import InvalidParameter
from linkedbandits.linkage import Linkage, find_linkage
from linkedbandits.model import FloatArray, IntArray, check_means, per_cost

__all__ = ["CharacteristicTime", "characteristic_time"]

_LEAST_EVIDENCE = 1e-290
"""Two arms whose samples carry less evidence than this take more plays than a floating-point number holds."""
_ROUNDING = 1e-12
"""By so much, relatively, means per cost may differ and be the same: they are rounded numbers."""


@dataclass(frozen=True, slots=True)
class CharacteristicTime:
    """Plays per unit of evidence, and how the best policy would share them out.

    ``value`` is reached by ``proportions``: samples of each arm for each play, a vector on the edge of what the
    linkage can do. ``at_least`` is a proved lower bound on the true minimum, so the two bracket it.

    ``best`` are the k best arms. If the k-th shares its mean (with costs, its mean per cost) with the next, no number
    of plays tells them apart: then ``unique`` is False, ``best`` names all that could be meant, ``value`` is infinite,
    ``proportions`` are nan, and ``reason`` says why. ``reason`` is None whenever the time is finite.
    """

    value: float
    proportions: FloatArray
    best: tuple[int, ...]
    unique: bool
    reason: str | None
    at_least: float
    linkage: str
    k: int

    __repr__ = short_repr


def characteristic_time(
    means: npt.ArrayLike,
    linkage: str | Linkage = "ordered",
    k: int = 1,
    *,
    gap: float | None = None,
    odds_ratio: float | None = None,
    costs: Sequence[float] = (),
) -> CharacteristicTime:
    """Compute the characteristic time for finding the k best arms.

    With ``costs``, what a try of each arm costs, the best arm (k = 1) is the one with most successes per cost.

    With a ``gap`` or an ``odds_ratio`` it is that of policies which are told that the best arm (k = 1) is ahead of
    every other by at least as much, as LinkedLead is.

    One best arm: a convex search over its own samples, to a relative 1e-10, in time linear in the number of arms.
    Several, a told difference, or costs: a growing linear programme, to a relative 1e-8, meant for up to a few thousand
    arms; told a difference, for a few hundred.

    >>> time = characteristic_time([0.1, 0.05, 0.05])
    >>> round(time.value, 3), time.proportions.round(3), time.best
    (119.069, array([1.   , 0.857, 0.857]), (0,))
    >>> tied = characteristic_time([0.2, 0.1, 0.2])
    >>> tied.value, tied.best, tied.reason
    (inf, (0, 2), 'arms 0 and 2 share the mean 0.2; no number of plays tells which is best')
    >>> round(characteristic_time([0.1, 0.05, 0.05], gap=0.05).value, 3)
    32.527
    """
    vector = check_means(means)
    link = find_linkage(linkage)
    check_whole("k", k)
    if k >= vector.size:
        raise InvalidParameter(f"k={k} of {vector.size} arms leaves none out; choose k up to {vector.size - 1}")
    told = gap is not None or odds_ratio is not None
    costs = check_costs(costs)
    if costs:
        _check_costs(vector, k, told, costs)
    if told:
        _check_told(vector, k, gap, odds_ratio)
    worth = _worth(vector, costs) if costs else vector
    # The order of everything but the k-th and its successor is of no interest, and sorting a million arms is slow.
    ranked = np.argpartition(-worth, [k - 1, k])
    last_in, first_out = float(worth[ranked[k - 1]]), float(worth[ranked[k]])
    best = np.flatnonzero(worth >= last_in)
    reason = _why_endless(worth, k, last_in, first_out, costs)
    if reason is None:
        if told:
            found = _allocate_told(vector, int(best[0]), link, gap, odds_ratio)
        elif costs:
            found = _allocate_per_cost(vector, int(best[0]), link, costs)
        else:
            found = _allocate(vector, best, link)
        value, at_least, proportions = found.plays, found.at_least, found.samples / found.plays
    else:
        value, at_least, proportions = np.inf, np.inf, np.full(vector.size, np.nan)
    unique = last_in > first_out
    return CharacteristicTime(value, proportions, tuple(best.tolist()), unique, reason, at_least, link.name, k)


def _worth(means: FloatArray, costs: Sequence[float]) -> FloatArray:
    """Means per cost, in which those that tie for the best but for rounding are equal."""
    worth = per_cost(means, costs)
    return np.asarray(np.where(worth > worth.max() * (1 - _ROUNDING), worth.max(), worth))


def _why_endless(worth: FloatArray, k: int, last_in: float, first_out: float, costs: Sequence[float]) -> str | None:
    """Say why the time is infinite, if it is."""
    if last_in == first_out:
        tied = np.flatnonzero(worth == last_in)
        named = f"arms {tied[0]} and {tied[1]}" if tied.size == 2 else f"{tied.size} arms, {tied[0]} the first,"
        question = "which is best" if k == 1 else f"which belong to the {k} best"
        shared = f"the mean per cost {last_in / min(costs):g}" if costs else f"the mean {last_in:g}"
        return f"{named} share {shared}; no number of plays tells {question}"
    middle = (last_in + first_out) / 2
    if kl(last_in, middle) + kl(first_out, middle) < _LEAST_EVIDENCE:
        return f"means {last_in:g} and {first_out:g} take more plays to tell apart than a float can count"
    return None


def _check_told(means: FloatArray, k: int, gap: float | None, odds_ratio: float | None) -> None:
    if k != 1:
        raise InvalidParameter(f"k={k} goes with no told difference; leave out gap and odds_ratio, or k")
    if gap is not None and odds_ratio is not None:
        raise InvalidParameter(f"gap={gap!r} and odds_ratio={odds_ratio!r} are both given; say one of them")
    if gap is not None:
        check_positive("gap", gap, most=1.0)
    if odds_ratio is not None:
        check_odds_ratio(odds_ratio)
    check_difference(means, gap, odds_ratio)


def _allocate_told(
    means: FloatArray, best: int, linkage: Linkage, gap: float | None, odds_ratio: float | None
) -> Allocation:
    from linkedbandits.bounds.programme import allocate_told  # few need the solver, which takes long to import

    return allocate_told(means, best, linkage, gap, odds_ratio)


def _check_costs(means: FloatArray, k: int, told: bool, costs: Sequence[float]) -> None:
    check_costs_of_arms(costs, means.size)
    if k != 1 or told:
        other = f"k={k}" if k != 1 else "a told difference"
        raise InvalidParameter(f"{other} goes with no costs; leave out one or the other")


def _allocate_per_cost(means: FloatArray, best: int, linkage: Linkage, costs: Sequence[float]) -> Allocation:
    from linkedbandits.bounds.programme import allocate_per_cost  # few need the solver, which takes long to import

    return allocate_per_cost(means, best, np.array(costs), linkage)


def _allocate(means: FloatArray, best: IntArray, linkage: Linkage) -> Allocation:
    if best.size == 1:
        return allocate_by_search(means, int(best[0]), linkage)
    # Imported here, because scipy.optimize takes longer to import than the rest of the library together.
    from linkedbandits.bounds.programme import allocate_by_programme  # few need the solver

    return allocate_by_programme(means, best, linkage)
