"""EvenGates: every bin the same number of samples, for as many cycles as there are.

Under the linkage ``ordered`` this is the paper's SuffixSample, what a gate that opens late can do: whenever the first
bins have had their samples, the gate opens after them. Under ``free`` it is a bound rather than a sensor: time would
have to run through the bins in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from linkedbandits.linkage import Asks
from linkedbandits.model import Counts, IntArray, Needs, best_arm, empirical_means
from linkedbandits.policy import LaneState, Policy, SeedArray, WithoutGuarantee, open_lanes
from linkedbandits.stopping.looks import batch


@dataclass
class EvenGatesState(LaneState):
    """The counts of every bin, and how many samples each is to have next."""

    samples: IntArray
    successes: IntArray
    level: IntArray


@dataclass(frozen=True)
class EvenGates(WithoutGuarantee, Policy[EvenGatesState]):
    """Sample all bins alike. It does not stop by itself: give it a budget."""

    name: ClassVar[str] = "even-gates"
    asks: ClassVar[Asks] = "needs"

    def start(self, lanes: int, arms: int, seeds: SeedArray) -> EvenGatesState:
        """One sample of every bin first."""
        counts = np.zeros((lanes, arms), dtype=np.int64)
        level = np.ones(lanes, dtype=np.int64)
        return EvenGatesState(**open_lanes(lanes, arms), samples=counts, successes=counts.copy(), level=level)

    def request(self, state: EvenGatesState) -> Needs:
        """What each bin lacks."""
        return Needs(state.level[:, np.newaxis] - state.samples)

    def observe(self, state: EvenGatesState, counts: Counts) -> None:
        """Add up, and raise the level where every bin has reached it."""
        state.samples = state.samples + counts.samples
        state.successes = state.successes + counts.successes
        state.arm = best_arm(empirical_means(state.samples, state.successes), state.samples > 0)
        even = state.samples.min(axis=1) == state.level
        state.level = np.where(even, state.level + batch(state.level), state.level)
