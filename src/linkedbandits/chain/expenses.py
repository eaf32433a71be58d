"""What attempts cost and how long they take: known costs or measured ones, estimates with limits, and an order by them.

Of each option sums are kept, and no rows. Estimates are of *first* attempts, as :mod:`linkedbandits.option_estimates`
says. Behind failures of others an option has another mean, which counts for the places further down.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np

from linkedbandits.chain.behind import SecondTries
from linkedbandits.chain.results import Attempt
from linkedbandits.checks import check_costs
from linkedbandits.errors import InvalidParameter
from linkedbandits.intervals import RunningMean
from linkedbandits.model import Label
from linkedbandits.option_estimates import ENOUGH, FirstAttempts, OptionEstimate

Measure = Callable[[Attempt, Any], float]
"""What an attempt has cost, from what is known of it and the value it returned, which is None if it failed."""
Costs = Mapping[Label, float] | Literal["seconds"] | Measure
"""Known costs by option; or the seconds that attempts take; or a function that says what an attempt has cost."""

SHARE_BETWEEN = 50
"""Orders by what calls have shown are reckoned anew after this part of all calls."""


class Spent(NamedTuple):
    """An attempt that is over, and was not lost; ``cost`` is None where it is not known."""

    option: Label
    worked: bool
    seconds: float
    cost: float | None


@dataclass
class Account:
    """What one option has come to, as the first of calls and behind others."""

    first: FirstAttempts
    known_cost: float | None
    behind: int = 0
    behind_hits: int = 0

    @property
    def mean_cost(self) -> float | None:
        """As known, or as measured so far."""
        return self.first.cost.mean if self.known_cost is None else self.known_cost

    def works(self, first: bool) -> float:
        """How often, as the first or behind others; between what was seen and a half where that is little."""
        tries, hits = (self.first.tries, self.first.successes) if first else (self.behind, self.behind_hits)
        return (hits + 1) / (tries + 2)

    def estimate(self, option: Label, confidence: float) -> OptionEstimate:
        """In figures."""
        return self.first.estimate(option, confidence, self.known_cost)


@dataclass
class Ledger:
    """The accounts of all options. One thread at a time may change it.

    ``order`` is by success per measured cost, None where costs are not measured or too little is. ``options`` are those
    that there are now; calls that began before some were removed may still end. ``seconds`` is what options do behind
    the failure of the first of a call.
    """

    accounts: dict[Label, Account]
    costs: Costs | None = None
    options: tuple[Label, ...] = ()
    order: tuple[Label, ...] | None = None
    seconds: SecondTries = field(default_factory=SecondTries)
    _behind: dict[tuple[Label, ...], tuple[Label, ...]] = field(default_factory=dict, repr=False)
    _behind_again_at: int = field(default=ENOUGH, repr=False)
    _calls: int = field(default=0, repr=False)
    _again_at: int = field(default=ENOUGH, repr=False)

    @classmethod
    def opened(
        cls, options: Iterable[Label], costs: Costs | None = None, timeouts: Mapping[Label, float | None] | None = None
    ) -> Ledger:
        """Nothing was tried yet. Timeouts are limits for how long an attempt takes."""
        ledger = cls({}, costs)
        ledger.go_on_with(options, timeouts or {})
        return ledger

    @property
    def measures(self) -> bool:
        """Are costs measured?"""
        return self.costs is not None and not isinstance(self.costs, Mapping)

    def go_on_with(self, options: Iterable[Label], timeouts: Mapping[Label, float | None]) -> None:
        """These are the options from now on; new ones begin with nothing."""
        before, self.options, self.order = self.options, tuple(options), None
        self._again_at = self._calls + ENOUGH
        new = [label for label in self.options if label not in before]
        for label in new:
            self.accounts[label] = self._new_account(label, timeouts.get(label))
        self.seconds.forget(new)
        self._behind = {}

    def _new_account(self, label: Label, longest: float | None) -> Account:
        known = self.costs.get(label) if isinstance(self.costs, Mapping) else None
        return Account(nothing_tried(self.costs, longest), known)

    def add(self, spent: tuple[Spent, ...]) -> None:
        """The attempts of one call, in order."""
        for place, (option, worked, seconds, cost) in enumerate(spent):
            account = self.accounts[option]
            if place:
                account.behind += 1
                account.behind_hits += worked
                continue
            account.first.add(worked, seconds, cost)
        if len(spent) > 1:
            self.seconds.add(spent[0].option, spent[1].option, spent[1].worked)
        self._calls += 1
        if self._calls >= self._behind_again_at:
            self._behind_again_at = self._calls + max(1, self._calls // SHARE_BETWEEN)
            self._behind = {}
        if self.measures and self._calls >= self._again_at:
            self._again_at = self._calls + max(1, self._calls // SHARE_BETWEEN)
            self.order = self._by_success_per_cost()

    def order_behind(self, usual: tuple[Label, ...]) -> tuple[Label, ...]:
        """The usual order with the same first option; behind it what does better there goes first. In any thread."""
        found = self._behind.get(usual)
        if found is None:
            costs = self.costs if isinstance(self.costs, Mapping) else None
            found = self._behind[usual] = (usual[0], *self.seconds.order(usual[0], usual[1:], costs))
        return found

    def cost_of(self, order: tuple[Label, ...]) -> float | None:
        """What a call in this order costs on average, as far as one knows; None if some cost is not known at all."""
        reached, cost = 1.0, 0.0
        for place, label in enumerate(order):
            account = self.accounts[label]
            mean = account.mean_cost
            if mean is None:
                return None
            cost += reached * mean
            reached *= 1 - account.works(first=place == 0)
        return cost

    def _by_success_per_cost(self) -> tuple[Label, ...] | None:
        present = {label: self.accounts[label] for label in self.options}
        if any(account.first.cost.count < ENOUGH for account in present.values()):
            return None

        def worth(label: Label, first: bool) -> float:
            return present[label].works(first) / max(present[label].mean_cost or 0.0, np.finfo(float).tiny)

        best = max(present, key=lambda label: worth(label, first=True))
        others = [label for label in present if label != best]
        return (best, *sorted(others, key=lambda label: -worth(label, first=False)))


def nothing_tried(costs: Costs | None, longest: float | None) -> FirstAttempts:
    """Of an option whose attempts take ``longest`` seconds at most, if they have a limit."""
    return FirstAttempts(RunningMean(longest), RunningMean(longest if costs == "seconds" else None))


def check_chain_costs(costs: Any, options: Iterable[Label]) -> Costs | None:
    """The costs of a chain, or an error that says what they may be."""
    labels = tuple(options)
    if costs is None:
        return None
    if isinstance(costs, str) and costs == "seconds":
        return "seconds"
    if isinstance(costs, Mapping):
        stray = [label for label in costs if label not in labels]
        if stray:
            raise InvalidParameter(
                f"costs has {stray[0]!r}, which is no option; the options are {', '.join(map(repr, labels))}"
            )
        lacking = [label for label in labels if label not in costs]
        if lacking:
            raise InvalidParameter(f"costs has nothing for {lacking[0]!r}; give what an attempt of each option costs")
        return dict(zip(labels, check_costs([costs[label] for label in labels]), strict=True))
    if callable(costs):
        measure: Measure = costs
        return measure
    raise InvalidParameter(
        f"costs={costs!r} is neither a mapping, such as {{{labels[0]!r}: 0.3, ...}}, nor 'seconds', nor a function of "
        "an attempt and its value; give one of these"
    )


def measured(said: object) -> float:
    """What a function has said that an attempt cost, or an error that says why it cannot be that."""
    if isinstance(said, bool) or not isinstance(said, Real) or not 0 <= float(said) < math.inf:
        raise InvalidParameter(f"costs() said {said!r} for an attempt; return a number of at least 0")
    return float(said)
