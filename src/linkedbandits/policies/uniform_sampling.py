"""UniformSampling: the same number of samples of every arm (the paper's section "Uniform sampling algorithm").

Equal needs played under the ordered linkage are the paper's SuffixSample: play the suffix that starts at the first
arm whose need is not met. Every arm gets exactly t samples, independently of the others, in
T = t + X_1 + ... + X_{n-1} plays (Eq. 2).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from linkedbandits.linkage import Asks
from linkedbandits.model import (
    BoolArray,
    Counts,
    IntArray,
    Needs,
    best_arm,
    empirical_means,
)
from linkedbandits.policy import EffortOrConfidence, Goal, InBatches, LaneState, SeedArray, open_lanes
from linkedbandits.stopping.lil import Calibration, LilRule
from linkedbandits.stopping.looks import next_look


def suffix_sample(arms: BoolArray, samples: IntArray) -> Needs:
    """The request SuffixSample(S, t): ``samples[lane]`` of every arm marked in ``arms[lane]``."""
    return Needs(np.where(arms, samples[:, np.newaxis], 0))


@dataclass
class UniformSamplingState(LaneState):
    """The samples t that every arm has had, and the successes X_i among them."""

    samples: IntArray
    successes: IntArray


@dataclass(frozen=True)
class UniformSampling(EffortOrConfidence, InBatches[UniformSamplingState]):
    """Sample all arms equally.

    Give ``samples`` for the algorithm as in its box (t samples of each, then the arm with the highest empirical
    mean), or ``delta`` to go on until the LIL rule stops it, as in the paper's experiments.

    >>> import linkedbandits as lb
    >>> runs = lb.simulate([0.3, 0.1], lb.UniformSampling(samples=200), trials=2, seed=1)
    >>> runs.samples
    array([[200, 200],
           [200, 200]])
    """

    delta: float | None = None
    samples: int | None = None
    calibration: Calibration = "proved"
    parallel: int = field(default=1, kw_only=True, repr=False)

    name: ClassVar[str] = "uniform-sampling"
    asks: ClassVar[Asks] = "needs"

    def __post_init__(self) -> None:
        self.check_stopping("samples", self.samples)

    @property
    def goal(self) -> Goal:
        """The best arm; wrong with probability at most ``delta``, if that is given."""
        return Goal(delta=self.delta)

    def start(self, lanes: int, arms: int, seeds: SeedArray) -> UniformSamplingState:
        """Nothing sampled yet."""
        return UniformSamplingState(
            **open_lanes(lanes, arms),
            samples=np.zeros(lanes, dtype=np.int64),
            successes=np.zeros((lanes, arms), dtype=np.int64),
        )

    def request(self, state: UniformSamplingState) -> Needs:
        """SuffixSample(S, t), or as many samples of each as are missing to the next look."""
        if self.delta is None:
            return suffix_sample(state.still_in, np.full_like(state.samples, self.samples))
        first = LilRule(self.delta, self.calibration).first_look(state.still_in.shape[1])
        return suffix_sample(state.still_in, next_look(state.samples, first, self.parallel) - state.samples)

    def observe(self, state: UniformSamplingState, counts: Counts) -> None:
        """Take the empirical means; output the arm with the highest."""
        state.samples = state.samples + counts.samples[:, 0]
        state.successes = state.successes + counts.successes
        means = empirical_means(state.samples[:, np.newaxis], state.successes)
        if self.delta is None:
            state.arm = best_arm(means, state.still_in)
            state.stopped = np.ones_like(state.stopped)
        else:
            rule = LilRule(self.delta, self.calibration)
            radius = rule.radius(state.samples, means.shape[1])[:, np.newaxis]
            state.stopped, state.arm = rule.separated(means, radius)
