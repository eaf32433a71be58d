"""Against the field: plays and wrong answers of our rules beside others', and who has a proof.

Claim: no rule with a proof is wrong significantly more often than delta (lower 99.9 % limit of its wrong answers).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log, sqrt

import numpy as np

import linkedbandits as lb
from benchmarks import field_rules as rules
from benchmarks.field_checks import check_rules
from benchmarks.instances import random_means
from linkedbandits.intervals import share_interval
from linkedbandits.model import FloatArray
from linkedbandits.policy import AnyPolicy
from tools.claims import Claims

DELTAS = (0.1, 0.01, 1e-6)
TRIALS = {0.1: 1000, 0.01: 1000, 1e-6: 300}
TRIALS_ONE_BY_ONE = {0.1: 400, 0.01: 400, 1e-6: 100}
"""Of the rules that look after every sample, which take long to simulate."""
MOST_PLAYS = 10**9
LARGEST_ODDS_RATIO = 10.0
"""What is told where the best arm always succeeds, so that its odds are infinite."""

CAPTION = f"""\
Mean plays, ± the half-width of their 95 % interval in percent; in brackets the wrong answers, if
there were any. Proof: yes, no, or told: proved if the difference that the rule is told is true.
Trials at delta 0.1, 0.01 and 1e-6: {", ".join(map(str, TRIALS.values()))}; \
of the rules marked 1: {", ".join(map(str, TRIALS_ONE_BY_ONE.values()))}.
Seconds (s) are of processor time, for the three deltas together.
Rules marked 2 ask for one sample at a time. Under ordered that is a play of this arm alone, as it
is under single: so the figures are the same, and not simulated again. The others ask for samples of
several arms at once, and plays bring samples of several.
A run that needs more than {MOST_PLAYS:,} plays is cut off: then a > stands before the mean, and
how many there were behind it.
"""


def instances() -> dict[str, FloatArray]:
    return {
        "Garivier-Kaufmann 1: .5 .45 .43 .4": np.array([0.5, 0.45, 0.43, 0.4]),
        "Garivier-Kaufmann 2: .3 .21 .2 .19 .18": np.array([0.3, 0.21, 0.2, 0.19, 0.18]),
        "evenly spread: ten from .1 to .9": np.linspace(0.1, 0.9, 10),
        "one-sparse, n=10": lb.scenarios.one_sparse(10),
        "increasing, n=10": lb.scenarios.increasing(10),
        "decreasing, n=10": lb.scenarios.decreasing(10),
        **{
            f"random {number}: " + " ".join(f"{mean:.3f}".lstrip("0") for mean in random_means(5, number)): (
                random_means(5, number)
            )
            for number in range(3)
        },
    }


@dataclass(frozen=True)
class Rule:
    """A row of the table. ``make`` is given delta, and the odds ratio and the gap of the best arm and the second."""

    name: str
    proof: str
    make: Callable[[float, float, float], AnyPolicy]
    one_by_one: bool = False
    one_arm: bool = False

    @property
    def title(self) -> str:
        return self.name + " 1" * self.one_by_one + " 2" * self.one_arm

    def trials(self, delta: float) -> int:
        return (TRIALS_ONE_BY_ONE if self.one_by_one else TRIALS)[delta]


def top_two(refutes: rules.Refutes) -> Callable[[float, float, float], AnyPolicy]:
    return lambda delta, odds_ratio, gap: rules.TopTwo(delta, refutes)


RULES = (
    Rule("LinkedElimination", "yes", lambda delta, odds_ratio, gap: lb.LinkedElimination(delta)),
    Rule("LinkedTrackAndStop", "yes", lambda delta, odds_ratio, gap: lb.LinkedTrackAndStop(delta)),
    Rule("LinkedLead, odds ratio", "told", lambda delta, odds_ratio, gap: lb.LinkedLead(delta, odds_ratio=odds_ratio)),
    Rule("LinkedLead, gap", "told", lambda delta, odds_ratio, gap: lb.LinkedLead(delta, gap=gap)),
    Rule("top-two, usual", "no", top_two(rules.usual), one_by_one=True, one_arm=True),
    Rule("top-two, K.-Koolen", "yes", top_two(rules.kaufmann_koolen), one_by_one=True, one_arm=True),
    Rule("top-two, KT", "yes", top_two(rules.krichevsky_trofimov), one_by_one=True, one_arm=True),
    Rule(
        "equal, KT",
        "yes",
        lambda delta, odds_ratio, gap: rules.Equal(delta, rules.krichevsky_trofimov),
        one_by_one=True,
    ),
    Rule("KL-LUCB", "yes", lambda delta, odds_ratio, gap: rules.KLLUCB(delta), one_by_one=True, one_arm=True),
    Rule("Levin-Robbins", "told", lambda delta, odds_ratio, gap: rules.LevinRobbins(delta, odds_ratio)),
)


@dataclass(frozen=True)
class Cell:
    """What the runs of a rule on an instance at a delta came to; a run that was cut off has no answer."""

    mean: float
    half_width: float
    wrong: int
    trials: int
    cut_off: int
    seconds: float

    def __str__(self) -> str:
        shown = f"{self.mean:,.0f}" if self.mean < 1e6 else f"{self.mean / 1e3:,.0f}k"
        shown += f" ±{100 * self.half_width / self.mean:.1f}%"
        if self.wrong:
            shown += f" ({self.wrong})"
        return f">{shown}, {self.cut_off} cut off" if self.cut_off else shown


def short(delta: float) -> str:
    return f"{delta:g}".replace("e-0", "e-")


def told(means: FloatArray) -> tuple[float, float]:
    """The odds ratio and the gap of the best arm and the second."""
    second, first = np.sort(means)[-2:].tolist()
    odds_ratio = first * (1 - second) / (second * (1 - first)) if first < 1 else inf
    return min(odds_ratio, LARGEST_ODDS_RATIO), first - second


def measure(rule: Rule, means: FloatArray, delta: float, linkage: str) -> Cell:
    trials = rule.trials(delta)
    start = time.process_time()
    runs = lb.simulate(
        means, rule.make(delta, *told(means)), linkage=linkage, trials=trials, seed=11, max_plays=MOST_PLAYS
    )
    return Cell(
        mean=float(runs.plays.mean()),
        half_width=1.96 * float(runs.plays.std(ddof=1)) / sqrt(trials),
        wrong=int((runs.confident & ~runs.correct).sum()),
        trials=trials,
        cut_off=int((~runs.confident).sum()),
        seconds=time.process_time() - start,
    )


class Table:
    """All cells: shown row by row as they are measured, and summed up in the end."""

    def __init__(self) -> None:
        self.claims = Claims()
        self._cells: dict[tuple[str, str, str, float], Cell] = {}
        self._least: dict[tuple[str, str, float], float] = {}

    def show(self, instance: str, means: FloatArray, linkage: str) -> None:
        print(f"\n**{instance}; {linkage}**\n")
        self._heading("rule", "proof", *map(short, DELTAS), "s")
        least = {delta: lb.bounds.lower(means, delta, linkage) for delta in DELTAS}
        self._least.update({(instance, linkage, delta): plays for delta, plays in least.items()})
        self._row("no rule that is not told beats", "", *(f"{plays:,.0f}" for plays in least.values()), "")
        for rule in RULES:
            again = rule.one_arm and linkage != "single"
            for delta in DELTAS:
                known = self._cells[rule.name, instance, "single", delta] if again else None
                cell = known or measure(rule, means, delta, linkage)
                self._cells[rule.name, instance, linkage, delta] = cell
                self._judge(rule, cell, f"{instance}, {linkage}", delta)
            cells = [self._cells[rule.name, instance, linkage, delta] for delta in DELTAS]
            self._row(rule.title, rule.proof, *cells, "" if again else f"{sum(cell.seconds for cell in cells):.1f}")

    def _judge(self, rule: Rule, cell: Cell, where: str, delta: float) -> None:
        low, _ = share_interval(cell.wrong, cell.trials, confidence=0.998)
        self.claims.check(
            rule.proof == "no" or low <= delta,
            f"{rule.name} is wrong at most {delta:g} of the time: {cell.wrong} of {cell.trials} on {where}",
        )

    def sum_up(self) -> None:
        print("\n**Summary.** Plays over what no rule that is not told can beat, the geometric mean over instances")
        print("(> where runs were cut off); wrong answers and seconds in all.\n")
        columns = [(linkage, delta) for linkage in ("single", "ordered") for delta in DELTAS]
        heads = [f"{linkage} {short(delta)}" if delta == DELTAS[0] else short(delta) for linkage, delta in columns]
        self._heading("rule", "proof", *heads, "wrong", "s")
        for rule in RULES:
            mine = {key: cell for key, cell in self._cells.items() if key[0] == rule.name}
            ratios = [self._ratio(mine, linkage, delta) for linkage, delta in columns]
            own = [cell for key, cell in mine.items() if not (rule.one_arm and key[2] != "single")]
            wrong, trials = sum(cell.wrong for cell in own), sum(cell.trials for cell in own)
            seconds = sum(cell.seconds for cell in own)
            self._row(rule.title, rule.proof, *ratios, f"{wrong}/{trials:,}", f"{seconds:.0f}")

    def _ratio(self, cells: dict[tuple[str, str, str, float], Cell], linkage: str, delta: float) -> str:
        there = {key[1]: cell for key, cell in cells.items() if key[2:] == (linkage, delta)}
        logarithms = [log(cell.mean / self._least[name, linkage, delta]) for name, cell in there.items()]
        return ">" * any(cell.cut_off for cell in there.values()) + f"{np.exp(np.mean(logarithms)):.2f}"

    @staticmethod
    def _row(*cells: object) -> None:
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)

    @classmethod
    def _heading(cls, first: str, second: str, *others: str) -> None:
        cls._row(first, second, *others)
        print("|---|---|" + "--:|" * len(others))


def main() -> None:
    check_rules()
    print(CAPTION, end="")
    table = Table()
    for instance, means in instances().items():
        for linkage in ("single", "ordered"):
            table.show(instance, means, linkage)
    table.sum_up()
    print()
    table.claims.report()
