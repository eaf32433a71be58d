"""Fallback chains after a change: how soon the new best is served, and how often a verdict is reopened for nothing.

Options fail together: on half of the requests one number decides for all of them. ``RUNS=500`` simulates that many runs
of a million calls without a change, ``CALLS=1000000`` makes as many calls of a real chain.

Claims: after the best has dropped by 0.2 the chain comes to the verdict for the new best, and serves it, within twice
the plays that a fresh experiment needs, in the mean; plays are plays and watched calls, and the same holds for all
calls. Without a change less than 1 % of runs of a million calls are reopened, with 99 % confidence.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta, binom

import linkedbandits as lb
from linkedbandits.attempts.alarms import level_of
from linkedbandits.chain.drift import BLOCK, Drift
from tools.claims import CONFIDENCE, Claims

DELTA = 0.05
ALPHA = 0.01
SEEDS = 16
SERVED = 10_000
FEW_SERVED = 300
"""Soon after the verdict a change takes longer to be seen, as little is known of what was before: no claim there."""
TOGETHER = 0.5
MOST = 2.0
RUNS = int(os.environ.get("RUNS", "500"))
CALLS = int(os.environ.get("CALLS", "1000000"))
WATCHED = 0.05
CASES = {
    "three options": ((0.8, 0.7, 0.55), (0.6, 0.7, 0.55)),
    "four good options": ((0.95, 0.87, 0.8, 0.7), (0.75, 0.87, 0.8, 0.7)),
    "six options": ((0.6, 0.5, 0.45, 0.4, 0.3, 0.2), (0.4, 0.5, 0.45, 0.4, 0.3, 0.2)),
}


class World:
    """Options with means that can be changed, which fail together."""

    def __init__(self, means: tuple[float, ...], seed: int) -> None:
        self.means = {f"option {number}": mean for number, mean in enumerate(means)}
        self._luck = random.Random(seed)

    def request(self) -> Callable[[str], bool]:
        """What the options do on a request."""
        luck = self._luck.random
        common = luck() if luck() < TOGETHER else None
        return lambda label: (luck() if common is None else common) < self.means[label]

    def options(self) -> dict[str, Callable[[Callable[[str], bool]], str]]:
        """As functions of a request."""

        def option(label: str) -> Callable[[Callable[[str], bool]], str]:
            def attempt(request: Callable[[str], bool]) -> str:
                if not request(label):
                    raise ConnectionError(label)
                return label

            return attempt

        return {label: option(label) for label in self.means}

    def best(self) -> str:
        """The option with the highest mean."""
        return max(self.means, key=self.means.__getitem__)


@dataclass
class Spent:
    """What it took from the change on, and what a fresh experiment takes."""

    calls: int
    plays: int
    until_noticed: int
    fresh: int
    wrong: bool


def call(chain: lb.Chain, world: World) -> None:
    with suppress(lb.ChainFailed):
        chain(world.request())


def spent(before: tuple[float, ...], after: tuple[float, ...], seed: int, served: int) -> Spent:
    """A change after so many served calls, beside an experiment that begins with the new means."""
    world = World(before, seed)
    chain = lb.Chain(world.options(), delta=DELTA, seed=seed)
    while chain.verdict() is None:
        call(chain, world)
    for _ in range(served):
        call(chain, world)
    world.means = dict(zip(world.means, after, strict=True))
    began, experiments, noticed = chain.status(), len(chain.history), 0
    while len(chain.history) == experiments or chain.verdict() is None:
        call(chain, world)
        if not noticed and len(chain.history) > experiments:
            noticed = chain.status().calls - began.calls
    now = chain.status()
    fresh_world = World(after, seed + 1000)
    fresh = lb.Chain(fresh_world.options(), delta=DELTA, seed=seed + 1000)
    while fresh.verdict() is None:
        call(fresh, fresh_world)
    return Spent(
        now.calls - began.calls,
        now.plays + now.watched - began.plays - began.watched,
        noticed,
        fresh.status().plays,
        chain.order[0] != world.best(),
    )


def drift(claims: Claims, served: int) -> None:
    print(f"the best drops by 0.2 after {served:,} served calls; means over {SEEDS} runs, delta {DELTA:g}")
    print(f"  {'':20} noticed after   calls   plays   fresh   plays over fresh (at most {MOST:g})   calls over fresh")
    for name, (before, after) in CASES.items():
        runs = [spent(before, after, seed, served) for seed in range(SEEDS)]
        calls, plays, noticed, fresh = (
            float(np.mean([getattr(run, field) for run in runs]))
            for field in ("calls", "plays", "until_noticed", "fresh")
        )
        wrong = sum(run.wrong for run in runs)
        print(
            f"  {name:20} {noticed:13,.0f} {calls:7,.0f} {plays:7,.0f} {fresh:7,.0f} {plays / fresh:10.2f} {'':23} "
            f"{calls / fresh:16.2f}   {wrong} wrong",
            flush=True,
        )
        likely = binom.isf(1 - CONFIDENCE, SEEDS, DELTA)  # of a chance of delta
        claims.check(wrong <= likely, f"the new best is served: {wrong} of {SEEDS} runs serve another with {name}")
        claims.check(plays <= MOST * fresh, f"plays at most {MOST:g} times fresh: {plays / fresh:.2f} with {name}")
        claims.check(calls <= MOST * fresh, f"calls at most {MOST:g} times fresh: {calls / fresh:.2f} with {name}")


def simulated_reopens(means: tuple[float, ...], calls: int, seed: int) -> bool:
    """Is a run without a change reopened? Blocks of first attempts go to what watches, as a chain feeds it.

    The best has all calls but the watched ones, the others share those. Every change counts, whether it speaks
    against the verdict or not, as it does before there is one; so this is more than what happens.
    """
    rng = np.random.default_rng(seed)
    watcher = Drift(range(len(means)), level_of(ALPHA, 0, 1.0))
    shares = [1 - WATCHED] + [WATCHED / (len(means) - 1)] * (len(means) - 1)
    for option, (mean, share) in enumerate(zip(means, shares, strict=True)):
        coin = watcher.coins[option]
        for worked in rng.binomial(BLOCK, mean, int(calls * share) // BLOCK).tolist():
            coin.add(worked, BLOCK - worked)
            if coin.alarm("falls") is not None or coin.alarm("rises") is not None:
                return True
    return False


def no_drift(claims: Claims) -> None:
    means = CASES["three options"][0]
    reopened = sum(simulated_reopens(means, 1_000_000, seed) for seed in range(RUNS))
    limit = float(beta.ppf(CONFIDENCE, reopened + 1, RUNS - reopened)) if reopened < RUNS else 1.0
    print(
        f"without a change, {RUNS:,} simulated runs of a million calls: {reopened} reopened; upper "
        f"{CONFIDENCE:.0%} limit {limit:.4f} (below {ALPHA:g})",
        flush=True,
    )
    claims.check(limit < ALPHA, f"reopened in less than {ALPHA:g} of runs: the limit is {limit:.4f}")
    world = World(means, 1)
    chain = lb.Chain(world.options(), delta=DELTA)
    for _ in range(CALLS):
        call(chain, world)
    status = chain.status()
    print(f"a real chain, {status.calls:,} calls: reopened {status.reopened} times, verdict {status.verdict}")


def main() -> None:
    claims = Claims()
    drift(claims, SERVED)
    drift(Claims(), FEW_SERVED)
    no_drift(claims)
    claims.report()
