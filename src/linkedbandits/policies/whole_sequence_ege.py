"""WholeSequenceEGE: exponential-gap elimination on whole sequences, the "minimum wastage" of the paper's source.

A remark that the paper's source has commented out: "for each round of exponential gap elimination, we play the whole
sequence of remaining arms together until each arm has been effectively sampled for the number of rounds required by the
algorithm". So no arm that is still in is ever left out of a play, where SuffixSample leaves out those that have
their samples. The rounds are those of :mod:`linkedbandits.policies.linked_ege`, with line 6 on the samples of line 5.
The source says that "an upper bound similar to Theorem 1 can be proved", and has no proof.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from linkedbandits.assumptions import ToldDifference
from linkedbandits.checks import check_delta, check_positive
from linkedbandits.linkage import Asks
from linkedbandits.model import Counts, IntArray, Repeats, best_arm, empirical_means
from linkedbandits.policies.linked_ege import most_rounds, resolution, samples_of_a_round
from linkedbandits.policy import InBatches, LaneState, SeedArray, StopsWhenConfident, open_lanes
from linkedbandits.stopping.looks import batch


@dataclass
class WholeSequenceEGEState(LaneState):
    """The round r, and its plays, samples and successes so far."""

    round: IntArray
    plays: IntArray
    samples: IntArray
    successes: IntArray


@dataclass(frozen=True)
class WholeSequenceEGE(StopsWhenConfident, InBatches[WholeSequenceEGEState]):
    """Play all arms still in, every time, and drop some when the last of them has the samples of the round.

    ``gap`` is as in :class:`LinkedEGE`. The last arm is reached by few plays where means are high, so rounds may be
    very long: plays are made in batches of a twentieth of the round's so far, if that is more than the samples missing.

    >>> import linkedbandits as lb
    >>> runs = lb.simulate([0.6, 0.1], lb.WholeSequenceEGE(delta=0.1, gap=0.5), trials=3, seed=1)
    >>> runs.arm, bool((runs.samples[:, 0] > runs.samples[:, 1]).all())
    (array([0, 0, 0]), True)
    """

    delta: float
    gap: float | None = None
    parallel: int = field(default=1, kw_only=True, repr=False)

    name: ClassVar[str] = "whole-sequence-ege"
    asks: ClassVar[Asks] = "ordered tuples"

    def __post_init__(self) -> None:
        check_delta(self.delta)
        if self.gap is not None:
            check_positive("gap", self.gap, most=1.0)

    @property
    def error_bound(self) -> float | None:
        """None: the source states no proof, and line 6 has no samples of its own."""
        return None

    @property
    def told_difference(self) -> ToldDifference | None:
        """The gap, if there is one."""
        return None if self.gap is None else ToldDifference(gap=self.gap)

    def start(self, lanes: int, arms: int, seeds: SeedArray) -> WholeSequenceEGEState:
        """S_1 = [n], r = 1."""
        counts = np.zeros((lanes, arms), dtype=np.int64)
        return WholeSequenceEGEState(
            **open_lanes(lanes, arms),
            round=np.ones(lanes, dtype=np.int64),
            plays=np.zeros(lanes, dtype=np.int64),
            samples=counts,
            successes=counts.copy(),
        )

    def request(self, state: WholeSequenceEGEState) -> Repeats:
        """All arms still in; no fewer plays than samples are missing, as a play brings one of an arm at most."""
        arms = np.broadcast_to(np.arange(state.still_in.shape[1]), state.still_in.shape)
        in_first = np.argsort(~state.still_in, axis=1, kind="stable")
        order = np.take_along_axis(np.where(state.still_in, arms, -1), in_first, axis=1)
        return Repeats(order, np.maximum(self._missing(state), batch(state.plays, self.parallel)))

    def observe(self, state: WholeSequenceEGEState, counts: Counts) -> None:
        """When no arm lacks samples: drop all that are eps_r below the empirical best, and begin the next round."""
        first = state.still_in.argmax(axis=1)[:, np.newaxis]
        state.plays = state.plays + np.take_along_axis(counts.samples, first, axis=1)[:, 0]  # all plays try that arm
        state.samples = state.samples + counts.samples
        state.successes = state.successes + counts.successes
        over = self._missing(state) == 0
        means = empirical_means(state.samples, state.successes)
        best = best_arm(means, state.still_in)
        epsilon, _ = resolution(state.round, self.delta)
        threshold = np.take_along_axis(means, best[:, np.newaxis], axis=1) - epsilon[:, np.newaxis]
        state.still_in = state.still_in & ((means >= threshold) | ~over[:, np.newaxis])
        state.arm = np.where(over, best, state.arm)
        state.round = state.round + over
        state.plays = np.where(over, 0, state.plays)
        state.samples = np.where(over[:, np.newaxis], 0, state.samples)
        state.successes = np.where(over[:, np.newaxis], 0, state.successes)
        state.stopped = over & ((state.still_in.sum(axis=1) == 1) | (state.round > most_rounds(self.gap)))

    def _missing(self, state: WholeSequenceEGEState) -> IntArray:
        """How many samples of the round the arm still in that has the fewest lacks."""
        wanted = samples_of_a_round(*resolution(state.round, self.delta))
        fewest = np.where(state.still_in, state.samples, wanted[:, np.newaxis]).min(axis=1)
        missing: IntArray = np.maximum(wanted - fewest, 0)
        return missing
