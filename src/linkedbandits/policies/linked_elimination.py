"""LinkedElimination: the library's default. Needs only delta; no gap, no tuning.

Samples the arms that are still in alike, the leader more, and drops an arm when the evidence against it has reached
1/delta. Evidence, guarantee and why every run ends: :mod:`linkedbandits.policies.evidence_race`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from linkedbandits.checks import check_costs, check_delta, check_share, check_whole
from linkedbandits.errors import InvalidParameter
from linkedbandits.linkage import Asks, Ordered, Price
from linkedbandits.model import BoolArray, FloatArray, per_cost
from linkedbandits.policies.evidence_race import EARLY_BLOCKS, LOOKS, EvidenceRace, RaceState, divergence

RATIOS = (1.0, 1.5, 2.3, 3.5, 5.5)
"""How many samples of a leader for one of a rival may be asked;"""
RATIO_ROUNDS = 3
"""once the first blocks are over, a ratio serves this many rounds of bets."""


@dataclass(frozen=True)
class LinkedElimination(EvidenceRace):
    """Find the ``k`` best arms; wrong with probability at most ``delta``.

    ``epsilon`` is a tolerance: any arm within epsilon of the best (for k > 1: of the k-th best) is a right answer, and
    the run ends accordingly sooner. With ``epsilon=0`` the best arm has to be unique for the run to end by itself.
    ``neighbours`` is a tolerance in places, for arms in a row whose neighbours are alike (bins, prices, thresholds):
    any arm at most that many places from the best is a right answer, and the run ends when all left are that close.
    ``costs`` has what a try of each arm costs: the best arm is then the one with most successes per cost.
    ``price`` is set by the linkage that the policy runs under, and steers only how often the leader is sampled.

    >>> import linkedbandits as lb
    >>> runs = lb.simulate(lb.scenarios.one_sparse(10), lb.LinkedElimination(delta=0.1), trials=200, seed=1)
    >>> bool(runs.error_rate() <= 0.1), bool(runs.plays.mean() < 3000)
    (True, True)
    """

    delta: float
    k: int = 1
    epsilon: float = 0.0
    neighbours: int = field(default=0, kw_only=True, metadata={"saved": "if set"})
    costs: Sequence[float] = field(default=(), kw_only=True, metadata={"saved": "if set"})
    parallel: int = field(default=1, kw_only=True, repr=False)
    price: Price = field(default=Ordered.price, repr=False, compare=False, metadata={"saved": False})

    name: ClassVar[str] = "linked-elimination"
    asks: ClassVar[Asks] = "needs"

    def __post_init__(self) -> None:
        check_delta(self.delta)
        check_whole("k", self.k)
        check_share("epsilon", self.epsilon)
        check_whole("neighbours", self.neighbours, least=0)
        if self.k > 1 and self.neighbours > 0:
            raise InvalidParameter(f"neighbours={self.neighbours} goes with k=1 alone, not k={self.k}; leave one out")
        object.__setattr__(self, "costs", check_costs(self.costs))
        if self.costs:
            self._check_alone_with_costs()

    def _check_alone_with_costs(self) -> None:
        others = {"k": self.k if self.k > 1 else 0, "epsilon": self.epsilon, "neighbours": self.neighbours}
        given = [f"{name}={value!r}" for name, value in others.items() if value]
        if given:
            raise InvalidParameter(
                f"with costs the one arm with most successes per cost is found, without a tolerance; leave out "
                f"{' and '.join(given)}, or the costs"
            )

    def allocate(self, state: RaceState, rivals: BoolArray, leading: BoolArray) -> FloatArray:
        """One of every rival, and of the leaders the ratio that buys evidence most cheaply.

        Against the hardest rival, r samples of the leader and one of the rival weigh 1/(1/(r A) + 1/B), where A and B
        are the divergences between their means in either direction. (Exact if one of the two is sampled without end.)
        """
        block = int(state.block[0])
        if block < EARLY_BLOCKS or block % (RATIO_ROUNDS * LOOKS) == 0:
            state.ratio = self._cheapest_ratio(state, rivals, leading)
        amounts: FloatArray = rivals + state.ratio[:, np.newaxis] * leading
        return amounts

    def _cheapest_ratio(self, state: RaceState, rivals: BoolArray, leading: BoolArray) -> FloatArray:
        prediction, samples = state.prediction, state.samples
        lanes = np.arange(rivals.shape[0])
        hardest = np.where(rivals, per_cost(prediction, self.costs), -1.0).argmax(axis=1)
        weakest = np.where(leading, prediction, 2.0).argmin(axis=1)
        rival, leader = prediction[lanes, hardest], prediction[lanes, weakest]
        rival_samples, leader_samples = samples[lanes, hardest], samples[lanes, weakest]
        towards, back = guarded_divergences(rival, rival_samples, leader, leader_samples)
        if self.costs:
            # Each against the mean with which it would be worth as much as the other.
            slope = np.array(self.costs)[hardest] / np.array(self.costs)[weakest]
            towards, _ = guarded_divergences(np.minimum(rival / slope, 1.0), rival_samples, leader, leader_samples)
            _, back = guarded_divergences(rival, rival_samples, np.minimum(slope * leader, 1.0), leader_samples)
        best = np.full(lanes.size, np.inf)
        ratio = np.ones(lanes.size)
        of_rivals, of_leaders = rivals.astype(np.float64), leading.astype(np.float64)
        for candidate in RATIOS:
            plays = self.price(of_rivals + candidate * of_leaders, prediction)
            cost = plays * (1 / (candidate * towards) + 1 / back)
            ratio = np.where(cost < best, candidate, ratio)
            best = np.minimum(best, cost)
        return ratio


def guarded_divergences(
    rival: FloatArray, rival_samples: FloatArray, leader: FloatArray, leader_samples: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """kl(leader, rival) and kl(rival, leader), with the gap widened by its standard error.

    Without that, a gap that happens to look small would draw nearly all samples to one pair.
    """
    noise = np.maximum(rival * (1 - rival), 1e-4) / (rival_samples + 1)
    noise = noise + np.maximum(leader * (1 - leader), 1e-4) / (leader_samples + 1)
    gap = np.sqrt((leader - rival) ** 2 + noise)
    low = np.clip(np.maximum(leader - gap, 0.5 * np.minimum(rival, leader)), 1e-6, 1 - 2e-6)
    high = np.clip(leader, low + 1e-6, 1 - 1e-6)
    return divergence(high, low), divergence(low, high)
