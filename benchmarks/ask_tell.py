"""The median play of a live experiment: ask and tell in one process, without the caller's own work."""

from __future__ import annotations

from time import perf_counter

import numpy as np

import linkedbandits as lb
from benchmarks.cascade_bai import CascadeBAI
from linkedbandits.linkage import LINKAGES

PLAYS = 10_000


def median_play(policy, linkage: str, arms: int) -> float:
    """Microseconds."""
    rng = np.random.default_rng(1)
    heads = (rng.random((1000, arms)) < lb.scenarios.one_sparse(arms)).tolist()
    exp = lb.Experiment(range(arms), policy, linkage=linkage)
    seconds = []
    for number in range(PLAYS):
        if exp.done:
            break
        start = perf_counter()
        play = exp.ask()
        asked = perf_counter()
        coin = heads[number % 1000]
        hit = next((arm for arm in play.arms if coin[arm]), None)
        answered = perf_counter()
        exp.tell(play.id, hit)
        seconds.append(asked - start + perf_counter() - answered)
    return 1e6 * float(np.median(seconds))


def main() -> None:
    print("ask + tell, median play in microseconds (claim: at most 20 at n=10, 60 at n=1000)")
    print(f"  {'policy':22} {'linkage':8} {'n=10':>6} {'n=1000':>7}")
    for policy in (
        lb.LinkedElimination(delta=0.1),
        lb.LinkedTrackAndStop(delta=0.1),
        lb.LinkedHalving(plays=PLAYS),
        lb.UniformSampling(delta=0.1),
        lb.LinkedEGE(delta=0.1, gap=0.05),
        lb.LinkedEGE(delta=0.1, gap=0.05, median="fresh"),
        lb.MedianElimination(epsilon=0.05, delta=0.1),
        lb.MaximalSampling(delta=0.1),
        lb.SuffixUCB(delta=0.1),
        lb.LilUCB(delta=0.1),
        CascadeBAI(delta=0.1, k=1),
    ):
        for linkage in LINKAGES.values():
            if linkage.allows(policy.asks):
                small, large = (median_play(policy, linkage.name, arms) for arms in (10, 1000))
                print(f"  {policy.name:22} {linkage.name:8} {small:6.1f} {large:7.1f}")
