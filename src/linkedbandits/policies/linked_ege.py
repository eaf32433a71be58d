"""LinkedEGE: exponential-gap elimination on linked plays (the paper's Algorithm "LinkedEGE", Theorem 4.1).

Round r samples the arms still in well enough to tell apart means that differ by eps_r, finds one arm that is nearly
the best, and drops every arm that is clearly below it. Under the linkage ``single`` the same policy is the paper's
Algorithm "EGE (regular bandits)", after Karnin, Koren and Somekh 2013.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2
from typing import ClassVar, Literal

import numpy as np

from linkedbandits.assumptions import ToldDifference
from linkedbandits.checks import check_delta, check_positive
from linkedbandits.errors import InvalidParameter
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
from linkedbandits.policies.median_elimination import better_half, stage_samples
from linkedbandits.policies.uniform_sampling import suffix_sample
from linkedbandits.policy import LaneState, Policy, SeedArray, StopsWhenConfident, open_lanes


@dataclass
class LinkedEGEState(LaneState):
    """The round r, the averages of line 5, and where line 6 has got to.

    ``stage`` is 0 while line 5 samples, and the stage of median elimination while line 6 does; ``candidates`` are
    its arms.
    """

    round: IntArray
    stage: IntArray
    candidates: BoolArray
    averages: FloatArray


@dataclass(frozen=True)
class LinkedEGE(StopsWhenConfident, Policy[LinkedEGEState]):
    """Drop arms in rounds of exponentially finer resolution.

    ``gap`` is the difference between the two best means, if you know it (the input Delta of the paper's box): the
    run then ends after at most ceil(log2(1/gap)) rounds. Without it, it ends when one arm is left.

    ``median="fresh"`` lets line 6 take samples of its own: the algorithm as proved. ``median="reuse"`` counts plays
    as the paper does, with line 6 working on the samples of line 5. Median elimination's first stage alone asks
    for over a hundred times what line 5 took, so all it can do with them is to name their empirical best; **no
    guarantee is proved for that reading**, and the verdict's ``error_bound`` is None.

    >>> import linkedbandits as lb
    >>> runs = lb.simulate([0.6, 0.1], lb.LinkedEGE(delta=0.1, gap=0.5), trials=3, seed=1)
    >>> runs.arm, runs.samples[0]
    (array([0, 0, 0]), array([885, 885]))
    """

    delta: float
    gap: float | None = None
    median: Literal["reuse", "fresh"] = "reuse"

    name: ClassVar[str] = "linked-ege"
    asks: ClassVar[Asks] = "needs"

    def __post_init__(self) -> None:
        check_delta(self.delta)
        if self.gap is not None:
            check_positive("gap", self.gap, most=1.0)
        if self.median not in ("reuse", "fresh"):
            raise InvalidParameter(f"median={self.median!r} is unknown; choose 'reuse' or 'fresh'")

    @property
    def error_bound(self) -> float | None:
        """``delta`` for the proved accounting, given a right gap or none."""
        return self.delta if self.median == "fresh" else None

    @property
    def told_difference(self) -> ToldDifference | None:
        """The gap, if there is one."""
        return None if self.gap is None else ToldDifference(gap=self.gap)

    @property
    def rounds(self) -> float:
        """The cap on rounds, line 3."""
        return most_rounds(self.gap)

    def start(self, lanes: int, arms: int, seeds: SeedArray) -> LinkedEGEState:
        """Line 2: S_1 = [n], r = 1."""
        return LinkedEGEState(
            **open_lanes(lanes, arms),
            round=np.ones(lanes, dtype=np.int64),
            stage=np.zeros(lanes, dtype=np.int64),
            candidates=np.zeros((lanes, arms), dtype=np.bool_),
            averages=np.zeros((lanes, arms)),
        )

    def request(self, state: LinkedEGEState) -> Needs:
        """Line 5: SuffixSample(S_r, (2 / eps_r^2) ln(2 / delta_r)); line 6: what median elimination wants."""
        epsilon, delta = resolution(state.round, self.delta)
        line_5 = samples_of_a_round(epsilon, delta)
        if self.median == "reuse":
            return suffix_sample(state.still_in, line_5)
        line_6 = stage_samples(epsilon / 2, delta, np.maximum(state.stage, 1))
        in_line_6 = state.stage > 0
        arms = np.where(in_line_6[:, np.newaxis], state.candidates, state.still_in)
        return suffix_sample(arms, np.where(in_line_6, line_6, line_5))

    def observe(self, state: LinkedEGEState, counts: Counts) -> None:
        """Lines 5 to 8, as far as the counts carry."""
        means = empirical_means(counts.samples, counts.successes)
        if self.median == "reuse":
            state.averages = means
            self._drop(state, best_arm(means, state.still_in), np.ones_like(state.stopped))
            return
        in_line_6 = state.stage > 0
        sampled = np.where(in_line_6[:, np.newaxis], state.candidates, state.still_in)
        state.averages = np.where(in_line_6[:, np.newaxis], state.averages, means)
        state.candidates = np.where(in_line_6[:, np.newaxis], better_half(sampled, means), sampled)
        state.stage = state.stage + 1
        finished = in_line_6 & (state.candidates.sum(axis=1) == 1)
        self._drop(state, best_arm(means, state.candidates), finished)

    def _drop(self, state: LinkedEGEState, nearly_best: IntArray, now: BoolArray) -> None:
        """Lines 7 and 8 in the lanes marked ``now``, with i_r = ``nearly_best``; line 3 decides whether to go on."""
        epsilon, _ = resolution(state.round, self.delta)
        lanes = np.arange(nearly_best.size)
        threshold = state.averages[lanes, nearly_best] - epsilon
        survives = state.averages >= threshold[:, np.newaxis]
        state.still_in = state.still_in & (survives | ~now[:, np.newaxis])
        state.round = state.round + now
        state.stage = np.where(now, 0, state.stage)
        state.arm = np.where(now, nearly_best, state.arm)  # i_r always survives its own round
        state.stopped = now & ((state.still_in.sum(axis=1) == 1) | (state.round > self.rounds))


def most_rounds(gap: float | None) -> float:
    """How many rounds a gap allows, ceil(log2(1/gap)) and at least one; without a gap any number.

    A gap that is a difference of two floats may miss a power of two by a rounding error; that is no reason for another
    round.
    """
    return np.inf if gap is None else max(1, ceil(-log2(gap) - 1e-9))


def resolution(round_number: IntArray, delta: float) -> tuple[FloatArray, FloatArray]:
    """Line 4: eps_r = 2^-r / 4 and delta_r = delta / (50 r^3)."""
    r = round_number.astype(np.float64)
    return 0.25 * 0.5**r, delta / (50.0 * r**3)


def samples_of_a_round(epsilon: FloatArray, delta: FloatArray) -> IntArray:
    """Line 5: (2 / eps_r^2) ln(2 / delta_r)."""
    return as_count(2 / epsilon**2 * np.log(2 / delta))
