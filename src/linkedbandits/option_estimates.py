"""What first attempts of an option say: how often it works, how long it takes and what it costs, with limits.

A chain keeps it of the calls of its process, and the service of all processes that have told it. What is kept are sums,
of attempts that a call began with: whether and at what price an option works there does not depend on what the others
did, so they are samples of its mean on all requests. A chain adds them in the order in which calls began, up to the
first that is still running: as calls end, slow failures would come last, and limits that hold at all times would not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from linkedbandits.display import Columns, WithFrames, counted, labels, number, short_repr, table, text_table
from linkedbandits.errors import InvalidParameter
from linkedbandits.intervals import Estimated, RunningMean, anytime_interval
from linkedbandits.model import Label

ENOUGH = 10
"""First attempts of every option, before measured costs decide on an order."""
MOST_TRIES = 10**12
"""What one source may have of an option: more than any has, and sums of many such are still exact."""
SMALLEST, LARGEST = 1e-100, 1e100
"""Numbers between which squares and sums of all sources are finite, and not 0."""
ROUNDING = 1e-6
"""How far sums of floats may be off, as a share, and still belong together."""


@dataclass(frozen=True)
class OptionEstimate:
    """What first attempts say of one option.

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

    __repr__ = short_repr


class OptionEstimates(tuple[OptionEstimate, ...], WithFrames):
    """The estimates of all options, in their order: a tuple that prints as a table and has frames.

    The table has means, and the limits of how often options work. All other limits are in the entries.

    >>> works, seconds = Estimated(0.5, 0.25, 0.75, True), Estimated(1.25, None, None, False)
    >>> OptionEstimates([OptionEstimate("north", 4, 2, works, seconds, None, None)])
    option   tries   works        limits   seconds
    north        4     0.5   0.25 - 0.75      1.25
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return text_table(self._headings(), self._rows())

    def _repr_html_(self) -> str:
        return table(f"Estimates of {counted(len(self), 'option')}", self._headings(), self._rows())

    def _of_costs(self) -> list[tuple[str, str]]:
        """Columns that there are only where costs are known: the field and its heading."""
        known = any(each.cost is not None for each in self)
        return [("cost", "cost"), ("success_per_cost", "works per cost")] if known else []

    def _headings(self) -> list[str]:
        return ["option", "tries", "works", "limits", "seconds", *(heading for _, heading in self._of_costs())]

    def _rows(self) -> list[list[str]]:
        return [
            [
                str(each.option),
                f"{each.tries:,}",
                _mean(each.success),
                _limits(each.success),
                _mean(each.seconds),
                *(_mean(getattr(each, name)) for name, _ in self._of_costs()),
            ]
            for each in self
        ]

    def _columns(self) -> Columns:
        columns: Columns = {
            "option": labels(each.option for each in self),
            "tries": [each.tries for each in self],
            "successes": [each.successes for each in self],
        }
        for name in ("success", "seconds", "cost", "success_per_cost"):
            found = [getattr(each, name) for each in self]
            columns[name] = [None if one is None else one.mean for one in found]
            columns[f"{name}_low"] = [None if one is None else one.low for one in found]
            columns[f"{name}_high"] = [None if one is None else one.high for one in found]
        return columns


def _mean(estimated: Estimated | None) -> str:
    if estimated is None:
        return "-"
    return f"{estimated.mean:.3g}" if abs(estimated.mean) < 1 else number(estimated.mean)


def _limits(estimated: Estimated | None) -> str:
    if estimated is None or estimated.low is None or estimated.high is None:
        return "-"
    return f"{estimated.low:.3g} - {estimated.high:.3g}"


@dataclass
class FirstAttempts:
    """The sums of one option. Not every attempt need have a cost."""

    seconds: RunningMean = field(default_factory=RunningMean)
    cost: RunningMean = field(default_factory=RunningMean)
    tries: int = 0
    successes: int = 0

    def add(self, worked: bool, seconds: float, cost: float | None) -> None:
        """One more."""
        self.tries += 1
        self.successes += worked
        self.seconds.add(seconds)
        if cost is not None:
            self.cost.add(cost)

    def merged(self, other: FirstAttempts) -> FirstAttempts:
        """What both have come to."""
        return FirstAttempts(
            self.seconds.merged(other.seconds),
            self.cost.merged(other.cost),
            self.tries + other.tries,
            self.successes + other.successes,
        )

    def worth(self, cost: float | None) -> float:
        """Successes per cost, as far as one knows: between what was seen and a half where that is little."""
        return (self.successes + 1) / (self.tries + 2) / max(cost or 0.0, SMALLEST)

    def estimate(self, option: Label, confidence: float, known_cost: float | None = None) -> OptionEstimate:
        """In figures."""
        cost = self._cost(confidence, known_cost)
        return OptionEstimate(
            option,
            self.tries,
            self.successes,
            self._success(confidence),
            self.seconds.estimated(confidence),
            cost,
            None if cost is None else self._per_cost(confidence, known_cost),
        )

    def _success(self, confidence: float) -> Estimated | None:
        if not self.tries:
            return None
        low, high = anytime_interval(self.successes, self.tries, confidence)
        return Estimated(self.successes / self.tries, low, high, proved=True)

    def _cost(self, confidence: float, known_cost: float | None) -> Estimated | None:
        if known_cost is None:
            return self.cost.estimated(confidence)
        return Estimated(known_cost, known_cost, known_cost, proved=True)

    def _per_cost(self, confidence: float, known_cost: float | None) -> Estimated | None:
        """Each of the two may be wrong half as often, where both are estimates."""
        each = confidence if known_cost is not None else (1 + confidence) / 2
        success, cost = self._success(each), self._cost(each, known_cost)
        return None if success is None or cost is None else success.per(cost)

    def to_json(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> FirstAttempts:
        """What :meth:`to_json` wrote."""
        return cls(
            RunningMean(**content["seconds"]), RunningMean(**content["cost"]), content["tries"], content["successes"]
        )

    def check(self) -> None:
        """Refuse sums that no attempts can have come to."""
        if not 0 <= self.successes <= self.tries <= MOST_TRIES:
            raise InvalidParameter(
                f"{self.successes} successes of {self.tries} tries cannot be; give counts from 0 to {MOST_TRIES:.0e}, "
                "of which successes are a part"
            )
        if self.seconds.count != self.tries:
            raise InvalidParameter(
                f"{self.seconds.count} attempts took seconds, and {self.tries} were made; every attempt takes some"
            )
        if self.cost.count > self.tries:
            raise InvalidParameter(f"{self.cost.count} attempts have a cost, and {self.tries} were made")
        _check_sums("seconds", self.seconds)
        _check_sums("cost", self.cost)


def _check_sums(name: str, kept: RunningMean) -> None:
    """Refuse a sum, or squared distances, that no numbers of at least 0 have."""
    most, count, total, squares = kept.most, kept.count, kept.total, kept.squares
    if count < 0 or not 0 <= total <= LARGEST or not 0 <= squares <= LARGEST:
        raise InvalidParameter(f"{name} has {total!r} and {squares!r} as sums; give numbers from 0 to {LARGEST:g}")
    if most is not None and not SMALLEST <= most <= LARGEST:
        raise InvalidParameter(f"{name} has most={most!r}; give a number from {SMALLEST:g} to {LARGEST:g}, or null")
    largest = math.inf if most is None else count * most * (1 + ROUNDING)
    # Without a limit numbers of at least 0 are no further from their mean than all of them together from 0.
    farthest = total**2 if most is None else count * most**2
    # With one the first is predicted to be half of it, each other to be the mean of all before and of that: then they
    # are no nearer to what was predicted than that first prediction is to their mean.
    nearest = 0.0 if most is None or not count else (most / 2 - total / count) ** 2 * count / (count + 1)
    cannot_be = total > largest or not nearest * (1 - ROUNDING) <= squares <= farthest * (1 + ROUNDING)
    if cannot_be or (count == 0 and (total or squares)):
        raise InvalidParameter(
            f"{name} has {count} numbers of at most {most!r} with the sum {total!r} and squares {squares!r}, which no "
            "numbers have; send what RunningMean keeps"
        )


def by_success_per_cost(
    firsts: Mapping[Label, FirstAttempts], known_costs: Mapping[Label, float] | None = None
) -> tuple[Label, ...] | None:
    """Options with most successes per cost first, as first attempts say; None before there is enough of each.

    >>> dear, cheap = FirstAttempts(), FirstAttempts()
    >>> for _ in range(ENOUGH):
    ...     dear.add(True, 0.1, 3.0)
    ...     cheap.add(True, 0.1, 2.0)
    >>> by_success_per_cost({"dear": dear, "cheap": cheap})
    ('cheap', 'dear')
    """
    if known_costs is not None:
        enough = all(first.tries >= ENOUGH for first in firsts.values())
        costs: dict[Label, float | None] = {label: known_costs[label] for label in firsts}
    else:
        enough = all(first.cost.count >= ENOUGH for first in firsts.values())
        costs = {label: first.cost.mean for label, first in firsts.items()}
    return tuple(sorted(firsts, key=lambda label: -firsts[label].worth(costs[label]))) if enough and firsts else None
