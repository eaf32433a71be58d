"""Fallback chains: how often the order is right, at the verdict and when calls have gone on.

The first place is proved with the verdict; the places behind it are estimates that get better with calls which the
first option fails. Options are independent, but for "a twin": there the second-best mostly fails with the best, so that
others should come before it.

Claims: the first place is right but for a share of delta, and 10,000 calls after the verdict the second place is right
in nine of ten chains.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress

from scipy.stats import binom

import linkedbandits as lb
from tools.claims import CONFIDENCE, Claims

DELTA = 0.05
SEEDS = 30
MORE = (2_000, 8_000)
"""Calls after the verdict, until one looks again."""
TOGETHER = 0.8
"""Of what the best fails on, the share that its twin fails on too."""
CASES: dict[str, tuple[tuple[float, ...], tuple[int, ...]]] = {
    "three": ((0.9, 0.75, 0.6), (0, 1, 2)),
    "three, seldom": ((0.6, 0.4, 0.25), (0, 1, 2)),
    "four": ((0.85, 0.75, 0.65, 0.5), (0, 1, 2, 3)),
    "four, close": ((0.9, 0.8, 0.7, 0.6), (0, 1, 2, 3)),
    "three, a twin": ((0.8, 0.7, 0.6), (0, 2, 1)),
    "four, a twin": ((0.85, 0.8, 0.7, 0.6), (0, 2, 3, 1)),
}
"""Means, and the order that is best."""


def orders(means: tuple[float, ...], twin: bool, seed: int) -> list[tuple[int, ...]]:
    """At the verdict, and after more calls."""
    luck = random.Random(seed)

    def option(number: int) -> Callable[[list[bool]], int]:
        def attempt(works: list[bool]) -> int:
            if not works[number]:
                raise ConnectionError
            return number

        return attempt

    def call() -> None:
        works = [luck.random() < mean for mean in means]
        if twin and not works[0] and luck.random() < TOGETHER:
            works[1] = False
        with suppress(lb.ChainFailed):
            chain(works)

    given = list(range(len(means)))
    luck.shuffle(given)
    chain = lb.Chain({number: option(number) for number in given}, delta=DELTA, seed=seed)
    while chain.verdict() is None:
        call()
    found = [chain.order]
    for calls in MORE:
        for _ in range(calls):
            call()
        found.append(chain.order)
    return [tuple(int(label) for label in order) for order in found]


def main() -> None:
    """All of it."""
    claims = Claims()
    print(f"chains of {SEEDS} whose first, second and all places are right: at the verdict, and so many calls later")
    print(f"  {'':16} {'at the verdict':>16} {MORE[0]:>16,} {sum(MORE):>16,}")
    for name, (means, best) in CASES.items():
        runs = [orders(means, "twin" in name, seed) for seed in range(SEEDS)]
        counts = [
            [sum(run[look][:upto] == best[:upto] for run in runs) for upto in (1, 2, len(best))]
            for look in range(len(MORE) + 1)
        ]
        print(f"  {name:16} " + " ".join(f"{'  '.join(f'{count:2}' for count in look):>16}" for look in counts))
        wrong = SEEDS - counts[-1][0]
        likely = binom.isf(1 - CONFIDENCE, SEEDS, DELTA)
        claims.check(wrong <= likely, f"the first place is right: {wrong} of {SEEDS} are wrong with {name}")
        claims.check(counts[-1][1] >= 0.9 * SEEDS, f"the second place is right: {counts[-1][1]} of {SEEDS} with {name}")
    claims.report()
