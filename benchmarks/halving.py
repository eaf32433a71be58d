"""How often LinkedHalving is wrong, beside uniform and maximal sampling with as many plays."""

from __future__ import annotations

import numpy as np

import linkedbandits as lb
from linkedbandits.scenarios import decreasing, increasing, one_sparse

TRIALS = 20_000
CASES = (
    ("one-sparse, n=10", one_sparse(10), (70, 100, 200, 400, 600)),
    ("one-sparse, n=10, best fifth", one_sparse(10, best=4), (70, 100, 200)),
    ("one-sparse, n=10, best last", one_sparse(10, best=9), (100, 200, 400, 600)),
    ("one-sparse, n=50", one_sparse(50), (300, 600, 1000, 1500)),
    ("decreasing, n=10", decreasing(10), (6000, 10_000, 20_000, 40_000)),
    ("decreasing, n=50", decreasing(50), (100_000, 200_000, 400_000)),
    ("increasing, n=10", increasing(10), (30, 50, 80, 120)),
    ("increasing, n=50", increasing(50), (250, 400, 800)),
)


def error_rates(means, plays: int) -> dict[str, float]:
    """Uniform sampling takes as many plays in the mean, as its plays cannot be fixed beforehand."""
    samples = int(np.ceil(plays / (1 + means[:-1].sum())))
    policies = (lb.LinkedHalving(plays), lb.UniformSampling(samples=samples), lb.MaximalSampling(plays=plays))
    return {
        policy.name: lb.simulate(means, policy, trials=TRIALS, seed=40 + seed).error_rate()
        for seed, policy in enumerate(policies)
    }


def main() -> None:
    print(
        f"share of wrong answers in {TRIALS:,} runs each, ordered linkage; the last column is LinkedHalving's less that"
    )
    print("of the better of the other two, in standard errors of the difference: above 3 it would be worse")
    print("| instance | plays | halving | uniform | maximal | difference |")
    print("|---|--:|--:|--:|--:|--:|")
    for title, means, budgets in CASES:
        for plays in budgets:
            own, *others = error_rates(means, plays).values()
            peer = min(others)
            noise = np.sqrt((own * (1 - own) + peer * (1 - peer)) / TRIALS)
            shown = " | ".join(f"{rate:.4f}" for rate in (own, *others))
            print(f"| {title} | {plays:,} | {shown} | {(own - peer) / max(noise, 1e-12):+.1f} |", flush=True)
