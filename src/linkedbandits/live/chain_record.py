"""Whole chains: what a play goes on with when its arms have failed, so that no one is worse served for being asked.

A play of the policy has some of the arms. Whoever answers customers with it goes on with the *rest*, all other arms, in
the best order known. What was tried there is on record with the play. It is used

- for decisions, if the policy takes arms to be independent: then a try behind failures is a sample like any other;
- for the order of the rest alone, if it does not. What an arm does behind the failure of others is no sample of its
  mean, but it is what counts for the place behind them.

The rest is part of the play, so a play is one array of whole numbers: its arms as they are, and behind them the rest,
arm ``a`` as ``~a``, which is below zero. So records, journals and saved files of plays have it without a place for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from linkedbandits.display import short_repr
from linkedbandits.live.saving import Saved
from linkedbandits.model import FloatArray, IntArray

LEAST_BETWEEN = 16
"""The order of the rest is reckoned anew after at least this many plays told,"""
SHARE_BETWEEN = 8
"""and after this part of them: few orders, of which each is played many times."""
MEAN_COUNTS_AS = 10.0
"""Tries behind failures that an arm's mean stands for, in the best order: such tries are few before the verdict."""


def with_rest(arms: IntArray, rest: IntArray) -> IntArray:
    """A play of these arms that goes on with the rest.

    >>> with_rest(np.array([2, 0]), np.array([1, 3]))
    array([ 2,  0, -2, -4])
    """
    return np.concatenate([arms, ~rest])


def order_of(play: IntArray) -> IntArray:
    """All that a play tries, in order.

    >>> order_of(np.array([2, 0, -2, -4])), order_of(np.array([2, 0]))
    (array([2, 0, 1, 3]), array([2, 0]))
    """
    return play if play[-1] >= 0 else np.where(play < 0, ~play, play)


def arms_of(play: IntArray) -> IntArray:
    """What it tries for the policy.

    >>> arms_of(np.array([2, 0, -2, -4]))
    array([2, 0])
    """
    return play if play[-1] >= 0 else play[play >= 0]


def rest_of(play: IntArray) -> IntArray:
    """What it goes on with.

    >>> rest_of(np.array([2, 0, -2, -4])), rest_of(np.array([2, 0]))
    (array([1, 3]), array([], dtype=int64))
    """
    return ~play[play < 0]


def ranked(first: Sequence[int], rates: FloatArray, costs: Sequence[float] | None = None) -> IntArray:
    """All arms: the ``first`` as they are, behind them the others, the highest rate (per cost) first.

    >>> ranked([1], np.array([0.2, 0.1, 0.5])), ranked([1], np.array([0.2, 0.1, 0.5]), [1.0, 1.0, 5.0])
    (array([1, 2, 0]), array([1, 0, 2]))
    """
    others = np.argsort(-rates / (1.0 if not costs else np.array(costs)), kind="stable")
    return np.concatenate([np.array(first, dtype=np.int64), others[~np.isin(others, first)]])


@dataclass(frozen=True, slots=True)
class Learning:
    """What an experiment has cost so far: attempts in all plays told, and what the best order known would have taken.

    ``failed`` counts the plays in which nothing worked. ``of_best_order`` is reckoned from estimates, so it is none too
    exact before there is much to go by. ``cost`` and ``cost_of_best_order`` are the same by the costs of the attempts,
    None without costs.
    """

    plays: int
    attempts: int
    failed: int
    of_best_order: float
    cost: float | None = None
    cost_of_best_order: float | None = None

    __repr__ = short_repr

    @property
    def above(self) -> float:
        """Attempts above those of the best order: the price of learning."""
        return self.attempts - self.of_best_order

    @property
    def cost_above(self) -> float | None:
        """The same in costs."""
        return None if self.cost is None or self.cost_of_best_order is None else self.cost - self.cost_of_best_order


class ChainRecord(Saved):
    """How arms do where they stand in whole chains, and what comes first in the rest for it.

    For independent arms every try counts. For others the tries that come first in the rest do: those further behind
    are on requests that more arms have failed on, and an arm that is put last would look worse for being last.

    With ``costs``, one for each arm, the likeliest to work *for its cost* comes first.
    """

    _saved: ClassVar[tuple[str, ...]] = (*("_tries", "_worked", "_attempts", "_told", "_failed", "_due", "_ranking"),)

    def __init__(self, arms: int, independent: bool, costs: Sequence[float] = ()) -> None:
        self._independent = independent
        self._costs = tuple(costs)
        self._tries = [0] * arms
        self._worked = [0] * arms
        self._attempts = [0] * arms  # all of them, wherever they stood
        self._told = 0
        self._failed = 0
        self._due = LEAST_BETWEEN
        self._ranking = self.rank(())
        self._plays: dict[bytes, IntArray] = {}

    def play(self, arms: IntArray) -> IntArray:
        """The play of these arms with the rest in the best order known. The same arms mostly give the same array."""
        key = arms.tobytes()
        play = self._plays.get(key)
        if play is None:
            rest = self._ranking[~np.isin(self._ranking, arms)]
            play = self._plays[key] = with_rest(arms, rest)
        return play

    def add(self, play: IntArray, hit: int) -> None:
        """A play was told: all of it was tried up to the hit, or to its end if that is below zero."""
        in_rest = 0
        for place in play.tolist():
            arm = ~place if place < 0 else place
            in_rest += place < 0
            counts = self._independent or in_rest == 1
            self._attempts[arm] += 1
            self._tries[arm] += counts
            if arm == hit:
                self._worked[arm] += counts
                break
        else:
            self._failed += 1
        self._told += 1
        if self._told >= self._due:
            self._rank()

    def rank(self, first: Sequence[int], means: FloatArray | None = None) -> IntArray:
        """All arms: ``first`` those, behind them the others, the likeliest to work (for its cost) first.

        With ``means`` what an arm does on its own counts too, as :data:`MEAN_COUNTS_AS` tries behind failures. Where
        arms are independent that is what they do there; where they are not, such tries outweigh it as they come.
        """
        rates = self.rates()
        if means is not None and not self._independent:
            rates = (np.array(self._worked) + MEAN_COUNTS_AS * means) / (np.array(self._tries) + MEAN_COUNTS_AS)
        return ranked(first, rates, self._costs)

    def rates(self) -> FloatArray:
        """The share of tries of every arm that worked, where they count; a half before there are any."""
        return (np.array(self._worked) + 1.0) / (np.array(self._tries) + 2.0)

    def learning(self, order: IntArray, mean_of_first: float) -> Learning:
        """What was tried, against as many plays in this order, whose first arm works with that probability."""
        works = self.rates()[order]
        works[0] = mean_of_first
        reached = np.concatenate([[1.0], np.cumprod(1 - works[:-1])])
        known = np.array(self._costs) if self._costs else None
        return Learning(
            plays=self._told,
            attempts=sum(self._attempts),
            failed=self._failed,
            of_best_order=float(self._told * reached.sum()),
            cost=None if known is None else float(known @ np.array(self._attempts)),
            cost_of_best_order=None if known is None else float(self._told * (known[order] @ reached)),
        )

    def _rank(self) -> None:
        self._due = self._told + max(LEAST_BETWEEN, self._told // SHARE_BETWEEN)
        ranking = self.rank(())
        if not np.array_equal(ranking, self._ranking):
            self._ranking = ranking
            self._plays = {}
