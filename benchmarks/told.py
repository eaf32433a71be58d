"""Told a difference that is larger than the true one: what is named, after how many plays.

Claims: every run ends; and where what was told is true, a policy with a proof is wrong at most delta of the time (the
lower 99.9 % limit of its wrong answers is not above delta).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import linkedbandits as lb
from linkedbandits.intervals import share_interval
from linkedbandits.model import FloatArray
from linkedbandits.policy import AnyPolicy
from linkedbandits.runs import Runs
from tools.claims import Claims

DELTA = 0.1
TRIALS = 2000
TRIALS_OF_MANY_ARMS = 1000
"""With 50 arms a run takes long."""
SECOND = 0.3
"""The mean of all arms but the best;"""
GAP = 0.1
"""and how far ahead the best is said to be. As an odds ratio that is the same of these two means:"""
ODDS_RATIO = (SECOND + GAP) * (1 - SECOND) / (SECOND * (1 - SECOND - GAP))
SHARES = (1.0, 0.5, 0.25, 0.1)
TRUE = "all of it"
MOST_PLAYS = 10**8
"""A run that is longer counts as one that does not end."""

CAPTION = f"""\
All arms have the mean {SECOND:g}, and the best more. Policies are told that it is ahead by {GAP:g}, or as an odds ratio
by {ODDS_RATIO:.4g}, and it is: by all of that, by a share of it, or not at all, where two or all arms tie for the
best. Delta {DELTA:g}; {TRIALS:,} trials, with 50 arms {TRIALS_OF_MANY_ARMS:,}. In every cell: wrong answers, where of
arms that tie for the best each is right; how far the mean of the arm named is below the best, on average; mean plays.
Runs that are not over after {MOST_PLAYS:,} plays are cut off there, and counted behind a >.
"""


@dataclass(frozen=True)
class Case:
    """How many arms there are, and how far ahead the best is in truth."""

    arms: int
    truth: str
    means: FloatArray

    @property
    def true(self) -> bool:
        """Is the best arm as far ahead as is told?"""
        return self.truth == TRUE

    @property
    def trials(self) -> int:
        return TRIALS if self.arms <= 10 else TRIALS_OF_MANY_ARMS


def cases() -> Iterator[Case]:
    """The best arm stands in the middle: neither are its samples the cheapest, nor the dearest."""
    for arms in (2, 10, 50):
        for share in SHARES:
            means = np.full(arms, SECOND)
            means[arms // 2] += share * GAP
            yield Case(arms, TRUE if share == 1 else f"{share:g} of it", means)
        if arms > 2:
            tied = np.full(arms, SECOND)
            tied[[arms // 2 - 1, arms // 2]] += GAP
            yield Case(arms, "two tie", tied)
        yield Case(arms, "all tie", np.full(arms, SECOND))


@dataclass(frozen=True)
class Told:
    """A column of the table: a policy, and how it is played."""

    policy: AnyPolicy
    linkage: str

    @property
    def title(self) -> str:
        told = "gap" if getattr(self.policy, "odds_ratio", None) is None else "odds ratio"
        return f"{self.policy.name}, {told}; {self.linkage}"


POLICIES = (
    *(
        Told(policy, linkage)
        for linkage in ("ordered", "single")
        for policy in (lb.LinkedLead(DELTA, odds_ratio=ODDS_RATIO), lb.LinkedLead(DELTA, gap=GAP))
    ),
    Told(lb.LinkedDuels(DELTA, gap=GAP), "free"),
    Told(lb.LinkedEGE(DELTA, gap=GAP), "ordered"),
)


def below_best(runs: Runs) -> float:
    """By how much the mean of the arm that is named is below the best, on average."""
    return float((runs.means.max() - runs.means[runs.arm]).mean())


def main() -> None:
    claims = Claims()
    print(CAPTION)
    print("| arms | ahead by | " + " | ".join(told.title for told in POLICIES) + " |")
    print("|--:|---|" + "--:|" * len(POLICIES))
    runs = ended = 0
    for case in cases():
        print(f"| {case.arms} | {case.truth}", end="", flush=True)
        for told in POLICIES:
            found = lb.simulate(
                case.means, told.policy, linkage=told.linkage, trials=case.trials, seed=11, max_plays=MOST_PLAYS
            )
            judge(claims, told, case, found)
            runs, ended = runs + case.trials, ended + int(found.confident.sum())
            print(f" | {shown(found)}", end="", flush=True)
        print(" |")
    print(f"\nOf {runs:,} runs {'all' if ended == runs else f'{ended:,}'} ended by themselves.")
    claims.report()


def judge(claims: Claims, told: Told, case: Case, runs: Runs) -> None:
    """Every run ends, and where what was told is true, few are wrong."""
    where = f"{told.title}, {case.arms} arms, {case.truth}"
    undecided, wrong = int((~runs.confident).sum()), int((~runs.correct).sum())
    claims.check(undecided == 0, f"every run ends: {undecided:,} of {case.trials:,} did not, {where}")
    low, _ = share_interval(wrong, case.trials, confidence=0.998)
    claims.check(
        not case.true or told.policy.error_bound is None or low <= DELTA,
        f"wrong at most {DELTA:g} of the time where what was told is true: {wrong:,} of {case.trials:,}, {where}",
    )


def shown(runs: Runs) -> str:
    """Wrong answers, how far the arm named is below the best on average, and mean plays; and runs that did not end."""
    undecided = int((~runs.confident).sum())
    plays = f"> {runs.plays.mean():,.0f} ({undecided} endless)" if undecided else f"{runs.plays.mean():,.0f}"
    return f"{(~runs.correct).mean():.1%}, {below_best(runs):.4f}, {plays}"
