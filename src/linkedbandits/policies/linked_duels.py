"""LinkedDuels: the best option where options fail together, from duels in both orders.

Every other policy of the library takes the options of a play to be independent. Here nothing is assumed of how they
depend on each other within a request: the best option is the one that succeeds most often when it is tried first.

The option that seems best leads. Each block of plays has, for every rival still in, as many plays in which the rival is
tried first and the leader second as plays in which the leader is first and the rival second. What the first of a play
does is a sample of its mean. What the second does after the first has failed is none, but in both orders together it
tells the two apart: the leader rescues more requests from the rival than the rival from the leader, by exactly the
difference of their means. Capital is bet against "this rival is the best" on both
(:mod:`linkedbandits.stopping.duels`), and the rival is dropped when the capital reaches 1/delta.

*The answer is wrong with probability at most delta.* The capital against the best option, with its reserve, is a
nonnegative supermartingale from 1, whichever leads and whatever depends on what; it reaches 1/delta with probability at
most delta. No union over options or pairs is needed. The proofs are in ``docs/duels.md``.

*Every run ends* where the best option is unique: an option that was dropped may still lead, and takes part in duels
again when what speaks against it has become too little for the plays since. Told a gap, right or wrong, runs end in
ties as well; that is in part computed and not proved.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field, fields
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from linkedbandits.assumptions import Assumption, ToldDifference
from linkedbandits.checks import check_delta, check_one_best, check_positive
from linkedbandits.linkage import Asks, Linkage
from linkedbandits.model import BoolArray, Counts, FloatArray, IntArray, Tuples
from linkedbandits.policy import InBatches, LaneState, SeedArray, WithGuarantee, open_lanes
from linkedbandits.stopping.duels import DuelBets, place_duel_bets
from linkedbandits.stopping.evidence import grow

GROWTH = 0.015
"""A block asks for this share of the duels a rival has had."""
LOOKS = 10
"""One plan and one bet serve this many blocks, once the first few are over;"""
EARLY_BLOCKS = 28
"""before that two,"""
FIRST_BLOCKS = 12
"""and in the very beginning every block has its own."""
FIRST_SUCCESSES = 0.3
"""A block is not shorter than it takes the leader to have this many successes, or a quarter of what was seen."""
RESERVE = 8.0
"""About how many blocks the capital takes to enter the bets."""
RECALL = 2.0
"""A dropped option duels again while its distance to the leader, squared, over twice its variance is below this times
the logarithm of how much longer the run is than its own part in it."""

PIECE = 2048
"""Bets are made for this many rivals at a time: then what is worked with stays in the processor's cache."""

STAKES: FloatArray = np.array([0.25, 0.75])
"""Of the requests on which two options differ, the share by which the leader is taken to win more than it loses;"""
WEIGHTS: FloatArray = np.array([0.7, 0.3])
"""the part of the capital that is bet on each;"""
HIGHEST: FloatArray = np.array([0.7, 1.2])
"""and by how many standard errors the difference it stands for may exceed the one that was seen."""

CLOSER = 1.0
"""Told a gap, bets are for a lead of as much, or of what was seen and this many standard errors, if that is less."""


@dataclass
class LinkedDuelsState(LaneState):
    """Counts, who leads, the plays and bets of the present block, and the capital that bets have made.

    ``firsts`` and ``first_hits`` are of every option as the first of a play; ``seconds`` and ``rescues`` of duels in
    which the first one failed, whichever led. ``ahead`` and ``behind`` count duels with the present leader in which the
    option was first, and second; ``ahead_lost`` those of them in which the leader rescued, ``behind_won`` those in
    which the option did. ``standing`` is how far each option seems to be above the leader, ``spread`` with what
    standard error. ``bets`` (lanes, arms, 6, stakes) are the fields of
    :class:`~linkedbandits.stopping.duels.DuelBets`. In memory these and the capital have lanes and arms innermost, as
    :func:`by_cell` says. Counts are needed for plans alone, so the blocks since the last plan are counted together:
    ``planned`` is the block before them, ``challenged`` says in how many of them every option was first, ``new_hits``
    (lanes, 2, arms, 2) have the hits of all their duels. ``carried`` is the capital against every option that the run
    began with, beyond which ``capital`` is what it has made of 1 since.
    """

    seed: SeedArray
    block: IntArray
    level: FloatArray
    step: IntArray
    leader: IntArray
    asked: BoolArray
    challenging: BoolArray
    firsts: FloatArray
    first_hits: FloatArray
    seconds: FloatArray
    rescues: FloatArray
    ahead: FloatArray
    ahead_lost: FloatArray
    behind: FloatArray
    behind_won: FloatArray
    standing: FloatArray
    spread: FloatArray
    bets: FloatArray
    capital: FloatArray
    carried: FloatArray
    planned: IntArray
    challenged: IntArray
    new_hits: IntArray


