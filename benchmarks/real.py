"""What the independence of options costs in reality: every policy on outcome tables of real systems.

Requests are rows of a table, drawn at random, so that options fail together as they really did. The tables, their
sources and licences are in ``benchmarks/data``. ``make bench SECTION=real`` writes the page ``docs/real-options.md``,
``make bench SECTION=real-order`` prints the table of section 6 in ``docs/duels.md``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy.stats import beta

import linkedbandits as lb
from benchmarks.cascade_bai import CascadeBAI
from linkedbandits.bounds.joint import MOST_OPTIONS
from linkedbandits.linkage import find_linkage
from linkedbandits.policy import AnyPolicy
from linkedbandits.runs import Runs
from tools.claims import CONFIDENCE, Claims, enough_to_tell

DELTA = 0.05
TRIALS = int(os.environ.get("TRIALS", "2000"))
"""Of the policies that the figures are about; the others get a tenth."""
MOST_PLAYS = 200_000
"""A run that is longer ends undecided."""
DATA = Path(__file__).parent / "data"
PAGE = Path(__file__).parents[1] / "docs" / "real-options.md"


@dataclass(frozen=True)
class Case:
    """A table, without some of its options, and the plays that duels are allowed on it."""

    name: str
    file: str
    without: tuple[str, ...] = ()
    allowed: int | None = None

    def table(self) -> lb.OutcomeTable:
        whole = lb.OutcomeTable.read(DATA / self.file)
        return whole.only([option for option in whole.options if option not in self.without])


CASES = (
    Case("face APIs", "face-apis.csv", allowed=780),
    Case("speech APIs", "speech-apis.csv", allowed=560),
    Case("SMT solvers, NRA, without two near copies", "smt-solvers-nra.csv", ("Z3++-fixed", "2019-Par4"), allowed=2800),
    Case("coding agents", "coding-agents.csv", allowed=1150),
    Case("SMT solvers, IDL", "smt-solvers-idl.csv"),
    Case("SAT solvers", "sat-solvers.csv"),
    Case("SMT solvers, NRA, all", "smt-solvers-nra.csv"),
)

MAIN: tuple[tuple[AnyPolicy, str], ...] = (
    (lb.LinkedDuels(DELTA), "free"),
    (lb.LinkedElimination(DELTA), "single"),
    (lb.LinkedElimination(DELTA), "ordered"),
    (lb.LinkedElimination(DELTA), "free"),
)


def others(gap: float) -> Iterator[tuple[AnyPolicy, str]]:
    """All other policies that can be told delta, each under the linkages it is meant for."""
    for policy, linkages in (
        (lb.LinkedTrackAndStop(DELTA), ("ordered", "free")),
        (lb.LinkedEGE(DELTA, gap=gap), ("ordered",)),
        (lb.UniformSampling(delta=DELTA), ("ordered",)),
        (lb.MaximalSampling(delta=DELTA), ("ordered",)),
        (lb.MedianElimination(epsilon=gap, delta=DELTA), ("ordered",)),
        (lb.SuffixUCB(DELTA), ("ordered",)),
        (lb.LilUCB(DELTA), ("ordered",)),
        (CascadeBAI(DELTA, k=1), ("free",)),
        (lb.LinkedHalving(plays=2000), ("ordered", "free")),
    ):
        for linkage in linkages:
            yield policy, linkage


def orders(table: lb.OutcomeTable) -> dict[str, list[str]]:
    """Some orders that a chain may have, each named by where the best option stands in it."""
    by_mean = [table.options[option] for option in np.argsort(-table.means)]
    middle = [*by_mean[1::2], by_mean[0], *by_mean[2::2]]
    return {"last": by_mean[::-1], "first": by_mean, "in the middle": middle}


def main() -> None:
    rows = list(measured(MAIN, TRIALS, CASES))
    bound = against_the_bound(rows)
    print(bound)
    rest = [row for case in CASES[:4] for row in measured(tuple(others(gap_of(case))), max(TRIALS // 10, 20), (case,))]
    PAGE.write_text(page(rows, bound, rest), encoding="utf-8")
    print(f"written: docs/{PAGE.name}")
    check(rows)


def check(rows: list[Row]) -> None:
    """What is claimed of duels, on every table and in every order."""
    claims = Claims()
    for row in rows:
        if not row.of_duels:
            continue
        trials, where = row.runs.confident.size, f"on {row.case.name}, best option {row.best}"
        undecided, plays = trials - row.confident, float(row.runs.plays.mean())
        claims.check(undecided == 0, f"every run ends: {undecided:,} of {trials:,} did not {where}")
        if enough_to_tell(trials, DELTA):
            said = f"wrong in less than {DELTA:g} with {CONFIDENCE:.0%} confidence: {row.most:.4f} {where}"
            claims.check(row.most < DELTA, said)
        if row.case.allowed is not None:
            claims.check(plays <= row.case.allowed, f"at most {row.case.allowed:,} plays: {plays:,.0f} {where}")
    claims.report()


def gap_of(case: Case) -> float:
    second, first = np.sort(case.table().means)[-2:]
    return float(first - second)


@dataclass(frozen=True)
class Row:
    case: Case
    best: str
    policy: AnyPolicy
    linkage: str
    runs: Runs

    @property
    def wrong(self) -> int:
        return int((self.runs.confident & ~self.runs.correct).sum())

    @property
    def confident(self) -> int:
        return int(self.runs.confident.sum())

    @property
    def most(self) -> float:
        """What the chance to be wrong is below, with 99 % confidence, counting undecided runs as right."""
        trials = self.runs.confident.size
        return 1.0 if self.wrong == trials else float(beta.ppf(CONFIDENCE, self.wrong + 1, trials - self.wrong))

    @property
    def of_duels(self) -> bool:
        """Is it of the policy that has to be right and to end in any order?"""
        return self.policy.name == lb.LinkedDuels.name

    @property
    def decides(self) -> bool:
        return self.policy.status_at_stop == "confident"

    def cells(self) -> list[str]:
        """As the table has them: plays of the runs, and how many were wrong of those that were confident."""
        plays = float(self.runs.plays.mean())
        decided = f"{self.wrong:,} of {self.confident:,}" if self.decides else f"{self.runs.error_rate():.0%}, no claim"
        over = "more than " if self.decides and self.confident < self.runs.confident.size / 2 else ""
        return [self.policy.name, self.linkage, self.best, f"{over}{plays:,.0f}", decided]


def measured(policies: tuple[tuple[AnyPolicy, str], ...], trials: int, cases: tuple[Case, ...]) -> Iterator[Row]:
    for case in cases:
        whole = case.table()
        print(f"{case.name}: {', '.join(f'{mean:.3f}' for mean in sorted(whole.means, reverse=True))}", flush=True)
        for policy, linkage in policies:
            for best, order in orders(whole).items():
                chosen = find_linkage(linkage)
                ours = policy.name == lb.LinkedDuels.name  # which has to be right and to end in any order
                if best != "last" and not ours and (chosen.tries_one or not chosen.in_order):
                    continue  # the order says nothing there
                table = whole.only(order)
                start = perf_counter()
                world = table.world(trials, seed=1)
                limit = None if ours else MOST_PLAYS
                runs = lb.simulate(
                    table.means, policy, linkage=linkage, world=world, trials=trials, seed=1, max_plays=limit
                )
                row = Row(case, best, policy, linkage, runs)
                print(
                    f"  {' '.join(f'{cell:>14}' for cell in row.cells())}   wrong at most {row.most:.4f}"
                    f"   ({perf_counter() - start:.0f} s)"
                    + (f"   allowed {case.allowed}" if ours and case.allowed is not None else ""),
                    flush=True,
                )
                yield row


def against_the_bound(rows: list[Row]) -> str:
    """Plays of duels, on average over the orders, beside what no policy can beat that is right under any dependence."""
    text = "| table | options | plays | no policy needs fewer than | ratio |\n|---|--:|--:|--:|--:|\n"
    for case in dict.fromkeys(row.case for row in rows):
        plays = np.mean([row.runs.plays.mean() for row in rows if row.case is case and row.of_duels])
        table = case.table()
        bound, ratio = f"more than {MOST_OPTIONS} options", ""
        if table.means.size <= MOST_OPTIONS:
            least = lb.bounds.lower_joint(table, DELTA).plays
            bound, ratio = f"{int(least):,}", f"{plays / least:.1f}"
        text += f"| {case.name} | {table.means.size} | {plays:,.0f} | {bound} | {ratio} |\n"
    return text


def order() -> None:
    """Attempts per request in the order of the means and in the greedy order."""
    print("| table | options | served | by means | greedy | fewer |")
    print("|---|--:|--:|--:|--:|--:|")
    for case in CASES:
        table = case.table()
        options = table.means.size
        by_means = table.attempts(np.argsort(-table.means).tolist())
        greedy = table.attempts(table.greedy_order())
        cells = [
            case.name,
            f"{options}",
            f"{table.served(range(options)):.1%}",
            f"{by_means:.4f}",
            f"{greedy:.4f}",
            f"{1 - greedy / by_means:.1%}",
        ]
        print(f"| {' | '.join(cells)} |", flush=True)


def page(rows: list[Row], bound: str, rest: list[Row]) -> str:
    """The page for the documents."""
    return f"""# Benchmark on real data: providers, solvers and agents that fail together

