"""What attempts cost and how long they take: known costs or measured ones, estimates with limits, and an order by them.

Of each option sums are kept, and no rows. Estimates are of *first* attempts, those that a call began with: whether and
at what price an option works there does not depend on what the others did, so they are samples of its mean on all
requests. Behind failures of others it has another mean, which counts for the places further down.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np

from linkedbandits.chain.results import Attempt
from linkedbandits.checks import check_costs
from linkedbandits.errors import InvalidParameter
from linkedbandits.intervals import Estimated, RunningMean, anytime_interval
from linkedbandits.model import Label

Measure = Callable[[Attempt, Any], float]
"""What an attempt has cost, from what is known of it and the value it returned, which is None if it failed."""
Costs = Mapping[Label, float] | Literal["seconds"] | Measure
"""Known costs by option; or the seconds that attempts take; or a function that says what an attempt has cost."""

ENOUGH = 10
"""First attempts of every option, before measured costs decide on an order."""
SHARE_BETWEEN = 50
"""The order by measured costs is reckoned anew after this part of all calls."""


@dataclass(frozen=True)
class OptionEstimate:
    """What the calls of this process say of one option, from its first attempts.

    ``tries`` are those attempts, ``successes`` those of them that worked. ``success`` is how often it works,
    ``seconds`` how long an attempt takes, ``cost`` what it costs, where that is known or measured, and
    ``success_per_cost`` what the order goes by then.
    """

    option: Label
    tries: int
    successes: int
    success: Estimated | None
    seconds: Estimated | None
    cost: Estimated | None
    success_per_cost: Estimated | None


class Spent(NamedTuple):
    """An attempt that is over, and was not lost; ``cost`` is None where it is not known."""

    option: Label
    worked: bool
    seconds: float
    cost: float | None


@dataclass
class Account:
    """What one option has come to."""

    seconds: RunningMean
    cost: RunningMean
    known_cost: float | None
    firsts: int = 0
    first_hits: int = 0
    behind: int = 0
    behind_hits: int = 0

    @property
    def mean_cost(self) -> float | None:
        """As known, or as measured so far."""
        return self.cost.mean if self.known_cost is None else self.known_cost

    def works(self, first: bool) -> float:
        """How often, as the first or behind others; between what was seen and a half where that is little."""
        tries, hits = (self.firsts, self.first_hits) if first else (self.behind, self.behind_hits)
        return (hits + 1) / (tries + 2)

    def estimate(self, option: Label, confidence: float) -> OptionEstimate:
        """In figures."""
        cost = self._cost(confidence)
        return OptionEstimate(
            option,
            self.firsts,
            self.first_hits,
            self._success(confidence),
            self.seconds.estimated(confidence),
            cost,
            None if cost is None else self._per_cost(confidence),
        )

    def _success(self, confidence: float) -> Estimated | None:
        if not self.firsts:
            return None
        low, high = anytime_interval(self.first_hits, self.firsts, confidence)
        return Estimated(self.first_hits / self.firsts, low, high, proved=True)

    def _cost(self, confidence: float) -> Estimated | None:
        if self.known_cost is None:
            return self.cost.estimated(confidence)
        return Estimated(self.known_cost, self.known_cost, self.known_cost, proved=True)

    def _per_cost(self, confidence: float) -> Estimated | None:
        """Each of the two may be wrong half as often, where both are estimates."""
        each = confidence if self.known_cost is not None else (1 + confidence) / 2
        success, cost = self._success(each), self._cost(each)
        return None if success is None or cost is None else success.per(cost)


@dataclass
class Ledger:
    """The accounts of all options. One thread at a time may change it.

    ``order`` is by success per measured cost, None where costs are not measured or too little is. ``options`` are those
    that there are now; calls that began before some were removed may still end.
    """

    accounts: dict[Label, Account]
    costs: Costs | None = None
    options: tuple[Label, ...] = ()
    order: tuple[Label, ...] | None = None
    _calls: int = field(default=0, repr=False)
    _again_at: int = field(default=ENOUGH, repr=False)

    @classmethod
    def opened(
        cls, options: Iterable[Label], costs: Costs | None = None, timeouts: Mapping[Label, float | None] | None = None
    ) -> Ledger:
        """Nothing was tried yet. Timeouts are limits for how long an attempt takes."""
        ledger = cls({}, costs)
        ledger.go_on_with(options, timeouts or {}, anew=True)
        return ledger

    @property
    def measures(self) -> bool:
        """Are costs measured?"""
        return self.costs is not None and not isinstance(self.costs, Mapping)

    def go_on_with(self, options: Iterable[Label], timeouts: Mapping[Label, float | None], anew: bool) -> None:
        """From now on there are these options; if ``anew``, all accounts begin with nothing."""
        before, self.options, self.order = self.options, tuple(options), None
        self._again_at = self._calls + ENOUGH
        for label in self.options:
            if anew or label not in before:
                self.accounts[label] = self._new_account(label, timeouts.get(label))

    def _new_account(self, label: Label, longest: float | None) -> Account:
        return Account(
            RunningMean(longest),
            RunningMean(longest if self.costs == "seconds" else None),
            self.costs.get(label) if isinstance(self.costs, Mapping) else None,
        )

    def add(self, spent: tuple[Spent, ...]) -> None:
        """The attempts of one call, in order."""
        for place, (option, worked, seconds, cost) in enumerate(spent):
            account = self.accounts[option]
            if place:
                account.behind += 1
                account.behind_hits += worked
                continue
            account.firsts += 1
            account.first_hits += worked
            account.seconds.add(seconds)
            if cost is not None:
                account.cost.add(cost)
        self._calls += 1
        if self.measures and self._calls >= self._again_at:
            self._again_at = self._calls + max(1, self._calls // SHARE_BETWEEN)
            self.order = self._by_success_per_cost()

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
        if any(account.cost.count < ENOUGH for account in present.values()):
            return None

        def worth(label: Label, first: bool) -> float:
            return present[label].works(first) / max(present[label].mean_cost or 0.0, np.finfo(float).tiny)

        best = max(present, key=lambda label: worth(label, first=True))
        others = [label for label in present if label != best]
        return (best, *sorted(others, key=lambda label: -worth(label, first=False)))


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
