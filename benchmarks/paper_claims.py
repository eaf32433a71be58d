"""The paper's three scenarios: mean plays of its three algorithms as the number of arms grows."""

from __future__ import annotations

import linkedbandits as lb
from linkedbandits.cli.figures import count
from linkedbandits.scenarios import SCENARIOS

TRIALS = 200


def main() -> None:
    print("mean plays, delta 0.1, 200 trials; LinkedEGE is told the gap and counts plays as the paper does")
    headings = ("maximal", "uniform", "LinkedEGE", "EGE/uniform", "EGE/maximal")
    print(f"  {'scenario':12} {'n':>5} " + " ".join(f"{heading:>12}" for heading in headings))
    for name, scenario in SCENARIOS.items():
        for arms in (2, 10, 30, 100, 300):
            means = scenario(arms)
            gap = float(means.max() - sorted(means)[-2])
            plays = [
                lb.simulate(means, policy, trials=TRIALS, seed=1).summary().plays_mean
                for policy in (
                    lb.MaximalSampling(delta=0.1),
                    lb.UniformSampling(delta=0.1),
                    lb.LinkedEGE(delta=0.1, gap=gap),
                )
            ]
            maximal, uniform, ege = plays
            print(
                f"  {name:12} {arms:5} {count(maximal):>12} {count(uniform):>12} {count(ege):>12} "
                f"{ege / uniform:12.3g} {ege / maximal:12.3g}",
                flush=True,
            )