How often are policies wrong when options fail together as real ones do, and how many plays do they take? Here requests
are drawn from tables of what real systems did. For those who choose a policy for providers, solvers, agents or
readers. The short answer is in [which policy do I need?](which-policy.md), and the proofs are in
[options that fail together](duels.md).

Policies other than `LinkedDuels` take the options of a play to be independent of each other.

## How to read the tables

- **Delta.** All policies are told delta {DELTA:g}; {TRIALS:,} runs each. A policy that keeps its promise is wrong in at
  most {DELTA:.0%} of them.
- **Plays** are means. Runs end undecided after {MOST_PLAYS:,} plays, but for those of `LinkedDuels`, which all come to
  their own end; "more than" stands where more than half of the runs were undecided then.
- **`LinkedElimination` under `single`** tries one option a play: it assumes nothing, and pays for it in plays.
- **The place of the best option** matters only under `ordered`. Where it stands last it is seen only on requests that
  all others have failed on: that is where a policy that takes options to be independent is sure and wrong. With the
  best option first it is right for the wrong reason: then it is the others that look worse than they are.

`make bench SECTION=real` measures all of it and writes this page; the tables are in
[benchmarks/data](../benchmarks/data/README.md), with their sources and licences.

## LinkedDuels and LinkedElimination on seven tables

{_tables(rows)}
## How far from the best possible

Plays of `LinkedDuels`, on average over the three orders, beside the
[lower bound](duels.md#5-lower-bound-when-options-fail-together). The bound is for policies that are wrong with
probability at most {DELTA:g} however options fail together, and that look at two options a play. It is computed for
up to {MOST_OPTIONS} options.

{bound}
## Other policies on the same tables

{max(TRIALS // 10, 20):,} runs each, on the first four tables. `LinkedEGE` and `MedianElimination` are told the
true gap. `LinkedHalving` has 2,000 plays and claims nothing: there the share of wrong runs is shown.

{_tables(rest)}"""


def _tables(rows: list[Row]) -> str:
    text = ""
    for case in dict.fromkeys(row.case for row in rows):
        means = ", ".join(f"{mean:.3f}" for mean in sorted(case.table().means, reverse=True)[:5])
        text += f"**{case.name}**, means {means}{', …' if case.table().means.size > 5 else ''}\n\n"
        text += "| policy | linkage | best option | plays | wrong of confident |\n|---|---|---|--:|--:|\n"
        text += "".join(f"| {' | '.join(row.cells())} |\n" for row in rows if row.case is case) + "\n"
    return text


if __name__ == "__main__":
    main()
