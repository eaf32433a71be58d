"""What the paper's experiment section claims, each sentence with the criterion by which the measured table decides it.

A criterion is a figure, read off the table for every number of arms, and the limits it has to keep. It is met where the
whole 95 % band of the figure keeps them, and failed where the whole band does not. Words like "similar" need a number;
the numbers chosen are part of each claim's text. The claims about LinkedEGE are asked under both of its accountings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from linkedbandits.study.reproduction.grid import EGE, EGE_FRESH, MAXIMAL, UNIFORM
from linkedbandits.study.reproduction.verdicts import Criterion, Met, Range, Trend, largest, smallest, summarise

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CLAIMS", "Claim", "Finding", "judge"]


class Measured:
    """The table of one scenario, as claims ask it."""

    def __init__(self, table: pl.DataFrame, scenario: str, ege: str) -> None:
        """``ege`` is the accounting that stands for LinkedEGE."""
        self.ege = ege
        rows = (row for row in table.to_dicts() if row["family"] == scenario)
        self._rows: dict[tuple[int, str], dict[str, Any]] = {(row["arms"], row["policy"]): row for row in rows}

    @property
    def arms(self) -> list[int]:
        """The numbers of arms measured."""
        return sorted({arms for arms, _ in self._rows})

    def plays(self, arms: int, policy: str) -> Range:
        """Mean plays; at least those used where runs did not finish."""
        row = self._rows[arms, policy]
        return Range(row["plays_low"], row["plays_mean"], row["plays_high"] if row["confident"] == 1 else inf)

    def ratio(self, arms: int, policy: str, other: str) -> Range:
        """Plays of one policy over those of another."""
        return self.plays(arms, policy) / self.plays(arms, other)

    def growth(self, arms: int, policy: str) -> Range | None:
        """By what factor plays over the lower bound change when there are ten times as many arms.

        It is the bound for those who are told nothing, with all policies: the paper speaks of no other.
        """
        if 10 * arms not in self.arms:
            return None
        few, many = (
            self.plays(number, policy) / Range.exact(self._rows[number, policy]["lower_bound"])
            for number in (arms, 10 * arms)
        )
        return many / few

    def figure(self, arms: int, policy: str, column: str) -> Range | None:
        """A figure about samples; None where runs did not finish or an arm was never sampled."""
        row = self._rows[arms, policy]
        return None if row[column] is None or row["confident"] < 1 else Range.exact(row[column])


ReadFigure = Callable[[Measured, int], Range | None]
"""The figure of a claim at a number of arms; None where there is none."""


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper, or a part of one that can be right or wrong on its own."""

    scenario: str
    quotation: str
    question: str
    figure: str
    reading: ReadFigure
    criterion: Criterion
    trend: Trend = Trend.EVERYWHERE
    about_ege: bool = True


@dataclass(frozen=True)
class Finding:
    """A claim, one accounting of LinkedEGE, the figure at every number of arms, and what follows."""

    claim: Claim
    accounting: str | None
    figures: dict[int, Range]

    @property
    def answers(self) -> dict[int, Met]:
        """Is the criterion met, by number of arms?"""
        return {arms: self.claim.criterion.met(figure) for arms, figure in self.figures.items()}

    @property
    def verdict(self) -> str:
        """``holds``, ``holds from n = ...``, ``holds up to n = ...``, ``does not hold`` or ``cannot be decided``."""
        return summarise(self.answers, self.claim.trend)


def judge(table: pl.DataFrame) -> list[Finding]:
    """Decide every claim by the measured table; those about LinkedEGE once for each accounting."""
    findings = []
    for claim in CLAIMS:
        for ege in (EGE, EGE_FRESH) if claim.about_ege else (EGE,):
            measured = Measured(table, claim.scenario, ege)
            readings = {arms: claim.reading(measured, arms) for arms in measured.arms}
            figures = {arms: figure for arms, figure in readings.items() if figure is not None}
            findings.append(Finding(claim, ege if claim.about_ege else None, figures))
    return findings


def _growth_of_both(measured: Measured, arms: int) -> Range | None:
    grown = [measured.growth(arms, policy) for policy in (UNIFORM, measured.ege)]
    known = [growth for growth in grown if growth is not None]
    return largest(*known) if known else None


