"""MedianElimination with SuffixSample (Even-Dar, Mannor and Mansour 2006; line 6 of the paper's LinkedEGE).

Finds an arm within epsilon of the best: sample all candidates equally, keep the better half, tighten, repeat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from linkedbandits.checks import check_delta, check_positive
from linkedbandits.linkage import Asks
from linkedbandits.model import (
    BoolArray,
    Counts,
    FloatArray,
    IntArray,
    Needs,
    as_count,
    best_arm,
    empirical_means,
)
from linkedbandits.policies.uniform_sampling import suffix_sample
from linkedbandits.policy import Goal, LaneState, Policy, SeedArray, WithGuarantee, open_lanes


@dataclass
class MedianEliminationState(LaneState):
    """The stage l, counted from 1; its candidates are the arms still in."""

    stage: IntArray


@dataclass(frozen=True)
class MedianElimination(WithGuarantee, Policy[MedianEliminationState]):
    """With probability at least 1 - ``delta`` the answer's mean is within ``epsilon`` of the best.

    It names the best arm itself only if ``epsilon`` is not above the gap to the second best.

    >>> import linkedbandits as lb
    >>> lb.simulate([0.9, 0.2, 0.1], lb.MedianElimination(epsilon=0.5, delta=0.1), trials=3, seed=1).arm
    array([0, 0, 0])
    """

    epsilon: float
    delta: float

    name: ClassVar[str] = "median-elimination"
    asks: ClassVar[Asks] = "needs"

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon, most=1.0)
        check_delta(self.delta)

    @property
    def goal(self) -> Goal:
        """An arm within ``epsilon`` of the best, wrong with probability at most ``delta``."""
        return Goal(delta=self.delta, tolerance=self.epsilon)

    def start(self, lanes: int, arms: int, seeds: SeedArray) -> MedianEliminationState:
        """All arms are candidates."""
        return MedianEliminationState(**open_lanes(lanes, arms), stage=np.ones(lanes, dtype=np.int64))

    def request(self, state: MedianEliminationState) -> Needs:
        """SuffixSample(S_l, (4 / eps_l^2) ln(3 / delta_l))."""
        return suffix_sample(state.still_in, stage_samples(self.epsilon, self.delta, state.stage))

    def observe(self, state: MedianEliminationState, counts: Counts) -> None:
        """S_{l+1} is the better half of S_l."""
        means = empirical_means(counts.samples, counts.successes)
        state.still_in = better_half(state.still_in, means)
        state.stage = state.stage + 1
        state.stopped = state.still_in.sum(axis=1) == 1
        state.arm = best_arm(means, state.still_in)


def stage_samples(epsilon: float | FloatArray, delta: float | FloatArray, stage: IntArray) -> IntArray:
    """Samples of each candidate in stage l, where eps_1 = eps/4, delta_1 = delta/2, eps_l *= 3/4, delta_l /= 2.

    >>> stage_samples(0.5, 0.1, np.array([1, 2]))
    array([1049, 2179])
    """
    epsilon_l = epsilon / 4 * 0.75 ** (stage - 1)
    delta_l = delta / 2.0**stage
    return as_count(4 / epsilon_l**2 * np.log(3 / delta_l))


def better_half(candidates: BoolArray, means: FloatArray) -> BoolArray:
    """The half (rounded up) of each lane's candidates with the highest means; earlier arms win ties."""
    ranked = np.argsort(np.where(candidates, -means, np.inf), axis=1, kind="stable")
    half = (candidates.sum(axis=1, keepdims=True) + 1) // 2
    kept = np.zeros_like(candidates)
    np.put_along_axis(kept, ranked, np.arange(candidates.shape[1]) < half, axis=1)
    return kept