@dataclass(frozen=True)
class LinkedDuels(WithGuarantee, InBatches[LinkedDuelsState]):
    """Find the option that succeeds most often, whatever depends on what; wrong with probability at most ``delta``.

    Requests have to be independent of each other and alike; within a request the options may fail together, or take
    turns, in any way. Duels are played in both orders, so the linkage has to be ``free``. The best option has to be
    unique for the run to end by itself, unless a gap is told. There is no ``k``: for the k best of dependent options
    nothing is proved here.

    ``gap`` says that the best option is ahead of every other by at least so much: it makes runs shorter, by two to
    four times if it is exact, and the guarantee holds only if it is right.

    >>> import linkedbandits as lb
    >>> runs = lb.simulate([0.3, 0.6, 0.4], lb.LinkedDuels(delta=0.1), linkage="free", trials=100, seed=1)
    >>> bool(runs.error_rate() <= 0.1), bool(runs.plays.mean() < 400)
    (True, True)
    """

    delta: float
    gap: float | None = None
    parallel: int = field(default=1, kw_only=True, repr=False)
    k: InitVar[int] = field(default=1, kw_only=True)

    name: ClassVar[str] = "linked-duels"
    asks: ClassVar[Asks] = "tuples"
    answers_at_any_time: ClassVar[bool] = True

    instead_of_k: ClassVar[str] = "for the k best of independent options use linked-elimination:k=2"

    def __post_init__(self, k: int) -> None:
        check_one_best("LinkedDuels", k, self.instead_of_k)
        check_delta(self.delta)
        if self.gap is not None:
            check_positive("gap", self.gap, most=1.0)

    @property
    def told_difference(self) -> ToldDifference | None:
        """The gap, if there is one."""
        return None if self.gap is None else ToldDifference(gap=self.gap)

    def assumptions(self, linkage: Linkage) -> tuple[Assumption, ...]:
        """Nothing of how options go together; that the gap is right, if one is told."""
        return () if self.told_difference is None else (self.told_difference.assumption(),)

    def start(self, lanes: int, arms: int, seeds: SeedArray) -> LinkedDuelsState:
        """Everybody duels with the first option, without a bet."""
        rivals = np.ones((lanes, arms), dtype=np.bool_)
        rivals[:, 0] = False
        counts = ("firsts", "first_hits", "seconds", "rescues", "ahead", "ahead_lost", "behind", "behind_won")
        zeros: dict[str, Any] = {name: np.zeros((lanes, arms)) for name in counts}
        return LinkedDuelsState(
            **open_lanes(lanes, arms),
            seed=seeds,
            block=np.zeros(lanes, dtype=np.int64),
            level=np.zeros(lanes),
            step=np.full(lanes, 1 + (self.parallel - 1) // (2 * (arms - 1)), dtype=np.int64),
            leader=np.zeros(lanes, dtype=np.int64),
            asked=rivals,
            challenging=rivals.copy(),
            **zeros,
            standing=np.zeros((lanes, arms)),
            spread=np.ones((lanes, arms)),
            bets=by_lane(np.zeros((len(fields(DuelBets)), STAKES.size, lanes * arms)), arms),
            capital=by_lane(np.zeros((STAKES.size, lanes * arms)), arms),
            carried=np.ones((lanes, arms)),
            planned=np.zeros(lanes, dtype=np.int64),
            challenged=np.zeros((lanes, arms), dtype=np.int64),
            new_hits=_no_hits(lanes, arms),
        )

    def request(self, state: LinkedDuelsState) -> Tuples:
        """Every rival first and the leader second, then the other way round, ``step`` times each."""
        lanes, arms = state.asked.shape
        # Where there are more lanes than arms, many have the same leader: what they ask is written once for each arm.
        order = _duels_with(state.leader, arms) if lanes <= arms else _duels_by_leader(arms).take(state.leader, axis=0)
        return Tuples(order, times_asked(state), state.seed + state.block.astype(np.uint64))

    def observe(self, state: LinkedDuelsState, counts: Counts) -> None:
        """Settle the bets, drop what they refute, and plan the next blocks when it is time."""
        lanes, arms = state.asked.shape
        state.block = state.block + 1
        assert counts.hits is not None
        hits = counts.hits.reshape(lanes, 2, arms, 2)
        was_in = state.still_in
        settle_bets(state, hits, 1 / self.delta)
        state.new_hits += hits
        state.challenged += state.challenging
        if state.still_in is not was_in:
            state.challenging = state.challenging & (state.still_in | ~was_in)
            self._answer(state)
        block = int(state.block[0])  # lanes start together and take one block a step
        if block % blocks_of_a_plan(block) == 0 and not state.stopped.all():
            _count_since_plan(state)
            plan_duels(state, self.parallel, 0.0 if self.gap is None else self.gap)
            state.arm = np.where(state.stopped, state.arm, state.leader)

    def carry_over(self, state: LinkedDuelsState, capital: FloatArray) -> bool:
        """Go on from this capital: an option is dropped when that times what the run makes of 1 reaches 1/delta."""
        lane = np.arange(capital.shape[0])
        state.carried = capital
        state.still_in = capital < 1 / self.delta
        state.leader = state.arm = capital.argmin(axis=1)  # the option that least speaks against
        state.asked = np.ones_like(state.still_in)
        state.asked[lane, state.leader] = False
        state.challenging = state.asked.copy()
        return True

    def log10_evidence(self, state: LinkedDuelsState) -> FloatArray:
        """What speaks against "this option is the best", (lanes, arms); at 1/delta an option is dropped."""
        return np.asarray(np.log10(wealth(state)))

    def _answer(self, state: LinkedDuelsState) -> None:
        """Stop where one option is left, or none; until then the leader is the answer."""
        left = sum_over_arms(state.still_in)
        state.stopped = left <= 1
        state.arm = np.where(left == 1, state.still_in.argmax(axis=1), state.leader)


def blocks_of_a_plan(block: int) -> int:
    """How many blocks one plan serves when there have been so many."""
    return 1 if block < FIRST_BLOCKS else 2 if block < EARLY_BLOCKS else LOOKS


def reserve(block: IntArray) -> FloatArray:
    """What has not entered the bets before the next block."""
    return np.asarray(RESERVE / (RESERVE + block))


def by_cell(array: FloatArray) -> FloatArray:
    """Bets or capital, (lanes, arms, ...), with the cells of a lane and an arm in a row: (..., lanes * arms).

    They lie in memory like that, so this costs nothing: to take or change some cells along one long axis takes a tenth
    of the time that it takes where the numbers of each cell are next to each other.
    """
    return array.transpose(*range(2, array.ndim), 0, 1).reshape(*array.shape[2:], -1)


def by_lane(cells: FloatArray, arms: int) -> FloatArray:
    """What :func:`by_cell` has put in a row, as (lanes, arms, ...); nothing moves in memory."""
    return cells.reshape(*cells.shape[:-1], -1, arms).transpose(-2, -1, *range(cells.ndim - 1))


def sum_over_arms(counts: IntArray | FloatArray | BoolArray) -> FloatArray:
    """The sum of every lane, of whole numbers: (lanes, arms) to (lanes,), several times faster than ``sum``."""
    return np.asarray(counts @ np.ones(counts.shape[1]))


def times_asked(state: LinkedDuelsState) -> IntArray:
    """How often to play the duels that every option begins, and those that the leader begins: (lanes, 2 * arms)."""
    lanes, arms = state.asked.shape
    playing = np.empty((lanes, 2, arms), dtype=np.bool_)
    playing[:, 0], playing[:, 1] = state.challenging, state.asked
    return np.asarray(playing.reshape(-1) * state.step.repeat(2 * arms)).reshape(lanes, 2 * arms)


def _duels_with(leader: IntArray, arms: int) -> IntArray:
    """The pairs of every arm and the leader, then of the leader and every arm: (leaders, 2 * arms, 2)."""
    order = np.empty((leader.size, 2, arms, 2), dtype=np.int64)
    order[:, 0, :, 0] = order[:, 1, :, 1] = np.arange(arms)
    order[:, 0, :, 1] = order[:, 1, :, 0] = leader[:, np.newaxis]
    # The leader does not duel with itself: its two rows, never played, are of one arm.
    order[np.arange(leader.size), :, leader, 1] = -1
    return order.reshape(leader.size, 2 * arms, 2)


@lru_cache(maxsize=16)
def _duels_by_leader(arms: int) -> IntArray:
    """The same for every arm as the leader; remembered, for blocks are many."""
    return _duels_with(np.arange(arms), arms)


def wealth(state: LinkedDuelsState) -> FloatArray:
    """Capital and reserve against every option, (lanes, arms): a supermartingale from 1 for the best one."""
    return np.asarray((state.capital.sum(axis=2) + reserve(state.block)[:, np.newaxis]) * state.carried)


def settle_bets(state: LinkedDuelsState, hits: IntArray, enough: float) -> None:
    """Pay out the block's bets, and drop the options against which there is ``enough``.

    ``hits`` (lanes, 2, arms, 2) are those of the first and the second of the duels that each option begins, and of
    those that the leader begins.
    """
    arms = state.asked.shape[1]
    kept = reserve(state.block)
    entering = (reserve(state.block - 1) - kept).repeat(arms)
    capital = by_cell(state.capital) + entering * WEIGHTS[:, np.newaxis]
    cell = np.flatnonzero(state.still_in & state.challenging)
    lane = cell // arms
    own, led = cell + lane * arms, cell + (lane + 1) * arms  # the tuples in which the option is first, and second
    by_first, by_second = hits[..., 0].reshape(-1), hits[..., 1].reshape(-1)
    won = np.empty((state.bets.shape[2], cell.size))  # in the order of the fields of DuelBets
    won[0] = 1
    won[1] = np.einsum("ij->i", hits[:, 1, :, 0]).take(lane)
    won[2], won[5] = by_first.take(led), by_second.take(led)
    won[3], won[4] = by_first.take(own), by_second.take(own)
    bets = by_cell(state.bets).take(cell, axis=2)
    grown = grow(capital.take(cell, axis=1), np.einsum("pe,pje->je", won, bets))
    for of_stake, grown_of_stake in zip(capital, grown, strict=True):
        of_stake[cell] = grown_of_stake
    state.capital = by_lane(capital, arms)
    refuted = cell[(grown.sum(axis=0) + kept.take(lane)) * state.carried.take(cell) >= enough]
    if refuted.size:
        state.still_in = state.still_in.copy()
        state.still_in.reshape(-1)[refuted] = False


def cells_leading(state: LinkedDuelsState) -> IntArray:
    """Where every lane's leader is, as positions in the flat array of lanes and arms."""
    lanes, arms = state.asked.shape
    return np.asarray(np.arange(lanes) * arms + state.leader)


def _count_since_plan(state: LinkedDuelsState) -> None:
    """Add up what the blocks of a plan have brought, and begin to count anew."""
    plays = (state.block - state.planned) * state.step
    ahead, behind = state.challenged * state.step[:, np.newaxis], state.asked * plays[:, np.newaxis]
    _count(state, state.new_hits, ahead, behind)
    state.level = state.level + plays
    state.planned = state.block
    state.challenged = np.zeros_like(state.challenged)
    state.new_hits = _no_hits(*state.asked.shape)


def _no_hits(lanes: int, arms: int) -> IntArray:
    """None of any duel; those of the first come before those of the second in memory, as drawn hits do."""
    return np.zeros((2, lanes, 2, arms), dtype=np.int64).transpose(1, 2, 3, 0)


def _count(state: LinkedDuelsState, hits: IntArray, ahead: IntArray, behind: IntArray) -> None:
    """Add up the hits of so many duels that every option began, and of so many that the leader did."""
    own_first, leader_rescue = hits[:, 0, :, 0], hits[:, 0, :, 1]
    before, own_rescue = hits[:, 1, :, 0], hits[:, 1, :, 1]
    leading = cells_leading(state)
    state.firsts = state.firsts + ahead
    state.firsts.reshape(-1)[leading] += sum_over_arms(behind)
    state.first_hits = state.first_hits + own_first
    state.first_hits.reshape(-1)[leading] += sum_over_arms(before)
    state.seconds = state.seconds + (ahead + behind - own_first - before)
    state.rescues = state.rescues + leader_rescue + own_rescue
    state.ahead = state.ahead + ahead
    state.ahead_lost = state.ahead_lost + leader_rescue
    state.behind = state.behind + behind
    state.behind_won = state.behind_won + own_rescue


def plan_duels(state: LinkedDuelsState, parallel: int, gap: float) -> None:
    """Find the leader, say which options duel how often, and bet on what is known now; ``gap`` is 0 if none is told."""
    _find_leader(state)
    leading = cells_leading(state)
    rival = np.ones_like(state.still_in)
    rival.reshape(-1)[leading] = False
    bet_on = state.still_in & rival
    asked = (bet_on | _recalled(state)) & rival
    state.asked = state.challenging = asked

    pooled = (sum_over_arms(state.first_hits) + 0.5) / (sum_over_arms(state.firsts) + 1)
    mean = (state.first_hits + pooled[:, np.newaxis]) / (state.firsts + 1)
    of_leader = mean.take(leading)
    rivals = np.maximum(sum_over_arms(asked), 1)
    first = np.minimum(FIRST_SUCCESSES / of_leader, state.level / 4)
    wanted = np.maximum(np.maximum(GROWTH * state.level, first), np.ceil(parallel / (2 * rivals)))
    state.step = np.maximum(wanted, 1).astype(np.int64)

    rescue = (sum_over_arms(state.rescues) + 0.25) / (sum_over_arms(state.seconds) + 0.5)
    bets = by_cell(state.bets)
    cells = np.flatnonzero(bet_on)
    for start in range(0, cells.size, PIECE):
        cell = cells[start : start + PIECE]
        lane = cell // bet_on.shape[1]
        step = state.step.take(lane).astype(np.float64)
        led = step * rivals.take(lane)
        middle = (led * of_leader.take(lane) + step * mean.take(cell)) / (led + step)
        rescued = (state.rescues.take(cell) + 2 * rescue.take(lane)) / (state.seconds.take(cell) + 2)
        lead = (-state.standing.take(cell), state.spread.take(cell))
        placed = _bets(middle, rescued, (led, step), lead, gap)
        for part, of_part in zip(fields(placed), bets, strict=True):
            for of_stake, placed_on_stake in zip(of_part, getattr(placed, part.name), strict=True):
                of_stake[cell] = placed_on_stake
    state.bets = by_lane(bets, bet_on.shape[1])


def _find_leader(state: LinkedDuelsState) -> None:
    """The option that seems best, dropped ones included. Duels with another leader are then forgotten."""
    state.standing, state.spread = _compare(state)
    leader = state.standing.argmax(axis=1)
    lane = np.flatnonzero(leader != state.leader)
    if lane.size:
        new, old = leader[lane], state.leader[lane]
        state.standing[lane] -= state.standing[lane, new][:, np.newaxis]
        # What the two did against each other is kept, with their parts exchanged.
        kept = [array[lane, new] for array in (state.behind, state.behind_won, state.ahead, state.ahead_lost)]
        for array, of_old in zip((state.ahead, state.ahead_lost, state.behind, state.behind_won), kept, strict=True):
            array[lane] = 0.0
            array[lane, old] = of_old
        state.spread[lane, old] = state.spread[lane, new]
        state.leader = leader


def _compare(state: LinkedDuelsState) -> tuple[FloatArray, FloatArray]:
    """How far every option seems to be above the leader, and with what standard error.

    There are two estimates: the difference of the means as first, and of the shares of duels in which the one rescued
    the other. They are weighted by their precision.
    """
    leading = cells_leading(state)
    mean = (state.first_hits + 0.5) / (state.firsts + 1)
    middle = (mean + mean.take(leading)[:, np.newaxis]) / 2
    per_play = 1 / (state.firsts + 1e-9)
    variance = middle * (1 - middle) * (per_play + per_play.take(leading)[:, np.newaxis])
    raw = state.first_hits / np.maximum(state.firsts, 1)
    difference = raw - raw.take(leading)[:, np.newaxis]

    differ = (state.ahead_lost + state.behind_won + 0.5) / (state.ahead + state.behind + 2)
    duel_variance = differ * (1 / (state.ahead + 1e-9) + 1 / (state.behind + 1e-9))
    duels = state.behind_won / np.maximum(state.behind, 1) - state.ahead_lost / np.maximum(state.ahead, 1)

    precision = 1 / variance + 1 / duel_variance
    standing = (difference / variance + duels / duel_variance) / precision
    standing.reshape(-1)[leading] = 0.0
    return standing, np.asarray(1 / np.sqrt(precision))


def _recalled(state: LinkedDuelsState) -> BoolArray:
    """Dropped options that have had too few duels, for the length of the run, to be so surely behind the leader."""
    distance = np.minimum(state.standing, 0.0) / state.spread
    level = state.level[:, np.newaxis]
    patience = RECALL * np.log(np.maximum(level / np.maximum(state.firsts, 1), 1.0))
    return np.asarray(~state.still_in & (distance**2 / 2 < patience))


def _bets(
    middle: FloatArray,
    rescued: FloatArray,
    plays: tuple[FloatArray, FloatArray],
    lead: tuple[FloatArray, FloatArray],
    gap: float,
) -> DuelBets:
    """Bets on the leader being ahead by each of the stakes, around the pooled mean and the pooled share of rescues.

    ``plays`` are those that the leader begins, and those of the rival in either order; ``lead`` is how far the leader
    seems to be ahead, and the standard error of that. All have one number per bet; the stakes come before these. Told
    a gap, bets are for a lead of at least that and the gap more, and refute "this option is ahead by the gap".
    """
    led, step = plays
    seen, error = lead
    differ = (1 - middle) * rescued  # how often the one rescues, if both are alike
    ahead_by = np.minimum(
        2 * differ * STAKES[:, np.newaxis], np.maximum(seen + HIGHEST[:, np.newaxis] * error, 1e-3 * error)
    )
    # Not for the gap where it is seen that the lead is smaller: or runs would not end where it is.
    ahead_by = np.maximum(ahead_by, np.minimum(gap, seen + CLOSER * error)) + gap
    room = np.minimum(middle, 1 - middle)
    ahead_by = np.minimum(ahead_by, 0.97 * room)
    if gap > 0:
        # One stake that gains whatever the lead is: what it bets is small beside all rates that it is about.
        ahead_by[0] = np.minimum(ahead_by[0], np.minimum(0.5 * room, differ))
    share = step / (led + step)
    leader, own = middle + ahead_by * share, middle - ahead_by * (1 - share)
    leader_rescue = (differ + ahead_by / 2) / (1 - own)
    own_rescue = np.maximum(differ - ahead_by / 2, 0.03 * differ) / (1 - leader)
    leader_rescue = np.minimum(leader_rescue, (1 + rescued) / 2)
    own_rescue = np.minimum(own_rescue, leader_rescue)
    return place_duel_bets((leader, own), (leader_rescue, own_rescue), (led, step, step), gap)