def _spread_of_both(measured: Measured, arms: int) -> Range | None:
    spreads = [measured.figure(arms, policy, "samples_spread") for policy in (UNIFORM, measured.ege)]
    known = [spread for spread in spreads if spread is not None]
    return largest(*known) if len(known) == len(spreads) else None


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "one-sparse",
        "uniform sampling and linked EGE have similar performance",
        "Do they need plays within a factor of 2 of each other?",
        "plays of LinkedEGE over plays of UniformSampling",
        lambda measured, arms: measured.ratio(arms, measured.ege, UNIFORM),
        Criterion(1 / 2, 2),
    ),
    Claim(
        "one-sparse",
        "with an optimal dependence on n",
        "With ten times as many arms, does the factor between plays and the lower bound at most double, for both?",
        "larger growth of plays over the lower bound, from n to 10 n",
        _growth_of_both,
        Criterion(0, 2),
    ),
    Claim(
        "one-sparse",
        "both of them sample arms uniformly in this scenario",
        "Does the most sampled arm get at most 1.1 times the samples of the least sampled one, with both?",
        "larger ratio of the most to the least sampled arm",
        _spread_of_both,
        Criterion(1, 1.1),
    ),
    Claim(
        "one-sparse",
        "which is the optimal strategy here",
        "Do equal samples of all arms need at most twice the plays of the best sharing, for the same evidence?",
        "price of equal samples, 1 being the best possible",
        lambda measured, arms: measured.figure(arms, UNIFORM, "allocation_price"),
        Criterion(0, 2),
        about_ege=False,
    ),
    Claim(
        "decreasing",
        "maximal sampling algorithm will sample arms at a rate proportional to \u0394\u1d62\u207b\u00b2",
        "Do samples times gap squared differ by at most a factor of 1.5 between the rivals of the best arm?",
        "largest over smallest of samples times gap squared, MaximalSampling",
        lambda measured, arms: measured.figure(arms, MAXIMAL, "gap_law_spread"),
        Criterion(0, 1.5),
        about_ege=False,
    ),
    Claim(
        "decreasing",
        "making it the optimal strategy",
        "Do samples shared out like its own need at most twice the plays of the best sharing, for the same evidence?",
        "price of MaximalSampling's sharing, 1 being the best possible",
        lambda measured, arms: measured.figure(arms, MAXIMAL, "allocation_price"),
        Criterion(0, 2),
        about_ege=False,
    ),
    Claim(
        "decreasing",
        "maximal sampling dominates the other two in this scenario",
        "Does it need fewer plays than each of the other two?",
        "plays of the better of the other two over plays of MaximalSampling",
        lambda measured, arms: smallest(
            measured.ratio(arms, UNIFORM, MAXIMAL), measured.ratio(arms, measured.ege, MAXIMAL)
        ),
        Criterion(least=1),
    ),
    Claim(
        "decreasing",
        "it is only due to the large constants in its sample complexity",
        "With ten times as many arms, does the factor between LinkedEGE's plays and the lower bound at most double?",
        "growth of LinkedEGE's plays over the lower bound, from n to 10 n",
        lambda measured, arms: measured.growth(arms, measured.ege),
        Criterion(0, 2),
    ),
    Claim(
        "decreasing",
        "As n increases, it approaches maximal sampling in its performance",
        "Does LinkedEGE in the end need at most 1.5 times the plays of MaximalSampling?",
        "plays of LinkedEGE over plays of MaximalSampling",
        lambda measured, arms: measured.ratio(arms, measured.ege, MAXIMAL),
        Criterion(0, 1.5),
        Trend.IN_THE_END,
    ),
    Claim(
        "increasing",
        "linked EGE has the best empirical performance",
        "Does it need fewer plays than each of the other two?",
        "plays of LinkedEGE over plays of the better of the other two",
        lambda measured, arms: largest(
            measured.ratio(arms, measured.ege, UNIFORM), measured.ratio(arms, measured.ege, MAXIMAL)
        ),
        Criterion(most=1),
    ),
    Claim(
        "increasing",
        "owing to its gap-dependent sampling strategy",
        "Does the closest rival of the best arm get at least twice the samples of the farthest one?",
        "samples of the closest rival over those of the farthest, LinkedEGE",
        lambda measured, arms: measured.figure(arms, measured.ege, "near_over_far"),
        Criterion(least=2),
    ),
)
