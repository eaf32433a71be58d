"""MaximalSampling: play all arms, every time (the paper's first algorithm, section "Maximal sampling algorithm").

Most samples per play, but an arm is reached only by plays that no earlier arm ended, so the last arms may starve:
the plays needed grow with 1 / prod_{i<n} (1 - mu_i)^2 (Theorem 3.1).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from linkedbandits.linkage import Asks
from linkedbandits.model import (
    Counts,
    IntArray,
    Repeats,
    best_arm,
    empirical_means,
)
from linkedbandits.policy import EffortOrConfidence, Goal, InBatches, LaneState, SeedArray, open_lanes
from linkedbandits.stopping.lil import Calibration, LilRule
from linkedbandits.stopping.looks import next_look


@dataclass
class MaximalSamplingState(LaneState):
    """Plays so far, and the counts t_i and X_i of Eq. 1."""

    plays: IntArray
    samples: IntArray
    successes: IntArray


@dataclass(frozen=True)
class MaximalSampling(EffortOrConfidence, InBatches[MaximalSamplingState]):
    """Play ``{a_1, ..., a_n}`` over and over.

    Give ``plays`` for the algorithm as in its box (T plays, then the arm with the highest empirical mean), or
    ``delta`` to go on until the LIL rule stops it, as in the paper's experiments.

    >>> import linkedbandits as lb
    >>> runs = lb.simulate([0.3, 0.1], lb.MaximalSampling(plays=200), trials=5, seed=1)
    >>> runs.plays
    array([200, 200, 200, 200, 200])
    """

    delta: float | None = None
    plays: int | None = None
    calibration: Calibration = "proved"
    parallel: int = field(default=1, kw_only=True, repr=False)

    name: ClassVar[str] = "maximal-sampling"
    asks: ClassVar[Asks] = "suffixes"

    def __post_init__(self) -> None:
        self.check_stopping("plays", self.plays)

    @property
    def goal(self) -> Goal:
        """The best arm, with ``plays`` plays or wrong with probability at most ``delta``."""
        return Goal(delta=self.delta, budget=self.plays)

    def start(self, lanes: int, arms: int, seeds: SeedArray) -> MaximalSamplingState:
        """Initialize: all counts 0."""
        counts = np.zeros((lanes, arms), dtype=np.int64)
        plays = np.zeros(lanes, dtype=np.int64)
        return MaximalSamplingState(**open_lanes(lanes, arms), plays=plays, samples=counts, successes=counts.copy())

    def request(self, state: MaximalSamplingState) -> Repeats:
        """All arms, T times, or up to the next look."""
        lanes, arms = state.samples.shape
        order = np.broadcast_to(np.arange(arms), (lanes, arms))
        if self.delta is None:
            return Repeats(order, np.full(lanes, self.plays, dtype=np.int64))
        # An arm has at most as many samples as there were plays, so no earlier look could end the run.
        first = LilRule(self.delta, self.calibration).first_look(arms)
        return Repeats(order, next_look(state.plays, first, self.parallel) - state.plays)

    def observe(self, state: MaximalSamplingState, counts: Counts) -> None:
        """Update X and t by Eq. 1; output the arm with the highest empirical mean."""
        state.plays = state.plays + counts.samples[:, 0]  # every play tries the first arm
        state.samples = state.samples + counts.samples
        state.successes = state.successes + counts.successes
        means = empirical_means(state.samples, state.successes)
        if self.delta is None:
            state.arm = best_arm(means, state.samples > 0)
            state.stopped = np.ones_like(state.stopped)
        else:
            rule = LilRule(self.delta, self.calibration)
            state.stopped, state.arm = rule.separated(means, rule.radius(state.samples, means.shape[1]))
