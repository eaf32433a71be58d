"""LinkedHalving: the best answer for a given number of plays (sequential halving, Karnin, Koren and Somekh 2013).

Sample all survivors equally for a share of the budget, keep the better half, repeat until two are left, and spend on
these all that remains. Samples are never thrown away. Three things differ from the standard bandit, where a play is a
sample:

- *What a sample costs is not known in advance.* A request is never larger than the plays left even if every sample
  took a play of its own, so the budget holds whatever happens; what the samples did cost is observed, and the next
  request is sized by it. Plays that a round leaves over go to the next, those of the last round to its two arms,
  down to the last play. So a run takes exactly its budget.
- *Dropping arms may save little.* Let rho be the plays that one sample of every survivor takes: their number in the
  standard bandit, and 1 + mu_1 + ... + mu_{n-1} in the paper's Eq. 2. The original gives a round the share 1 / log2(n)
  of the budget as rho will be halved log2(n) times. Here it falls from rho to about 1, whatever n is, so a round gets
  the share 1 / (1 + log2(rho)) of the plays left. (In the standard bandit that is one share more than there are rounds,
  and the last two arms get it.) Where samples of all arms come nearly for free there is no hurry to drop any, and most
  of the budget goes into the first round. Equal shares would err less on means spread at random (measured under the
  ordered linkage: 0.033 against 0.039), but more than uniform sampling where all rivals are alike (1-sparse).
- *A round samples every survivor at least once*, even if that is more than its share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from linkedbandits.checks import check_whole
from linkedbandits.linkage import Asks, Linkage
from linkedbandits.model import (
    BoolArray,
    Counts,
    FloatArray,
    IntArray,
    Needs,
    best_arm,
    empirical_means,
)
from linkedbandits.policies.median_elimination import better_half
from linkedbandits.policies.neighbours import check_something_to_decide, within_reach_of_all
from linkedbandits.policies.without_guarantee import WithoutGuarantee
from linkedbandits.policy import Goal, LaneState, Policy, SeedArray, open_lanes
from linkedbandits.simulation import simulate


@dataclass
class LinkedHalvingState(LaneState):
    """All samples and successes, the plays left, and what the current round has taken of both.

    The samples of the arms still in differ by one at most.
    """

    samples: IntArray
    successes: IntArray
    left: IntArray
    round_plays: IntArray
    round_samples: IntArray


@dataclass(frozen=True)
class LinkedHalving(WithoutGuarantee, Policy[LinkedHalvingState]):
    """Take exactly ``plays`` plays, then name the arm with the highest empirical mean among the last survivors.

    Nothing is proved about its error; :func:`error_curve` measures it. An experiment with several plays out at once may
    hand out some more than the policy needs to its end; there, give the experiment the same number as ``max_plays``.

    ``neighbours`` says how many places off the best arm an answer may be. Survivors that are all that close to one of
    them are not halved further, and share what is left of the plays.

    >>> import linkedbandits as lb
    >>> from linkedbandits.policies.linked_halving import LinkedHalving
    >>> runs = lb.simulate([0.3, 0.1, 0.2, 0.1], LinkedHalving(plays=500), trials=5, seed=1)
    >>> runs.arm, runs.plays
    (array([0, 0, 0, 0, 0]), array([500, 500, 500, 500, 500]))
    """

    plays: int
    neighbours: int = field(default=0, metadata={"saved": "if set"})

    name: ClassVar[str] = "linked-halving"
    asks: ClassVar[Asks] = "needs"

    def __post_init__(self) -> None:
        check_whole("plays", self.plays)
        check_whole("neighbours", self.neighbours, least=0)

    @property
    def goal(self) -> Goal:
        """The best arm, or one at most ``neighbours`` places away, with ``plays`` plays."""
        return Goal(neighbours=self.neighbours, budget=self.plays)

    def start(self, lanes: int, arms: int, seeds: SeedArray) -> LinkedHalvingState:
        """All plays are left, all arms in."""
        check_something_to_decide(self.neighbours, arms)
        counts = np.zeros((lanes, arms), dtype=np.int64)
        nothing = np.zeros(lanes, dtype=np.int64)
        return LinkedHalvingState(
            **open_lanes(lanes, arms),
            samples=counts,
            successes=counts.copy(),
            left=np.full(lanes, self.plays, dtype=np.int64),
            round_plays=nothing,
            round_samples=nothing.copy(),
        )

    def request(self, state: LinkedHalvingState) -> Needs:
        """The same of every survivor; if there are not plays enough, or were not before, one of those behind."""
        behind = _behind(state)
        even = np.asarray(~behind.any(axis=1))
        sampled = np.where(even[:, np.newaxis], state.still_in, behind)
        many = sampled.sum(axis=1)
        wanted = np.minimum(self._round_samples_left(state), state.left).astype(np.int64)
        each = np.where(even, wanted // many, 1)
        # With the worst of luck every sample takes a play: never ask for more samples than there are plays left.
        first_ones = np.cumsum(sampled, axis=1) <= state.left[:, np.newaxis]
        return Needs(np.where(sampled & first_ones, np.maximum(each, 1)[:, np.newaxis], 0))

    def observe(self, state: LinkedHalvingState, counts: Counts) -> None:
        """Keep the better half once the round has had its share; stop when no play is left."""
        plays = counts.most_plays()
        state.samples = state.samples + counts.samples
        state.successes = state.successes + counts.successes
        state.left = np.maximum(state.left - plays, 0)
        state.round_plays = state.round_plays + plays
        state.round_samples = state.round_samples + counts.samples.sum(axis=1)
        means = empirical_means(state.samples, state.successes)
        state.arm = best_arm(means, state.still_in)
        state.stopped = state.left == 0

        spent = self._round_samples_left(state) < state.still_in.sum(axis=1)
        over = self._to_be_halved(state) & ~_behind(state).any(axis=1) & spent
        state.still_in = np.where(over[:, np.newaxis], better_half(state.still_in, means), state.still_in)
        state.round_plays = np.where(over, 0, state.round_plays)
        state.round_samples = np.where(over, 0, state.round_samples)

    def _to_be_halved(self, state: LinkedHalvingState) -> BoolArray:
        """Where is there a round after this one? Until two arms are left, or all that are left are near to one."""
        undecided: BoolArray = state.still_in.sum(axis=1) > 2
        if self.neighbours > 0:
            undecided &= ~(state.still_in & within_reach_of_all(state.still_in, self.neighbours)).any(axis=1)
        return undecided

    def _round_samples_left(self, state: LinkedHalvingState) -> FloatArray:
        """How many samples the rest of the round's share buys at the price so far, and no more than the round has had.

        A new round assumes the highest price, a play for every sample, and buys one of every survivor in any case.
        """
        survivors = state.still_in.sum(axis=1)
        new = state.round_samples == 0
        price = np.where(new, 1.0, state.round_plays / np.maximum(state.round_samples, 1))
        rounds_left = np.where(self._to_be_halved(state), 1 + np.log2(np.maximum(price * survivors, 1)), 1.0)
        share = (state.left + state.round_plays) / rounds_left
        affordable = np.maximum(share - state.round_plays, 0) / np.maximum(price, 1 / survivors)
        bounded: FloatArray = np.where(
            new, np.maximum(affordable, survivors), np.minimum(affordable, state.round_samples)
        )
        return bounded


def _behind(state: LinkedHalvingState) -> BoolArray:
    """The survivors that have a sample less than others."""
    most = np.where(state.still_in, state.samples, 0).max(axis=1, keepdims=True)
    return np.asarray(state.still_in & (state.samples < most))


@dataclass(frozen=True)
class ErrorPoint:
    """How often LinkedHalving with a budget of ``plays`` named a wrong arm, and the 95 % interval of that."""

    plays: int
    error_rate: float
    error_interval: tuple[float, float]


def error_curve(
    means: npt.ArrayLike,
    budgets: Sequence[int],
    *,
    linkage: str | Linkage = "ordered",
    trials: int = 1000,
    seed: int = 0,
) -> list[ErrorPoint]:
    """What a budget buys: the error of ``LinkedHalving(plays)`` on these means, for every budget in turn.

    >>> for point in error_curve([0.3, 0.1, 0.2, 0.1], [30, 300], trials=500):
    ...     print(point.plays, round(point.error_rate, 2))
    30 0.28
    300 0.01
    """
    curve = []
    for plays in budgets:
        summary = simulate(means, LinkedHalving(plays), linkage=linkage, trials=trials, seed=seed).summary()
        curve.append(ErrorPoint(plays, summary.error_rate, summary.error_interval))
    return curve
