"""Mean plays over what no policy can beat, for every policy that stops by confidence, with error rates.

Of SuffixUCB the median run is shown: some of its runs take millions of times as many plays as others, and a mean is
that of the longest. ``make bench SECTION=economy ONLY=suffix-ucb`` measures some columns only.
"""

from __future__ import annotations

import os

import numpy as np

import linkedbandits as lb
from benchmarks.cascade_bai import CascadeBAI
from benchmarks.instances import random_means
from linkedbandits.linkage import LINKAGES
from linkedbandits.scenarios import SCENARIOS

DELTAS = (0.1, 1e-3, 1e-12)
ARMS = (10, 50, 200)
RANDOM_INSTANCES = 20
BY_THE_MEDIAN = ("suffix-ucb",)
ONLY = tuple(name for name in os.environ.get("ONLY", "").split(",") if name)
"""The columns to measure; all of them where none is named."""


def policies(delta: float, gap: float):
    """Policy by heading, with how many trials it gets: few where every trial is much like the next."""
    return {
        "elimination": (lb.LinkedElimination(delta), 1000),
        "track-and-stop": (lb.LinkedTrackAndStop(delta), 1000),
        "uniform": (lb.UniformSampling(delta), 20),
        "LinkedEGE": (lb.LinkedEGE(delta, gap), 20),
        "EGE fresh": (lb.LinkedEGE(delta, gap, median="fresh"), 20),
        "maximal": (lb.MaximalSampling(delta), 20),
        "suffix-ucb": (lb.SuffixUCB(delta), 200),
        "lil-ucb": (lb.LilUCB(delta), 20),
    }


def gap_of(means) -> float:
    second, first = np.sort(means)[-2:]
    return float(first - second)


def cell(ratio: float, wrong: float, ended: bool) -> str:
    shown = f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}" if ratio < 1e4 else f"{ratio:.0e}"
    return (shown if ended else f">{shown}") + (f" ({wrong:.1%})" if wrong else "")


def measure(means, policy, trials: int, delta: float, linkage: str) -> tuple[np.ndarray, float, bool]:
    """The plays of every run over the bound, the share of wrong answers, and whether what is shown is of ended runs."""
    by_the_median = isinstance(policy, lb.SuffixUCB)
    trials = max(trials // max(1, means.size // 50), 5 if by_the_median else 20)
    runs = lb.simulate(means, policy, linkage=linkage, trials=trials, seed=11)
    least = lb.bounds.lower(means, delta, linkage)
    ended = runs.confident.mean() > 0.5 if by_the_median else runs.confident.all()
    return runs.plays / least, runs.error_rate(), bool(ended)


def row(title: str, instances, delta: float, linkage: str, only: tuple[str, ...] = ()) -> None:
    cells = []
    for name in policies(0.1, 0.1):
        if (only and name not in only) or (linkage == "single" and name in ("maximal", "suffix-ucb")):
            continue
        results = []
        for means in instances:
            policy, trials = policies(delta, gap_of(means))[name]
            share = trials if len(instances) == 1 else max(trials // 10, 2)
            results.append(measure(means, policy, share, delta, linkage))
        ratios, wrong, ended = zip(*results, strict=True)
        middle = np.median(np.concatenate(ratios)) if name in BY_THE_MEDIAN else np.mean([np.mean(r) for r in ratios])
        cells.append(cell(float(middle), float(np.mean(wrong)), all(ended)))
    print(f"| {title} | {delta:g} | " + " | ".join(cells) + " |", flush=True)


def heading(names) -> None:
    print("| instance | delta | " + " | ".join(names) + " |")
    print("|---|--:|" + "--:|" * len(names))


def main() -> None:
    print("mean plays over bounds.lower, ordered linkage; in brackets the share of wrong answers, where there were any")
    print("(of suffix-ucb the plays of the median run)")
    heading([name for name in policies(0.1, 0.1) if not ONLY or name in ONLY])
    for arms in ARMS:
        for name, scenario in SCENARIOS.items():
            for delta in DELTAS:
                row(f"{name}, n={arms}", [scenario(arms)], delta, "ordered", ONLY)
        family = [random_means(arms, number) for number in range(RANDOM_INSTANCES)]
        for delta in DELTAS:
            row(f"{RANDOM_INSTANCES} random, n={arms}", family, delta, "ordered", ONLY)


def other_linkages() -> None:
    """The two policies beyond the paper under free and single, and the published peer under free."""
    shown = ("elimination", "track-and-stop")
    for linkage in ("free", "single"):
        print(f"\nlinkage {linkage}")
        heading(shown)
        for arms in (10, 50):
            for name, scenario in SCENARIOS.items():
                for delta in (0.1, 1e-12):
                    row(f"{name}, n={arms}", [scenario(arms)], delta, linkage, shown)
    print("\nplays of CascadeBAI(delta, k=1) over those of LinkedElimination, linkage free")
    for name, scenario in SCENARIOS.items():
        for arms in (10, 50):
            for delta in (0.1, 1e-12):
                peer, ours = (
                    lb.simulate(scenario(arms), policy, linkage="free", trials=trials, seed=11).plays.mean()
                    for policy, trials in ((CascadeBAI(delta, k=1), 5), (lb.LinkedElimination(delta), 100))
                )
                print(f"  {name:12} n={arms:<4} delta {delta:<6g} {peer / ours:10.0f}", flush=True)


def against_the_paper() -> None:
    """Plays of LinkedEGE (reuse) and of uniform sampling over those of LinkedElimination: the least anywhere."""
    print("least ratio of plays to those of LinkedElimination, over deltas and linkages (claims: 10 and 3)")
    for family, instances in (
        ("the paper's scenarios", [scenario(arms) for arms in (10, 50) for scenario in SCENARIOS.values()]),
        ("random instances", [random_means(arms, number) for arms in (10, 50) for number in range(5)]),
    ):
        least = dict.fromkeys(("LinkedEGE", "uniform"), np.inf)
        for linkage in LINKAGES:
            for means in instances:
                for delta in DELTAS:
                    made = policies(delta, gap_of(means))
                    plays = {
                        name: lb.simulate(means, made[name][0], linkage=linkage, trials=trials, seed=11).plays.mean()
                        for name, trials in (("elimination", 60), ("LinkedEGE", 5), ("uniform", 5))
                    }
                    least = {name: min(ratio, plays[name] / plays["elimination"]) for name, ratio in least.items()}
        print(f"  {family:22} LinkedEGE {least['LinkedEGE']:.1f}, uniform {least['uniform']:.1f}", flush=True)
