"""Duels: right under every kind of dependence, and cheap to simulate and to play.

Claims, at delta 0.05: on 40 generated laws of requests all runs end, and the chance to be wrong is below delta with
99 % confidence on each. On independent arms .3 .21 .2 .19 .18 at delta 0.1 at most 1,050 plays. A simulation takes at
most 6 times its random draws; ask with tell at most 1.5 times what it takes LinkedElimination under ``free``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

import numpy as np
from scipy.stats import beta

import linkedbandits as lb
from benchmarks.real import CASES
from linkedbandits.joint_worlds import KindsOfRequests
from linkedbandits.streams import LaneStreams
from tools.claims import CONFIDENCE, Claims, mark_over

DELTA = 0.05
TRIALS = 2000
INDEPENDENT = (0.3, 0.21, 0.2, 0.19, 0.18)
INDEPENDENT_DELTA = 0.1
MOST_PLAYS = 1050
MOST_OVER_DRAWS = 6.0
SLOWEST_PLAY = 1.5


def generated() -> Iterator[tuple[str, KindsOfRequests]]:
    """Forty laws under which options depend on each other, in ways that are as different as may be."""
    rng = np.random.default_rng(1)
    for number in range(10):
        options = int(rng.integers(2, 6))
        rows = np.array([[(row >> option) & 1 for option in range(options)] for row in range(2**options)])
        yield f"any joint law of {options} options", apart(rows, rng, sparse=number % 2 == 0)
    for number in range(10):
        means = np.sort(rng.uniform(0.1, 0.9, int(rng.integers(2, 7))))[::-1]
        means[0] = min(means[1] + 0.08, 0.97)
        correlation = (0.1, 0.3, 0.5, 0.8, 0.99)[number % 5]
        yield f"shared difficulty {correlation}", lb.SharedDifficulty(rng.permutation(means), correlation)
    for number in range(8):
        means = rng.permutation([0.6, 0.5, 0.45, 0.3])
        against = rng.choice(4, size=1 + number % 3, replace=False).tolist()
        yield f"antithetic, {len(against)} against the others", lb.SharedDifficulty(means, 0.9, against)
    for options in (2, 3, 4, 5):
        shares = np.linspace(1.3, 0.9, options)
        yield "each request is served by just one", lb.OutcomeTable(np.eye(options, dtype=int), counts=shares)
        # The best serves what the second does and a little more, and so on: failures are nested.
        nested = np.tril(np.ones((options, options), dtype=int))[:, ::-1]
        yield "nested failures", lb.OutcomeTable(nested, counts=np.full(options, 0.1).cumsum()[::-1])
    for mean in (0.02, 0.98, 0.5, 0.3):
        # Two options differ on few requests, or the best rescues only where the other two have both failed.
        rows = [[1, 1, 1], [0, 0, 0], [1, 0, 0], [0, 1, 1]]
        yield "rare differences", lb.OutcomeTable(rows, counts=[mean, 1 - mean, 0.03, 0.005])


def apart(rows: np.ndarray, rng: np.random.Generator, *, sparse: bool) -> KindsOfRequests:
    """Weights at random until the best option is ahead by a little: nearly tied ones cost without bound."""
    while True:
        table = lb.OutcomeTable(rows, counts=rng.dirichlet(np.full(len(rows), 0.2 if sparse else 1.0)))
        second, first = np.sort(table.means)[-2:]
        if first - second > 0.04:
            return table


def main() -> None:
    claims = Claims()
    validity(claims)
    economy(claims)
    simulation_cost()
    ask_and_tell()
    claims.report()


def validity(claims: Claims) -> None:
    laws = list(generated())
    print(f"{len(laws)} laws, {TRIALS:,} runs each, delta {DELTA:g}: wrong, and its upper 99 % limit (below delta)")
    worst = 0.0
    for name, law in laws:
        world = law.world(TRIALS, seed=7)
        runs = lb.simulate(law.means, lb.LinkedDuels(DELTA), linkage="free", world=world, trials=TRIALS, seed=7)
        wrong = int((~runs.correct).sum())
        limit = 1.0 if wrong == TRIALS else float(beta.ppf(CONFIDENCE, wrong + 1, TRIALS - wrong))
        worst = max(worst, limit)
        undecided = int((~runs.confident).sum())
        claims.check(undecided == 0, f"every run ends: {undecided:,} of {TRIALS:,} did not on {name}")
        claims.check(
            limit < DELTA, f"wrong in less than {DELTA:g} with {CONFIDENCE:.0%} confidence: {limit:.4f} on {name}"
        )
        print(f"  {name:40} {runs.plays.mean():9,.0f} plays   {wrong:3} wrong   {limit:.4f}", flush=True)
    print(f"the largest limit is {worst:.4f}")


def economy(claims: Claims) -> None:
    delta = INDEPENDENT_DELTA
    runs = lb.simulate(INDEPENDENT, lb.LinkedDuels(delta), linkage="free", trials=TRIALS, seed=1)
    plays, wrong = float(runs.plays.mean()), runs.error_rate()
    least = lb.bounds.lower_joint(lb.SharedDifficulty(INDEPENDENT, correlation=0), delta).plays
    print(
        f"independent arms {INDEPENDENT}, delta {delta:g}: {plays:,.0f} plays (at most {MOST_PLAYS:,}), "
        f"{plays / least:.1f} times what no policy can beat, {wrong:.1%} wrong"
    )
    claims.check(plays <= MOST_PLAYS, f"at most {MOST_PLAYS:,} plays on independent arms: {plays:,.0f}")
    claims.check(wrong <= delta, f"wrong in at most {delta:g} on independent arms: {wrong:.3f}")


@contextmanager
def draws_timed() -> Iterator[list[float]]:
    """Sum up the time inside numpy's multinomial generator, in the run itself."""
    spent = [0.0]
    original = LaneStreams.blocks

    class Timed:
        def __init__(self, generator):
            self._generator = generator

        def multinomial(self, trials, chances):
            start = time.perf_counter()
            drawn = self._generator.multinomial(trials, chances)
            spent[0] += time.perf_counter() - start
            return drawn

    LaneStreams.blocks = lambda self: ((Timed(generator), lanes) for generator, lanes in original(self))
    try:
        yield spent
    finally:
        LaneStreams.blocks = original


