"""What is known of arms' means from the plays told so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import SupportsIndex, overload

from linkedbandits.display import Columns, WithFrames, counted, labels, number, short_repr, table, text_table
from linkedbandits.figures.options import Known
from linkedbandits.intervals import anytime_interval
from linkedbandits.model import Label


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is known of an arm's mean from all plays told so far. ``mean`` is None before the first sample.

    If the experiment began with a log, what may be read of the log is in it, whether the decision has used it yet or
    not.

    Where the policy takes arms to be independent, samples are all tries of the arm, those behind the failure of others
    among them. Where it does not, as ``LinkedDuels``, they are the tries in which the arm was the first of its play: a
    try behind a failure is no sample of its mean if arms fail together.
    """

    arm: Label
    samples: int
    successes: int
    mean: float | None
    still_in: bool

    __repr__ = short_repr

    @property
    def interval(self) -> tuple[float, float]:
        """Limits for the mean that hold at all times together, with probability 95 %."""
        return anytime_interval(self.successes, self.samples)


class Estimates(list[Estimate], WithFrames):
    """The estimates of all arms, in their order: a list that prints as a table and has frames.

    >>> Estimates([Estimate("north", 10, 4, 0.4, True), Estimate("east", 9, 0, 0.0, False)])
    arm     mean      95 % limits   samples   successes   still in
    north    0.4   0.0769 - 0.807        10           4        yes
    east       0        0 - 0.445         9           0         no
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return text_table(_HEADINGS, self._rows())

    def _repr_html_(self) -> str:
        return self.as_html(f"Estimates of {counted(len(self), 'arm')}")

    def as_html(self, title: str, *more: str) -> str:
        """The table for notebooks, under another title, and with ``more`` below it."""
        return table(title, _HEADINGS, self._rows(), *more)

    def known(self) -> list[Known]:
        """For a picture."""
        return [Known(str(each.arm), each.mean, *each.interval, each.still_in) for each in self]

    @overload
    def __getitem__(self, at: SupportsIndex) -> Estimate: ...

    @overload
    def __getitem__(self, at: slice) -> Estimates: ...

    def __getitem__(self, at: SupportsIndex | slice) -> Estimate | Estimates:
        found = super().__getitem__(at)
        return found if isinstance(found, Estimate) else Estimates(found)

    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = []
        for each in self:
            low, high = each.interval
            mean = "-" if each.mean is None else number(each.mean)
            limits = f"{low:.3g} - {high:.3g}"
            still_in = "yes" if each.still_in else "no"
            rows.append((str(each.arm), mean, limits, f"{each.samples:,}", f"{each.successes:,}", still_in))
        return rows

    def _columns(self) -> Columns:
        limits = [each.interval for each in self]
        return {
            "arm": labels(each.arm for each in self),
            "samples": [each.samples for each in self],
            "successes": [each.successes for each in self],
            "mean": [each.mean for each in self],
            "low": [low for low, _ in limits],
            "high": [high for _, high in limits],
            "still_in": [each.still_in for each in self],
        }


_HEADINGS = ("arm", "mean", "95 % limits", "samples", "successes", "still in")
