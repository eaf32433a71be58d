"""From a list of means of your own to a figure, in four steps.

Suppose five mirrors of a download are tried in order, and past logs suggest how often each of them answers. How many
requests would it take to find the best mirror, and what does being surer cost? Run it with

    python examples/from_means_to_a_figure.py [FOLDER]

(The simulated mirrors fail independently of each other, which both policies assume. If one request can make several of
yours fail together, see docs/which-policy.md.)

and look at the pictures in FOLDER/figures. Run it again: nothing is computed twice.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import linkedbandits as lb
from linkedbandits.study import Cell, Instance, Study, run_study
from linkedbandits.study.figures import draw_all

MEANS = [0.62, 0.55, 0.70, 0.40, 0.66]
DELTAS = [0.2, 0.1, 0.05, 0.01]
TRIALS = 500


def main(folder: Path) -> None:
    # 1. One run is one call, before anything larger. All figures are of exact simulations: nothing is played.
    runs = lb.simulate(MEANS, lb.LinkedElimination(delta=0.05), trials=TRIALS, seed=1)
    summary = runs.summary()
    print(f"At delta 0.05 it takes {summary.plays_mean:,.0f} requests on average; no policy can do with fewer than")
    print(f"{lb.bounds.lower(MEANS, 0.05):,.0f}. Wrong in {summary.error_rate:.1%} of {summary.trials} trials.")

    # 2. A study is a grid of such runs: here two policies at four levels of confidence.
    mirrors = Instance("mirrors", np.array(MEANS))
    cells = [
        Cell(mirrors, name, policy(delta=delta), "ordered", TRIALS)
        for name, policy in (("linked-elimination", lb.LinkedElimination), ("uniform-sampling", lb.UniformSampling))
        for delta in DELTAS
    ]
    study = Study("mirrors", seed=1, cells=tuple(cells))

    # 3. Run it on all cores. What is finished stays in the folder, whatever happens.
    results = run_study(study, folder)
    for row in results.table().sort("delta", "policy", descending=[True, False]).iter_rows(named=True):
        print(
            f"delta {row['delta']:<5} {row['policy']:<20} {row['plays_mean']:>9,.0f} plays"
            f"  {row['plays_mean'] / row['lower_bound']:5.1f} times the lower bound"
        )

    # 4. Draw everything there is data for.
    for picture in draw_all(results, folder / "figures"):
        print(f"look at {picture}")


if __name__ == "__main__":  # worker processes import this file, and must not start the study again
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "mirrors-results"))
