"""The best allocation for telling the k best arms from the rest, by a linear programme that grows.

Telling arm a from arm b takes min over l of t_a kl(mu_a, l) + t_b kl(mu_b, l) >= 1: one linear condition for every l.
Each round solves the programme (HiGHS) with the conditions found so far and adds those that its answer breaks. The
programme's value is a lower bound throughout; its answer, scaled up until every pair has its evidence, is an
upper bound. The rounds end when the two agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack

from linkedbandits.bounds.allocation import Allocation
from linkedbandits.bounds.divergence import pooled_kl, pooled_kl_per_cost
from linkedbandits.bounds.told import AlternativesThatKeepTheDifference
from linkedbandits.errors import LinkedBanditError
from linkedbandits.linkage import Linkage
from linkedbandits.model import BoolArray, FloatArray, IntArray

__all__ = ["allocate_by_programme", "allocate_per_cost", "allocate_told"]

_MAX_ROUNDS = 300
_FEASIBILITY = 1e-10
"""HiGHS's tightest tolerance; also how far a condition may be missed before it is added."""

_EXTREME_RATIO = 1e15
"""Conditions are taken at pooled means strictly between the two arms', where every divergence is finite."""

_LARGEST_COEFFICIENT = 1e11
"""HiGHS copes with coefficients up to here; to ask every arm for this small a share of the plays costs nothing."""

_FIRST_RATIOS = (0.25, 1.0, 4.0)


def allocate_by_programme(means: FloatArray, best: IntArray, linkage: Linkage, tolerance: float = 1e-8) -> Allocation:
    """Allocate samples so that each of the arms ``best``, all strictly above the others, is told from each other arm.

    >>> from linkedbandits.linkage import find_linkage
    >>> found = allocate_by_programme(np.array([1.0, 0.0]), np.array([0]), find_linkage("ordered"))
    >>> round(found.plays, 6)
    1.442695
    """
    return _grow(_Pairs.of(means, best), means, linkage, tolerance)


def allocate_told(
    means: FloatArray,
    best: int,
    linkage: Linkage,
    gap: float | None = None,
    odds_ratio: float | None = None,
    tolerance: float = 1e-8,
) -> Allocation:
    """Allocate samples so that arm ``best`` is told from instances in which another is ahead by what was told.

    >>> from linkedbandits.linkage import find_linkage
    >>> found = allocate_told(np.array([0.5, 0.25]), 0, find_linkage("single"), gap=0.25)
    >>> found.samples.round(2)
    array([3.25, 4.08])
    """
    alternatives = AlternativesThatKeepTheDifference.of(means, best, gap, odds_ratio, _LARGEST_COEFFICIENT)
    return _grow(alternatives, means, linkage, tolerance)


def allocate_per_cost(
    means: FloatArray, best: int, costs: FloatArray, linkage: Linkage, tolerance: float = 1e-8
) -> Allocation:
    """Allocate samples so that arm ``best`` is told from instances in which another has as many successes per cost.

    >>> from linkedbandits.linkage import find_linkage
    >>> found = allocate_per_cost(np.array([0.5, 0.5]), 0, np.array([1.0, 2.0]), find_linkage("single"))
    >>> found.samples.round(2)
    array([11.32,  5.66])
    """
    return _grow(_Pairs.of(means, np.array([best]), costs), means, linkage, tolerance)


class _Alternatives(Protocol):
    """Instances that have to be told from the true one, a number of kinds of them."""

    @property
    def is_best(self) -> BoolArray:
        """The arms that are best in the true one."""
        ...

    def only(self, chosen: BoolArray) -> Self:
        """Those of these kinds."""
        ...

    def sufficient_samples(self) -> FloatArray:
        """Samples that exclude them all, not sparingly."""
        ...

    def evidence(self, samples: FloatArray) -> FloatArray:
        """What samples bring against the closest alternative of each kind."""
        ...

    def conditions(self, samples: FloatArray, unit: float, width: int) -> csr_array:
        """One row for each kind: that evidence as a linear function of samples in this unit, exact at those given."""
        ...


