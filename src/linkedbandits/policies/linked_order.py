"""LinkedOrder: which option to try first, which after that has failed, and so on, whatever depends on what.

The first place of the order belongs to the option that succeeds most often. The second one belongs to the option that
succeeds most often on the requests on which the first has failed, and so on: the greedy order. Where options fail
together it is not the order of their means: what is second best on all requests may fail on just those that are left.

One place is found after the other, by the duels of :mod:`linkedbandits.policies.linked_duels`. When options w_1 to w_s
have their places, a play tries them first and the two of a duel behind them. So users are served by the best options
known, and the duel is reached where all of those have failed. A play that ends before its duel says nothing about the
place, and its factor in the bets is 1.

*All places together are wrong with probability at most delta*: each has an equal share of it. At every place that has
come to an end, if one option is ahead of all others that are left, by the gap if one is given, it stands there, whether
or not the options before it are right. It is not proved that the order takes the fewest attempts. The proofs are in
``docs/duels.md``, section 6.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import ClassVar

import numpy as np

from linkedbandits.assumptions import Assumption
from linkedbandits.checks import check_delta, check_positive, check_whole
from linkedbandits.errors import InvalidParameter
from linkedbandits.linkage import Asks, Linkage
from linkedbandits.model import BoolArray, Counts, FloatArray, IntArray, Tuples
from linkedbandits.policies.in_batches import InBatches
from linkedbandits.policies.linked_duels import (
    DuelsState,
    Told,
    count_duels,
    ends_plan,
    open_duels,
    plan_duels,
    settle_bets,
    times_asked,
    wealth,
)
from linkedbandits.policies.with_guarantee import WithGuarantee
from linkedbandits.policy import Goal, SeedArray
from linkedbandits.stopping.duels import DuelBets

PARTS = len(fields(DuelBets))
"""Of a bet, those for plays that miss their duel among them."""


@dataclass
class LinkedOrderState(DuelsState):
    """The duels for the present place, and the places that have been given.

    What :class:`~linkedbandits.policies.linked_duels.DuelsState` has is of the present place alone; ``block``
    counts its blocks, and ``rounds`` those of the whole run. ``place`` is how many places have been given, ``order``
    has the options in them and -1 behind, ``settled`` says which of them are. ``still_in`` are those options and the
    ones that can still have the present place. ``reach`` is the share of requests that were expected to come to
    the present place when it began; of ``made`` plays since then, ``reached`` did. ``behind_leader`` counts plays in
    which the present leader failed and the option came next, ``behind_leader_hits`` its successes in these: what is
    known of the next place if the leader gets this one.
    """

    rounds: IntArray
    place: IntArray
    order: IntArray
    settled: BoolArray
    reach: FloatArray
    made: FloatArray
    reached: FloatArray
    behind_leader: FloatArray
    behind_leader_hits: FloatArray


@dataclass(frozen=True)
class LinkedOrder(WithGuarantee, InBatches[LinkedOrderState]):
    """Find the first ``places`` of the greedy order: each option the best on the requests that all before it fail on.

    The verdict's ``top`` is that order, and its ``settled`` says which places are decided. With ``places`` equal to the
    number of options the whole order is found. Nothing is assumed of how options depend on each other within a request;
    requests have to be independent of each other and alike, and the linkage ``free``.

    ``gap`` is how far ahead an option has to be to matter, as a share of *all* requests: those on which all before it
    fail and it succeeds. That is also how many attempts per request two neighbours in the order save when they change
    places. With a gap every place gets settled, and ties are passed over. Without one, a tie at some place is duelled
    over for ever; use ``max_plays``.

    With probability at least 1 - ``delta``, at every place that is settled: if one option is ahead of all others that
    are left (by ``gap`` or more), it stands there. So without a gap, the best stands there; with one, no other option
    is ahead of all others by that much.

    >>> import linkedbandits as lb
    >>> table = lb.OutcomeTable([[1, 1, 0]] * 40 + [[1, 0, 0]] * 20 + [[0, 0, 1]] * 30 + [[0, 1, 0]] * 10)
    >>> table.means, table.greedy_order()
    (array([0.6, 0.5, 0.3]), (0, 2, 1))
    >>> world = table.world(trials=20, seed=1)
    >>> runs = lb.simulate(table.means, lb.LinkedOrder(0.1, places=3), linkage="free", world=world, trials=20)
    >>> bool((runs.top == table.greedy_order()).all(axis=1).mean() >= 0.9)
    True
    """

    delta: float
    places: int = 2
    gap: float | None = None
    parallel: int = field(default=1, kw_only=True, repr=False)

    name: ClassVar[str] = "linked-order"
    asks: ClassVar[Asks] = "tuples"
    answers_at_any_time: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_delta(self.delta)
        check_whole("places", self.places)
        check_delta(self.delta / self.places)
        if self.gap is not None:
            check_positive("gap", self.gap, most=1.0)

    @property
    def goal(self) -> Goal:
        """The first places of the order, wrong with probability at most ``delta``."""
        return Goal(delta=self.delta, k=self.places, in_order=True)

    def assumptions(self, linkage: Linkage) -> tuple[Assumption, ...]:
        """Nothing of how options go together. A gap says what matters, and not what is so."""
        return ()

    def start(self, lanes: int, arms: int, seeds: SeedArray) -> LinkedOrderState:
        """Everybody duels with the first option for the first place, without a bet."""
        if self.places > arms:
            raise InvalidParameter(f"places={self.places} of {arms} options; choose at most {arms}")
        return LinkedOrderState(
            **open_duels(lanes, arms, seeds, self.parallel, PARTS),
            rounds=np.zeros(lanes, dtype=np.int64),
            place=np.zeros(lanes, dtype=np.int64),
            order=np.full((lanes, self.places), -1, dtype=np.int64),
            settled=np.zeros((lanes, self.places), dtype=np.bool_),
            reach=np.ones(lanes),
            made=np.zeros(lanes),
            reached=np.zeros(lanes),
            behind_leader=np.zeros((lanes, arms)),
            behind_leader_hits=np.zeros((lanes, arms)),
        )

    def request(self, state: LinkedOrderState) -> Tuples:
        """The options that have their places, and behind them every rival and the leader, in both orders."""
        lanes, arms = state.asked.shape
        width = self._duelled(arms) + 1
        before = np.full((lanes, width), -1, dtype=np.int64)
        before[:, : self.places] = state.order[:, :width]
        order = np.repeat(before[:, np.newaxis], 2 * arms, axis=1).reshape(lanes, 2, arms, width)
        lane, place = np.arange(lanes), state.place
        order[lane, 0, :, place] = order[lane, 1, :, place + 1] = np.arange(arms)
        order[lane, 0, :, place + 1] = order[lane, 1, :, place] = state.leader[:, np.newaxis]
        # Those who do not duel with the leader, never played, are tuples of one arm.
        idle = ~_without_a_place(state)
        idle[lane, state.leader] = True
        lane, arm = idle.nonzero()
        order[lane, :, arm] = -1
        order[lane, :, arm, 0] = arm[:, np.newaxis]
        shuffle = state.seed + state.rounds.astype(np.uint64)
        return Tuples(order.reshape(lanes, 2 * arms, width), times_asked(state), shuffle)

    def observe(self, state: LinkedOrderState, counts: Counts) -> None:
        """Settle the bets, drop what they refute; give the place, or plan the next blocks, when it is time."""
        assert counts.hits is not None
        lanes, arms = state.asked.shape
        state.block = state.block + 1
        state.rounds = state.rounds + 1
        hits, missed = _at_the_duel(state, counts.hits.reshape(lanes, 2, arms, -1))
        was_in = state.still_in
        settle_bets(state, hits, self._duelled(arms) / self.delta, missed)
        _count_what_comes_next(state, hits, missed)
        count_duels(state, hits, missed)
        state.challenging = state.challenging & (state.still_in | ~was_in)
        self._give_places(state)
        due = ~state.stopped & ends_plan(state.block)
        if due.any():
            self._plan(state, due)
        state.arm = np.where(state.place > 0, state.order[:, 0], state.leader)

    def answer(self, state: LinkedOrderState) -> IntArray:
        """The order, (lanes, places): the places given, then the leader of the present one, then the others."""
        lane = np.arange(state.leader.size)
        standing = np.clip(state.standing, -1.0, 1.0)
        standing[lane, state.leader] = 2.0
        given = state.order >= 0
        row, place = given.nonzero()
        standing[row, state.order[row, place]] = 2.0 + self.places - place
        return np.asarray(np.argsort(-standing, axis=1, kind="stable")[:, : self.places])

    def settled(self, state: LinkedOrderState) -> BoolArray:
        """Which places of the answer are decided? (lanes, places)"""
        return state.settled

    def log10_evidence(self, state: LinkedOrderState) -> FloatArray:
        """What speaks against "this option is the best for the present place"; at 1/delta an option is dropped.

        The share of delta that each place has is in it: it begins at one over the number of places.
        """
        return np.asarray(np.log10(wealth(state) / self._duelled(state.asked.shape[1])))

    def _duelled(self, arms: int) -> int:
        """For how many places there are duels: whoever is left over needs none."""
        return min(self.places, arms - 1)

    def _give_places(self, state: LinkedOrderState) -> None:
        """Where one option is left for the place, or none, give it; then stop, or begin with the next place."""
        candidates = state.still_in & _without_a_place(state)
        left = candidates.sum(axis=1)
        lane = np.flatnonzero(left <= 1)
        if not lane.size:
            return
        place = state.place[lane]
        given = np.where(left[lane] == 1, candidates[lane].argmax(axis=1), state.leader[lane])
        state.order[lane, place] = given
        # Without a gap one option is the best: if all are refuted, that was bad luck.
        state.settled[lane, place] = (left[lane] == 1) | (self.gap is not None)
        state.place[lane] += 1
        arms = state.asked.shape[1]
        last = state.place[lane] == self._duelled(arms)
        state.stopped[lane[last]] = True
        if self.places == arms:  # the option that is left over
            done = lane[last]
            state.order[done, -1] = _without_a_place(state)[done].argmax(axis=1)
            state.settled[done, -1] = True
            state.place[done] += 1
        _begin_place(state, lane[~last], given[~last])

    def _plan(self, state: LinkedOrderState, due: BoolArray) -> None:
        """Plan in the lanes whose turn it is."""
        part = state if due.all() else state.take(due)
        led = part.leader
        reach = _share_that_reaches(part)
        gap = 0.0 if self.gap is None else self.gap
        told = Told(least=0.0, beyond=gap / reach, shift=gap)
        plan_duels(part, self.parallel, told, reach, _without_a_place(part))
        changed = part.leader != led
        part.behind_leader[changed] = part.behind_leader_hits[changed] = 0.0
        part.bets[part.block == 0] = 0.0
        if part is not state:
            state.put(due, part)


def _without_a_place(state: LinkedOrderState) -> BoolArray:
    """The options that have been given no place yet, (lanes, arms)."""
    free = np.ones_like(state.still_in)
    lane, place = (state.order >= 0).nonzero()
    free[lane, state.order[lane, place]] = False
    return free


def _at_the_duel(state: LinkedOrderState, hits: IntArray) -> tuple[IntArray, IntArray]:
    """The hits of the two of each duel, and how many plays of each tuple ended before it.

    Tuples that were not played may be shorter: nothing ended there.
    """
    place = state.place[:, np.newaxis, np.newaxis, np.newaxis]
    two = np.take_along_axis(hits, place + np.arange(2), axis=3)
    missed = np.where(np.arange(hits.shape[3]) < place, hits, 0).sum(axis=3)
    plays = state.step * (state.challenging.sum(axis=1) + state.asked.sum(axis=1))
    state.made = state.made + plays
    state.reached = state.reached + (plays - missed.sum(axis=(1, 2)))
    return two, np.asarray(missed)


def _count_what_comes_next(state: LinkedOrderState, hits: IntArray, missed: IntArray) -> None:
    """What every option does behind the leader: how it would do at the next place, were the leader given this one."""
    came = state.asked * state.step[:, np.newaxis] - missed[:, 1] - hits[:, 1, :, 0]
    state.behind_leader = state.behind_leader + came
    state.behind_leader_hits = state.behind_leader_hits + hits[:, 1, :, 1]


def _share_that_reaches(state: LinkedOrderState) -> FloatArray:
    """The share of plays that come to the present place, from what was seen and what was expected."""
    return np.asarray((state.reached + state.reach) / (state.made + 1))


def _begin_place(state: LinkedOrderState, lane: IntArray, given: IntArray) -> None:
    """Begin the next place in these lanes. Evidence starts anew; predictions may use what was seen before."""
    passed = 1 - (state.first_hits[lane, given] + 0.5) / (state.firsts[lane, given] + 1)
    state.reach[lane] = _share_that_reaches(state)[lane] * passed
    of_leader = (state.leader[lane] == given)[:, np.newaxis]
    state.firsts[lane] = state.behind_leader[lane] * of_leader
    state.first_hits[lane] = state.behind_leader_hits[lane] * of_leader
    state.leader[lane] = _without_a_place(state)[lane].argmax(axis=1)
    state.still_in = state.still_in.copy()
    state.still_in[lane] = True
    for zero in (
        state.block,
        state.level,
        state.made,
        state.reached,
        state.seconds,
        state.rescues,
        state.ahead,
        state.ahead_lost,
        state.behind,
        state.behind_won,
        state.behind_leader,
        state.behind_leader_hits,
        state.capital,
    ):
        zero[lane] = 0
