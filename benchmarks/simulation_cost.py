"""What a simulation costs beside the random draws it cannot do without."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import process_time

import linkedbandits as lb
from linkedbandits.policy import AnyPolicy
from linkedbandits.scenarios import SCENARIOS
from linkedbandits.streams import LaneStreams

ODDS_RATIO = 0.1 * 0.95 / (0.9 * 0.05)
"""Of the best 1-sparse arm to any other: what a gap of 0.05 is there."""


@contextmanager
def draws_timed() -> Iterator[list[float]]:
    """Sum up the time inside numpy's binomial and multinomial generators, in the run itself."""
    spent = [0.0]
    original = LaneStreams._find_bounds

    class Timed:
        def __init__(self, generator):
            self._generator = generator

        def binomial(self, trials, chance):
            return self._timed(self._generator.binomial, trials, chance)

        def multinomial(self, trials, chances):
            return self._timed(self._generator.multinomial, trials, chances)

        def _timed(self, draw, *parameters):
            start = process_time()
            drawn = draw(*parameters)
            spent[0] += process_time() - start
            return drawn

    LaneStreams._find_bounds = lambda self: [(Timed(generator), lanes) for generator, lanes in original(self)]
    try:
        yield spent
    finally:
        LaneStreams._find_bounds = original


def cost(policy: AnyPolicy, means, trials: int) -> tuple[float, float]:
    """Seconds in all, and inside the binomial draws."""
    with draws_timed() as spent:
        start = process_time()
        lb.simulate(means, policy, trials=trials, seed=1)
        return process_time() - start, spent[0]


def main() -> None:
    means = lb.scenarios.one_sparse(100)
    print("10,000 trials on 1-sparse, n=100: time over that of the binomial draws it uses, and what is claimed")
    for policy, claim in (
        (lb.UniformSampling(delta=0.1), 3),
        (lb.LinkedEGE(delta=0.1, gap=0.05), 3),
        (lb.LinkedLead(delta=0.1, odds_ratio=ODDS_RATIO), 3),
        (lb.LinkedLead(delta=0.1, gap=0.05), 3),
        (lb.LinkedElimination(delta=0.1), 6),
        (lb.LinkedTrackAndStop(delta=0.1), 30),
    ):
        total, draws = cost(policy, means, trials=10_000)
        told = "" if policy.told_difference is None else f", told {policy.told_difference}"
        print(
            f"  {policy.name + told:42} {total / draws:5.2f}   at most {claim}   ({total:.2f} s, draws {draws:.2f} s)"
        )
    for name in ("increasing", "decreasing"):
        total, draws = cost(lb.LinkedElimination(delta=0.1), SCENARIOS[name](100), trials=2_000)
        print(f"  linked-elimination                         {total / draws:5.2f}   on {name}")
    print("LinkedEGE, time per round, gap 0.0005 over gap 0.05 on the same arms (claim: about 1)")
    seconds = {gap: cost(lb.LinkedEGE(delta=0.1, gap=gap), means, trials=10_000)[0] for gap in (0.05, 0.0005)}
    # The means are 0.05 apart, so both runs drop all arms but one in the same rounds.
    print(f"  same arms            {seconds[0.0005] / seconds[0.05]:5.2f}")
    tied = [0.1, 0.1] + [0.05] * 98  # never separates: every round up to the cap is played
    per_round = {}
    for gap in (0.05, 0.0005):
        policy = lb.LinkedEGE(delta=0.1, gap=gap)
        per_round[gap] = cost(policy, tied, trials=10_000)[0] / policy.rounds
    print(f"  to the cap           {per_round[0.0005] / per_round[0.05]:5.2f}   (5 rounds and 11)")
