"""Would machine code pay for simulations of the policies that end by evidence?

First where their time goes: into the random draws, which any engine has to make; into calls, which machine code would
save; into arithmetic on arrays, which it would do otherwise. Then a prototype of LinkedElimination in numba
(``compiled_elimination``), which has the same runs. To pay is to halve a whole call of a second or more.
"""

from __future__ import annotations

from time import process_time, time

import numpy as np

import linkedbandits as lb
from benchmarks.simulation_cost import draws_timed
from linkedbandits.policy import AnyPolicy
from linkedbandits.simulation import simulate_lanes

PAYS = 2.0
REPEATS = 3
ONE_SPARSE_10, ONE_SPARSE_50 = lb.scenarios.one_sparse(10), lb.scenarios.one_sparse(50)
DECREASING_10, DECREASING_50 = lb.scenarios.decreasing(10), lb.scenarios.decreasing(50)
FIVE = np.linspace(0.6, 0.2, 5)  # whose second place is no tie
INCREASING_10, INCREASING_50 = lb.scenarios.increasing(10), lb.scenarios.increasing(50)

SHARES = (
    ("elimination, one-sparse 10", ONE_SPARSE_10, lb.LinkedElimination(0.1), "ordered", 8000),
    ("elimination, one-sparse 50", ONE_SPARSE_50, lb.LinkedElimination(0.1), "ordered", 2000),
    ("elimination, one-sparse 50, delta 0.01", ONE_SPARSE_50, lb.LinkedElimination(0.01), "ordered", 2000),
    ("elimination, increasing 50", INCREASING_50, lb.LinkedElimination(0.1), "ordered", 3000),
    ("elimination, decreasing 10", DECREASING_10, lb.LinkedElimination(0.1), "ordered", 2000),
    ("elimination, decreasing 50", DECREASING_50, lb.LinkedElimination(0.1), "ordered", 500),
    ("elimination, 3 best of increasing 10", INCREASING_10, lb.LinkedElimination(0.1, k=3), "ordered", 5000),
    ("elimination, 3 best of increasing 50", INCREASING_50, lb.LinkedElimination(0.1, k=3), "ordered", 1000),
    ("track-and-stop, one-sparse 50", ONE_SPARSE_50, lb.LinkedTrackAndStop(0.1), "ordered", 1000),
    ("lead, odds ratio 2.1, one-sparse 50", ONE_SPARSE_50, lb.LinkedLead(0.1, odds_ratio=2.1), "ordered", 4000),
    ("lead, gap 0.05, one-sparse 50", ONE_SPARSE_50, lb.LinkedLead(0.1, gap=0.05), "ordered", 10_000),
    ("duels, one-sparse 50", ONE_SPARSE_50, lb.LinkedDuels(0.1), "free", 1000),
)
PROTOTYPE = (
    ("one-sparse 10", ONE_SPARSE_10, 8000),
    ("one-sparse 50", ONE_SPARSE_50, 2000),
    ("increasing 50", INCREASING_50, 3000),
    ("decreasing 10", DECREASING_10, 2000),
    ("decreasing 50", DECREASING_50, 500),
)


def main() -> None:
    shares()
    prototype()


def shares() -> None:
    print("seconds of a simulation; share of draws, of calls (steps times what a step of one lane takes), of the rest;")
    print("and how many times as fast it would be if all but the draws took no time")
    for name, means, policy, linkage, trials in SHARES:
        with draws_timed() as draws:
            total, steps = seconds_and_steps(means, policy, linkage, trials)
        alone = np.array([seconds_and_steps(means, policy, linkage, 1, seed) for seed in range(3)])
        calls = steps * alone[:, 0].sum() / alone[:, 1].sum() / total
        drawn = draws[0] / total
        print(
            f"  {name:40} {trials:6,} trials {total:6.2f} s   draws {drawn:4.0%}   calls {calls:4.0%}   "
            f"arithmetic {max(1 - drawn - calls, 0):4.0%}   at most {1 / drawn:.1f}",
            flush=True,
        )


def seconds_and_steps(means, policy: AnyPolicy, linkage: str, trials: int, seed: int = 1) -> tuple[float, int]:
    """Of one simulation, and how often its lanes, as many as run side by side, were asked what they want."""
    steps = [0]

    def count(*_) -> None:
        steps[0] += 1

    lanes = np.broadcast_to(means, (trials, means.size))
    start = process_time()
    simulate_lanes(lanes, policy, linkage=linkage, seed=seed, watch=count)
    return process_time() - start, steps[0]


def prototype() -> None:
    try:
        from benchmarks import compiled_elimination  # here, because the shares above need no numba
    except ModuleNotFoundError as error:
        print(f"no prototype: {error.name} is not installed")
        return
    start = time()
    compiled_elimination.simulate(ONE_SPARSE_10, 0.1, trials=10, seed=1)
    print(f"LinkedElimination in machine code, times as fast (pays from {PAYS:g}); compiled in {time() - start:.1f} s")
    for delta in (0.1, 0.01):
        for name, means, trials in PROTOTYPE:
            compared(f"{name}, delta {delta:g}", means, delta, trials, compiled_elimination.simulate)


def compared(name: str, means, delta: float, trials: int, in_machine_code) -> None:
    plain, compiled, draws = [], [], []
    for _ in range(REPEATS):
        start = process_time()
        runs = lb.simulate(means, lb.LinkedElimination(delta), trials=trials, seed=1)
        between = process_time()
        found = in_machine_code(means, delta, trials, seed=1)
        plain.append(between - start)
        compiled.append(process_time() - between)
        draws.append(found.draws)
    same = (runs.plays == found.plays) & (runs.samples == found.samples).all(axis=1) & (runs.top[:, 0] == found.arm)
    gain = min(plain) / min(compiled)
    print(
        f"  {name:28} {trials:6,} trials   numpy {min(plain):5.2f} s   compiled {min(compiled):5.2f} s   {gain:.2f}   "
        f"but for draws {(min(plain) - min(draws)) / (min(compiled) - min(draws)):.2f}   same runs {same.mean():.4f}",
        flush=True,
    )