def _grow(pairs: _Alternatives, means: FloatArray, linkage: Linkage, tolerance: float) -> Allocation:
    first = pairs.sufficient_samples()
    # Samples and plays are both counted in these plays: HiGHS takes coefficients below 1e-9 for 0, and in this unit
    # such a price belongs to an arm whose every possible sample together costs less than 1e-9 of the whole.
    unit = linkage.quote(first, means).plays
    rows = linkage.cost_rows(means)
    costs = csr_array((rows.value, (rows.row, rows.column)), shape=rows.shape)
    conditions = [
        pairs.conditions(np.where(pairs.is_best, first, ratio * first), unit, costs.shape[1]) for ratio in _FIRST_RATIOS
    ]
    found = Allocation(first, unit, 0.0)
    for _ in range(_MAX_ROUNDS):
        scaled, scaled_plays = _solve(costs, vstack(conditions), means.size)
        samples, at_least = unit * scaled, unit * scaled_plays
        evidence = pairs.evidence(samples)
        quoted, weakest = linkage.quote(samples, means), float(evidence.min())
        if weakest > 0 and quoted.plays / weakest < found.plays:
            found = Allocation(samples / weakest, quoted.plays / weakest, at_least)
        broken = evidence < 1 - _FEASIBILITY
        too_cheap = quoted.plays > (1 + _FEASIBILITY) * at_least
        if found.plays <= (1 + tolerance) * at_least or not (broken.any() or too_cheap):
            break
        conditions.append(pairs.only(broken).conditions(samples, unit, costs.shape[1]))
        if too_cheap:
            costs = vstack([costs, _cost_row(quoted.prices, costs.shape[1])])
    return Allocation(found.samples, found.plays, min(at_least, found.plays))


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Every arm among the best (``winners``) against every arm that is not (``losers``), perhaps by mean per cost."""

    means: FloatArray
    is_best: BoolArray
    winners: IntArray
    losers: IntArray
    costs: FloatArray | None

    @classmethod
    def of(cls, means: FloatArray, best: IntArray, costs: FloatArray | None = None) -> _Pairs:
        is_best = np.zeros(means.size, dtype=np.bool_)
        is_best[best] = True
        others = np.flatnonzero(~is_best)
        return cls(means, is_best, np.repeat(best, others.size), np.tile(others, best.size), costs)

    def only(self, chosen: BoolArray) -> _Pairs:
        return _Pairs(self.means, self.is_best, self.winners[chosen], self.losers[chosen], self.costs)

    def sufficient_samples(self) -> FloatArray:
        """Samples that tell every pair apart: for each arm the most that any of its pairs needs of both its arms."""
        needed = 1 / self.evidence(np.ones_like(self.means))
        samples = np.zeros_like(self.means)
        np.maximum.at(samples, self.winners, needed)
        np.maximum.at(samples, self.losers, needed)
        return samples

    def evidence(self, samples: FloatArray) -> FloatArray:
        of_winner, of_loser = self._divergences(samples)
        return samples[self.winners] * of_winner + samples[self.losers] * of_loser

    def conditions(self, samples: FloatArray, unit: float, width: int) -> csr_array:
        """One row for each pair: its evidence as a linear function of samples in this unit, exact at those given."""
        rows = np.arange(self.winners.size)
        values = np.minimum(unit * np.concatenate(self._divergences(samples)), _LARGEST_COEFFICIENT)
        places = np.tile(rows, 2), np.concatenate([self.winners, self.losers])
        return csr_array((values, places), shape=(rows.size, width))

    def _divergences(self, samples: FloatArray) -> tuple[FloatArray, FloatArray]:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = samples[self.losers] / samples[self.winners]
        ratios = np.clip(np.nan_to_num(ratios, nan=1.0), 1 / _EXTREME_RATIO, _EXTREME_RATIO)
        winner, loser = self.means[self.winners], self.means[self.losers]
        if self.costs is None:
            return pooled_kl(winner, loser, ratios)
        return pooled_kl_per_cost(winner, loser, ratios, self.costs[self.losers] / self.costs[self.winners])


def _cost_row(prices: FloatArray, width: int) -> csr_array:
    """The plays are at least what the samples come to at these prices."""
    row = np.zeros((1, width))
    row[0, : prices.size] = prices
    row[0, prices.size] = -1
    return csr_array(row)


def _solve(costs: csr_array, conditions: csr_array, arms: int) -> tuple[FloatArray, float]:
    """Return the samples and plays, each in its unit, that meet all rows with the fewest plays."""
    goal = np.zeros(costs.shape[1])
    goal[arms] = 1
    rows = vstack([costs, -conditions], format="csr")
    limits = np.concatenate([np.zeros(costs.shape[0]), -np.ones(conditions.shape[0])])
    # Once in some thousand programmes HiGHS gives up at its tightest tolerance, and solves it at the usual one.
    for tolerance in (_FEASIBILITY, 1e-7):
        solved = linprog(
            goal,
            A_ub=rows,
            b_ub=limits,
            method="highs",
            options={"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance},
        )
        if solved.x is not None and solved.fun is not None:
            return np.maximum(solved.x[:arms], 0), float(solved.fun)
    raise LinkedBanditError(f"the linear programme was not solved ({solved.message}); try means that are less extreme")
