"""LinkedElimination on very many arms, in one lane."""

from __future__ import annotations

import resource
from time import perf_counter

import linkedbandits as lb


def main() -> None:
    print("LinkedElimination(delta=0.1), ordered, one lane (claim: 100,000 arms in minutes and under 2 GB)")
    for arms in (1_000, 10_000, 100_000):
        start = perf_counter()
        runs = lb.simulate(lb.scenarios.one_sparse(arms, best=arms // 2), lb.LinkedElimination(0.1), trials=1, seed=1)
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        right = "right" if runs.correct[0] else "wrong"
        seconds, plays = perf_counter() - start, int(runs.plays[0])
        print(f"  {arms:8,} arms {seconds:7.1f} s, {plays:,} plays, {right}; {used:.2f} GB so far")