def simulation_cost() -> None:
    print(f"a simulation over its random draws (at most {MOST_OVER_DRAWS:g}):")
    for case in CASES[:4]:
        table = case.table()
        ratios = []
        for seed in range(5):
            with draws_timed() as spent:
                start = time.perf_counter()
                lb.simulate(table.means, lb.LinkedDuels(DELTA), linkage="free", world=table, trials=TRIALS, seed=seed)
                ratios.append((time.perf_counter() - start) / spent[0])
        middle = median(ratios)
        shown = f"{middle:.2f}   ({min(ratios):.2f} to {max(ratios):.2f}){mark_over(middle, MOST_OVER_DRAWS)}"
        print(f"  {case.name:45} {shown}", flush=True)


def ask_and_tell() -> None:
    print(f"ask with tell under free, LinkedDuels over LinkedElimination (at most {SLOWEST_PLAY:g}):")
    for arms in (4, 10, 100):
        ratios = []
        for _ in range(7):
            both = [seconds_a_play(policy, arms) for policy in (lb.LinkedDuels(1e-9), lb.LinkedElimination(1e-9))]
            ratios.append(both[0] / both[1])
        middle = median(ratios)
        shown = f"{middle:.2f}   ({min(ratios):.2f} to {max(ratios):.2f}){mark_over(middle, SLOWEST_PLAY)}"
        print(f"  n={arms:<4} {shown}", flush=True)


def seconds_a_play(policy, arms: int) -> float:
    """Of the processor, over some thousand plays of arms of which two tie, so that the run does not end."""
    means = np.full(arms, 0.4)
    means[:2] = 0.5
    heads = (np.random.default_rng(1).random((1000, arms)) < means).tolist()
    experiment = lb.Experiment(range(arms), policy, linkage="free")
    plays = 5000
    start = time.process_time()
    for number in range(plays):
        play = experiment.ask()
        coin = heads[number % 1000]
        experiment.tell(play.id, next((arm for arm in play.arms if coin[arm]), None))
    return (time.process_time() - start) / plays
