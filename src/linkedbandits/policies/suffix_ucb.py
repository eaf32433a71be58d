"""SuffixUCB: play the suffix that starts at the arm with the highest upper confidence bound.

The attempt at an optimistic algorithm that the paper's source sets aside: it samples whatever follows the most
promising arm, needed or not, and nothing is ever dropped. A baseline.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from linkedbandits.linkage import Asks
from linkedbandits.model import Counts, IntArray, Repeats, empirical_means
from linkedbandits.policy import InBatches, LaneState, SeedArray, StopsWhenConfident, open_lanes
from linkedbandits.stopping.lil import Calibration, LilRule
from linkedbandits.stopping.looks import batch


@dataclass
class SuffixUCBState(LaneState):
    """Samples T_i and successes of every arm."""

    samples: IntArray
    successes: IntArray


@dataclass(frozen=True)
class SuffixUCB(StopsWhenConfident, InBatches[SuffixUCBState]):
    """Optimism over suffixes, stopped by the LIL rule.

    A suffix whose first arm has been seen more than twenty times is played in batches of a twentieth of that.

    >>> import linkedbandits as lb
    >>> lb.simulate([0.9, 0.2, 0.1], lb.SuffixUCB(delta=0.1), trials=3, seed=1).arm
    array([0, 0, 0])
    """

    delta: float
    calibration: Calibration = "proved"
    parallel: int = field(default=1, kw_only=True, repr=False)

    name: ClassVar[str] = "suffix-ucb"
    asks: ClassVar[Asks] = "suffixes"

    def __post_init__(self) -> None:
        LilRule(self.delta, self.calibration)

    @property
    def error_bound(self) -> float | None:
        """``delta`` with the proved calibration: the intervals hold however the samples were chosen."""
        return LilRule(self.delta, self.calibration).error_bound

    def start(self, lanes: int, arms: int, seeds: SeedArray) -> SuffixUCBState:
        """Nothing sampled yet."""
        counts = np.zeros((lanes, arms), dtype=np.int64)
        return SuffixUCBState(**open_lanes(lanes, arms), samples=counts, successes=counts.copy())

    def request(self, state: SuffixUCBState) -> Repeats:
        """The suffix from the highest upper end on; an arm not yet seen has an infinite one."""
        lanes, arms = state.samples.shape
        radius = LilRule(self.delta, self.calibration).radius(state.samples, arms)
        first = (empirical_means(state.samples, state.successes) + radius).argmax(axis=1)
        order = first[:, np.newaxis] + np.arange(arms)
        times = batch(state.samples[np.arange(lanes), first], self.parallel)
        return Repeats(np.where(order < arms, order, -1), times)

    def observe(self, state: SuffixUCBState, counts: Counts) -> None:
        """Stop when one arm's interval lies above all others."""
        state.samples = state.samples + counts.samples
        state.successes = state.successes + counts.successes
        rule = LilRule(self.delta, self.calibration)
        means = empirical_means(state.samples, state.successes)
        state.stopped, state.arm = rule.separated(means, rule.radius(state.samples, means.shape[1]))
