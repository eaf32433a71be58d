"""LinkedHalving: the best answer for a given number of plays (sequential halving, Karnin, Koren and Somekh 2013).

Sample the survivors for a share of the budget, keep the better half, repeat until two are left, and spend on these all
that remains. Samples are never thrown away. It differs from the original in what a play can do here:

- *No play is spent on making samples equal.* Asked for equal samples, the ordered linkage leaves out the arms that have
  theirs while the last arms catch up: the paper's SuffixSample. On ``one_sparse(10)`` that is 6.7 samples a play, and
  7.7 if all arms are played every time; so halving that asked for equal samples erred more than maximal sampling.
  Where tuples can be asked for, a request is therefore one tuple and a number of plays. Its plays are known
  beforehand, which keeps the budget exact.
- *The tuple is the one that is worth most.* A sample of an arm with t samples is worth w/t^2, by which w/t falls: the
  variance of its mean, weighed. A success hides the arms behind it, so arm i, of mean mu_i, is worth trying if that is
  more than mu_i times what the arms behind it are worth. Where successes are rare all survivors are tried, which is
  maximal sampling; where they are not, arms that have many samples are left out, which is nearly uniform sampling.
  An arm that is left out has no sample for sure, and what the others are worth is an estimate: so all survivors are
  tried unless the best choice of them is worth half as much again.
- *Close rivals weigh more*, w = 1/(1 + z^2) for an arm z standard errors below the leader. The worse half are those of
  the largest z, since samples are not equal.
- *Dropping arms may save little.* Let rho be the plays that one sample of every survivor takes: their number in the
  standard bandit, and 1 + mu_1 + ... + mu_{n-1} in the paper's Eq. 2. The original gives a round the share 1 / log2(n)
  of the budget as rho will be halved log2(n) times. Here it falls from rho to about 1, whatever n is, so a round gets
  the share 1 / (1 + log2(rho)) of the plays left. (In the standard bandit that is one share more than there are rounds,
  and the last two arms get it.)
- Where plays cannot be chosen (linkages ``single`` and ``suffix``) a request is for equal samples of all survivors, and
  never larger than the plays left even if every sample took one of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from linkedbandits.checks import check_whole
from linkedbandits.display import short_repr
from linkedbandits.linkage import Asks, Linkage, Ordered, Price
from linkedbandits.model import (
    BoolArray,
    Counts,
    FloatArray,
    IntArray,
    Needs,
    Repeats,
    best_arm,
)
from linkedbandits.policies.median_elimination import better_half
from linkedbandits.policy import (
    Goal,
    LaneState,
    Policy,
    SeedArray,
    WithoutGuarantee,
    check_neighbours,
    open_lanes,
    within_reach_of_all,
)
from linkedbandits.simulation import simulate

PRIOR_SAMPLES = 2.0
"""Estimates lean on the mean of all arms as if that were this many samples of each."""
STEP = 0.1
"""A request has this share of the plays made so far: what it is worth to try an arm is reckoned anew after it."""

PAYS = 1.5
"""Survivors are left out of a play if it is then worth more than this many times what it is worth with all of them."""

Plays = Literal["needs", "ordered tuples", "tuples"]
"""What a fitted policy asks for."""


@dataclass
class LinkedHalvingState(LaneState):
    """All samples and successes, the plays left, and those that the current round has taken."""

    samples: IntArray
    successes: IntArray
    left: IntArray
    round_plays: IntArray


@dataclass(frozen=True)
class LinkedHalving(WithoutGuarantee, Policy[LinkedHalvingState]):
    """Take exactly ``plays`` plays, then name the arm with the highest estimate among the last survivors.

    Nothing is proved about its error; :func:`error_curve` measures it. An experiment with several plays out at once may
    hand out some more than the policy needs to its end; there, give the experiment the same number as ``max_plays``.

    ``neighbours`` says how many places off the best arm an answer may be. Survivors that are all that close to one of
    them are not halved further, and share what is left of the plays. ``price``, ``play`` and ``parallel`` are set by
    what the policy runs under.

    >>> import linkedbandits as lb
    >>> from linkedbandits.policies.linked_halving import LinkedHalving
    >>> runs = lb.simulate([0.3, 0.1, 0.2, 0.1], LinkedHalving(plays=500), trials=5, seed=1)
    >>> runs.arm, runs.plays
    (array([0, 0, 0, 0, 0]), array([500, 500, 500, 500, 500]))
    """

    plays: int
    neighbours: int = field(default=0, metadata={"saved": "if set"})
    parallel: int = field(default=1, kw_only=True, repr=False, metadata={"saved": False})
    price: Price = field(default=Ordered.price, repr=False, compare=False, metadata={"saved": False})
    play: Plays = field(default="needs", kw_only=True, repr=False, compare=False, metadata={"saved": False})

    name: ClassVar[str] = "linked-halving"
    asks: ClassVar[Asks] = "needs"
    answers_at_any_time: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_whole("plays", self.plays)
        check_whole("neighbours", self.neighbours, least=0)

    @property
    def goal(self) -> Goal:
        """The best arm, or one at most ``neighbours`` places away, with ``plays`` plays."""
        return Goal(neighbours=self.neighbours, budget=self.plays)

    def fitted_to(self, linkage: Linkage, parallel: int | None) -> Self:
        """Tuples in the best order, tuples in the arms' order, or needs: the first that the linkage allows."""
        kinds: tuple[Plays, ...] = ("tuples", "ordered tuples")
        play: Plays = next((kind for kind in kinds if linkage.allows(kind)), "needs")
        return replace(self, price=linkage.price, play=play, parallel=parallel or self.parallel)

    def start(self, lanes: int, arms: int, seeds: SeedArray) -> LinkedHalvingState:
        """All plays are left, all arms in."""
        check_neighbours(self.neighbours, arms)
        counts = np.zeros((lanes, arms), dtype=np.int64)
        return LinkedHalvingState(
            **open_lanes(lanes, arms),
            samples=counts,
            successes=counts.copy(),
            left=np.full(lanes, self.plays, dtype=np.int64),
            round_plays=np.zeros(lanes, dtype=np.int64),
        )

    def request(self, state: LinkedHalvingState) -> Repeats | Needs:
        """The tuple worth most, for a part of the round's plays; or equal samples."""
        means, share = self._means_and_share(state)
        if self.play == "needs":
            return self._equal_samples(state, share / self._price_of_all(state, means))
        worth = state.still_in / ((state.samples + PRIOR_SAMPLES) ** 2 * (1 + _distance(state, means)))
        if self.play == "tuples":
            order, tried = np.argsort(-worth / means, axis=1, kind="stable"), state.still_in
        else:
            chosen = worth_trying(worth, means)
            pays = worth_of_a_play(chosen, worth, means) > PAYS * worth_of_a_play(state.still_in, worth, means)
            order, tried = np.broadcast_to(np.arange(means.shape[1]), means.shape), state.still_in
            tried = np.where(pays[:, np.newaxis], chosen, tried)
        tried = np.take_along_axis(tried, order, axis=1)
        tried_first = np.argsort(~tried, axis=1, kind="stable")
        tuples = np.take_along_axis(np.where(tried, order, -1), tried_first, axis=1)
        step = np.maximum(np.ceil(STEP * (self.plays - state.left)), self.parallel)
        times = np.minimum(np.clip(np.ceil(share), 1, step), state.left)
        return Repeats(tuples, times.astype(np.int64))

    def _equal_samples(self, state: LinkedHalvingState, affordable: FloatArray) -> Needs:
        """The same of every survivor; if there are not plays enough, or were not before, one of those behind."""
        behind = _behind(state)
        even = np.asarray(~behind.any(axis=1))
        sampled = np.where(even[:, np.newaxis], state.still_in, behind)
        # With the worst of luck every sample takes a play: never ask for more samples than there are plays left.
        each = np.minimum(affordable.astype(np.int64), state.left // sampled.sum(axis=1))
        each = np.where(even, np.maximum(each, 1), 1)
        first_ones = np.cumsum(sampled, axis=1) <= state.left[:, np.newaxis]
        return Needs(np.where(sampled & first_ones, each[:, np.newaxis], 0))

    def observe(self, state: LinkedHalvingState, counts: Counts) -> None:
        """Keep the better half once the round has had its share; stop when no play is left."""
        plays = counts.most_plays()
        state.samples = state.samples + counts.samples
        state.successes = state.successes + counts.successes
        state.left = np.maximum(state.left - plays, 0)
        state.round_plays = state.round_plays + plays
        means, share = self._means_and_share(state)
        state.arm = best_arm(means, state.still_in)
        state.stopped = state.left == 0

        if self.play == "needs":
            spent = (share < self._price_of_all(state, means)) & ~_behind(state).any(axis=1)
        else:
            spent = share < 1
        all_seen = np.asarray(((state.samples > 0) | ~state.still_in).all(axis=1))
        over = self._to_be_halved(state) & all_seen & spent
        kept = better_half(state.still_in, -_distance(state, means))
        state.still_in = np.where(over[:, np.newaxis], kept, state.still_in)
        state.round_plays = np.where(over, 0, state.round_plays)

    def _to_be_halved(self, state: LinkedHalvingState) -> BoolArray:
        """Where is there a round after this one? Until two arms are left, or all that are left are near to one."""
        undecided: BoolArray = state.still_in.sum(axis=1) > 2
        if self.neighbours > 0:
            undecided &= ~(state.still_in & within_reach_of_all(state.still_in, self.neighbours)).any(axis=1)
        return undecided

    def _price_of_all(self, state: LinkedHalvingState, means: FloatArray) -> FloatArray:
        """The plays that one sample of every survivor takes, rho."""
        return np.maximum(self.price(state.still_in.astype(np.float64), means), 1)

    def _means_and_share(self, state: LinkedHalvingState) -> tuple[FloatArray, FloatArray]:
        """Estimates of all means, and the plays that are left of the round's share."""
        means = leaning_means(state.samples, state.successes)
        halvings = np.log2(self._price_of_all(state, means))
        rounds_left = np.where(self._to_be_halved(state), 1 + halvings, 1.0)
        share = (state.left + state.round_plays) / rounds_left - state.round_plays
        return means, np.maximum(share, 0)


def leaning_means(samples: IntArray, successes: IntArray) -> FloatArray:
    """Estimates between 0 and 1, both excluded: each arm's own mean, drawn a little to that of all arms.

    An arm of few samples would otherwise lead by chance more often than one of many.

    >>> leaning_means(np.array([[8, 0]]), np.array([[4, 0]]))
    array([[0.5, 0.5]])
    """
    of_all = (successes.sum(axis=1, keepdims=True) + 0.5) / (samples.sum(axis=1, keepdims=True) + 1)
    return np.asarray((successes + PRIOR_SAMPLES * of_all) / (samples + PRIOR_SAMPLES))


def worth_trying(worth: FloatArray, means: FloatArray) -> BoolArray:
    """Which arms to try in a play in order, so that what it tries is worth most: (lanes, arms).

    From the last arm back: a try adds its worth, and with the arm's mean takes away what is behind it.

    >>> worth_trying(np.array([[1.0, 1.0, 1.0]]), np.array([[0.7, 0.4, 0.9]]))
    array([[False,  True,  True]])
    """
    behind = np.zeros(worth.shape[0])
    gains = np.empty(worth.shape[::-1])
    for arm in range(worth.shape[1] - 1, -1, -1):
        gains[arm] = worth[:, arm] - means[:, arm] * behind
        behind += np.maximum(gains[arm], 0)
    return np.asarray(gains.T > 0)


def worth_of_a_play(tried: BoolArray, worth: FloatArray, means: FloatArray) -> FloatArray:
    """What a play in order that tries these arms is worth on average: of every arm, if it is reached.

    >>> worth_of_a_play(np.array([[True, False, True]]), np.array([[1.0, 2.0, 4.0]]), np.array([[0.5, 0.4, 0.9]]))
    array([3.])
    """
    failed_so_far = np.cumprod(np.where(tried, 1 - means, 1.0), axis=1)
    reached = np.concatenate([np.ones_like(means[:, :1]), failed_so_far[:, :-1]], axis=1)
    return np.asarray((np.where(tried, worth, 0.0) * reached).sum(axis=1))


def _distance(state: LinkedHalvingState, means: FloatArray) -> FloatArray:
    """How far each arm is below the leader, in standard errors, squared."""
    leader = best_arm(means, state.still_in)[:, np.newaxis]
    variance = means * (1 - means) / (state.samples + PRIOR_SAMPLES)
    gap = np.take_along_axis(means, leader, axis=1) - means
    return np.asarray(gap**2 / (variance + np.take_along_axis(variance, leader, axis=1)))


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

    __repr__ = short_repr


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
    30 0.25
    300 0.01
    """
    curve = []
    for plays in budgets:
        summary = simulate(means, LinkedHalving(plays), linkage=linkage, trials=trials, seed=seed).summary()
        curve.append(ErrorPoint(plays, summary.error_rate, summary.error_interval))
    return curve
