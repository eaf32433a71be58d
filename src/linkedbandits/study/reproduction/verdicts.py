"""From measured figures with their limits to a verdict over all numbers of arms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from math import inf, isinf

__all__ = ["Criterion", "Met", "Range", "Trend", "largest", "shown", "smallest", "summarise"]


@dataclass(frozen=True)
class Range:
    """A measured figure and its 95 % limits; a limit is infinite where runs did not finish.

    >>> Range(90, 100, 110) / Range(9, 10, 11)
    Range(low=8.181818181818182, value=10.0, high=12.222222222222221)
    >>> str(Range(90, 100, inf) / Range(9, 10, 11)), str(Range(9, 10, 11) / Range(90, 100, inf))
    ('> 8.18', '< 0.122')
    """

    low: float
    value: float
    high: float

    @classmethod
    def exact(cls, value: float) -> Range:
        """A figure without uncertainty."""
        return cls(value, value, value)

    def __truediv__(self, other: Range) -> Range:
        """The widest ratio that the limits allow; never too narrow."""
        return Range(
            self.low / other.high,
            self.value / other.value,
            inf if other.low == 0 else self.high / other.low,
        )

    def __str__(self) -> str:
        if self.low == 0 and isinf(self.high):
            return "unknown"
        if isinf(self.high):
            return f"> {shown(self.low)}"
        return f"< {shown(self.high)}" if self.low == 0 else shown(self.value)


def shown(figure: float) -> str:
    """Three digits that matter, written out while that is readable.

    >>> shown(1.6543), shown(0.0123), shown(2641.3), shown(2.6e9)
    ('1.65', '0.0123', '2,641', '2.6e+09')
    """
    return f"{figure:,.0f}" if 100 <= figure < 1e6 else f"{figure:.3g}"


def largest(*ranges: Range) -> Range:
    """The largest of several figures, with its limits."""
    return Range(*(max(getattr(part, name) for part in ranges) for name in ("low", "value", "high")))


def smallest(*ranges: Range) -> Range:
    """The smallest of several figures, with its limits."""
    return Range(*(min(getattr(part, name) for part in ranges) for name in ("low", "value", "high")))


class Met(Enum):
    """Is a criterion met? Not decided if the limits lie on both sides of it."""

    YES = "yes"
    NO = "no"
    OPEN = "not decided"


@dataclass(frozen=True)
class Criterion:
    """A figure meets it that is at least ``least`` and at most ``most``."""

    least: float = 0.0
    most: float = inf

    def met(self, figure: Range) -> Met:
        """Decide, if the limits allow it."""
        if self.least <= figure.low and figure.high <= self.most:
            return Met.YES
        return Met.NO if figure.high < self.least or self.most < figure.low else Met.OPEN


class Trend(Enum):
    """What a claim speaks of: every number of arms, or where it goes as arms grow in number."""

    EVERYWHERE = "everywhere"
    IN_THE_END = "in the end"


def summarise(answers: Mapping[int, Met], trend: Trend = Trend.EVERYWHERE) -> str:
    """The verdict, by number of arms in increasing order; undecided ones do not count.

    >>> summarise({2: Met.NO, 5: Met.OPEN, 10: Met.YES, 100: Met.YES})
    'holds from n = 10'
    >>> summarise({2: Met.YES, 5: Met.YES, 10: Met.NO})
    'holds up to n = 5'
    """
    yes = [arms for arms, answer in answers.items() if answer is Met.YES]
    no = [arms for arms, answer in answers.items() if answer is Met.NO]
    if not yes and not no:
        return "cannot be decided"
    if not no:
        return "holds"
    if yes and yes[-1] > no[-1]:
        return f"holds from n = {next(arms for arms in yes if arms > no[-1])}"
    if yes and yes[-1] < no[0] and trend is Trend.EVERYWHERE:
        return f"holds up to n = {yes[-1]}"
    return "does not hold"
