"""DeterministicShifting: the suffixes from every arm on, one after the other, over and over.

One of the "naive sampling strategies" that a remark in the paper's source names for simulations and does not spell out.
It says what the strategy suffers from: "the best arm is preceded by many second-best arms, which prevent the best arm
from getting sampled enough times". Read here as the start of the play shifted by one arm with each play, back to the
first behind the last: in the fixed order a play cannot wrap around. So arm i is the first of every n-th play, and in
plays that begin before it, is reached only if nothing succeeds on the way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from linkedbandits.linkage import Asks
from linkedbandits.model import Counts, IntArray, Repeats, best_arm, empirical_means
from linkedbandits.policy import EffortOrConfidence, Goal, InBatches, LaneState, SeedArray, open_lanes
from linkedbandits.stopping.lil import Calibration, LilRule
from linkedbandits.stopping.looks import batch


@dataclass
class DeterministicShiftingState(LaneState):
    """The arm that the next play begins at, how often it was begun at each in the sweeps before, and all counts."""

    first: IntArray
    sweeps: IntArray
    plays: IntArray
    samples: IntArray
    successes: IntArray


@dataclass(frozen=True)
class DeterministicShifting(EffortOrConfidence, InBatches[DeterministicShiftingState]):
    """Begin at the first arm, then at the second, and so on, and after the last again at the first.

    Give ``plays`` for that many plays, or ``delta`` to go on until the LIL rule stops it, as the paper's experiments do
    with other strategies. Plays that begin at the same arm are made in batches of a twentieth of those made so far.

    >>> import linkedbandits as lb
    >>> lb.simulate([1.0, 0.9, 0.5], lb.DeterministicShifting(plays=300), trials=1, seed=1).samples
    array([[101, 101, 109]])
    """

    delta: float | None = None
    plays: int | None = None
    calibration: Calibration = "proved"
    parallel: int = field(default=1, kw_only=True, repr=False)

    name: ClassVar[str] = "deterministic-shifting"
    asks: ClassVar[Asks] = "suffixes"

    def __post_init__(self) -> None:
        self.check_stopping("plays", self.plays)

    @property
    def goal(self) -> Goal:
        """The best arm, with ``plays`` plays or wrong with probability at most ``delta``."""
        return Goal(delta=self.delta, budget=self.plays)

    def start(self, lanes: int, arms: int, seeds: SeedArray) -> DeterministicShiftingState:
        """Nothing played yet."""
        counts = np.zeros((lanes, arms), dtype=np.int64)
        none = np.zeros(lanes, dtype=np.int64)
        return DeterministicShiftingState(
            **open_lanes(lanes, arms),
            first=none,
            sweeps=none.copy(),
            plays=none.copy(),
            samples=counts,
            successes=counts.copy(),
        )

    def request(self, state: DeterministicShiftingState) -> Repeats:
        """The suffix from the arm whose turn it is."""
        arms = state.samples.shape[1]
        order = state.first[:, np.newaxis] + np.arange(arms)
        # What is handed out while the last plays of a turn are out is of no use to the next: so turns are longer.
        times = batch(state.sweeps, 2 * self.parallel - 1)
        if self.plays is not None:
            times = np.minimum(times, self.plays - state.plays)
        return Repeats(np.where(order < arms, order, -1), times)

    def observe(self, state: DeterministicShiftingState, counts: Counts) -> None:
        """Shift by one arm; stop with the last play, or when one arm's interval lies above all others."""
        arms = state.samples.shape[1]
        made = np.take_along_axis(counts.samples, state.first[:, np.newaxis], axis=1)[:, 0]
        state.plays = state.plays + made
        state.samples = state.samples + counts.samples
        state.successes = state.successes + counts.successes
        state.first = (state.first + 1) % arms
        state.sweeps = state.sweeps + np.where(state.first == 0, made, 0)
        means = empirical_means(state.samples, state.successes)
        if self.delta is None:
            state.arm = best_arm(means, state.samples > 0)
            state.stopped = state.plays == self.plays
        else:
            rule = LilRule(self.delta, self.calibration)
            state.stopped, state.arm = rule.separated(means, rule.radius(state.samples, arms))
