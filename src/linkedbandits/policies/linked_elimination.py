"""LinkedElimination, the default of simulations: bet against every arm, and drop the arms that the bets refute.

It needs only delta: no gap, no tuning. The k arms with the highest predictions lead. Every other arm is a rival of each
leader: capital is bet, pair by pair, against "the rival is at least as good as this leader"
(:mod:`linkedbandits.stopping.evidence`). A rival is dropped when the capital of all its k pairs has reached k/delta
since the leaders last changed; (n-k)/delta, if that is less. Rivals are sampled alike, the leaders more. All but this
allocation of samples is :class:`EvidenceRace`, which LinkedTrackAndStop shares.

*The answer is wrong with probability at most delta.* Let a be one of the true k best. While a is no leader, some leader
is at most as good as a; follow a's pair with such a leader, that of least capital when the leaders last changed. At a
change no pair of a is left with more than the least against a leader that goes, so what we follow never jumps up: with
its reserve it is a nonnegative supermartingale from 1, and reaches k/delta with probability at most delta/k. To drop a,
all its pairs must have. There are k such arms a; and if none is dropped, they are the answer. No union over the other
arms is needed, and for k = 1 the rule is a single test. Where k > n-k, reserve enters the bets against an arm only
while it is a rival. At most n-k of the true k best are that at a time: so all that is bet against them, with n-k
reserves, is a supermartingale from n-k, and reaches (n-k)/delta with probability at most delta.

*Every run ends* where the k best are unique, with finitely many plays in the mean: a dropped arm is never in again, but
it is sampled and leads again when what speaks against it has become too little for the plays since (`_recalled`). So if
a best arm was dropped by bad luck, it returns as the challenger of the rest, and the evidence against those grows. For
the same reason a leader by luck that all rivals were refuted beside is sampled again (`_in_doubt`).

*With a tolerance* epsilon > 0, a tenth of delta goes to dropping, the rest to finishing: capital is also bet against
"the rival is more than epsilon better than this leader", and all of it is lost at a change of leaders. The run ends
when all rivals of each leader are dropped or refuted in that sense: no rival is then better by more than epsilon.
Let a be one of the true k best. What is bet against it beside a leader that it is more than epsilon better than, with
what is still in reserve, is a nonnegative supermartingale from 1: stretches with other leaders only lose of it. So it
ever reaches k/delta' with probability at most delta'/k. Leaders change only for a rival that is ahead by a fifth of
epsilon, so changes come to an end, even between exact ties.

*With costs* (k = 1), where the best arm is the one with most successes per cost, the arm with the highest prediction
per cost leads, and the claim to refute is that a rival has at least as many per cost. Of the best arm it is true,
whichever leads.

*With neighbours* (k = 1), where arms a few places from the best are right as well, the run ends as soon as one arm that
is still in has all the others within that many places. The best arm is one of those, unless it was dropped.

*Predictions* serve bets and plans alone: no guarantee depends on them being right. An arm's mean is taken to be the
pooled mean itself (the *spike*), or off it by about the size of the noise (the *near* slab), or off it by anything up
to about two in log-odds (the *wide* slab). How often each is the case is learnt, lane by lane, with one step of
expectation-maximisation a round (`predict`).

*Stakes.* Many arms tell of each other, and their predictions are soon good. With two to a handful, most of the evidence
would be lost while the distance of a pair is learnt. So with fewer than ten arms a part of the capital is bet on each
of a few odds ratios between the two, around their pooled mean, which is known soon. The closest of them makes nearly
all the money in the end, and the others cost no more than their shares. A sum of supermartingales is one.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from linkedbandits.checks import check_costs, check_costs_of_arms, check_delta, check_share, check_whole
from linkedbandits.errors import InvalidParameter
from linkedbandits.linkage import Asks, Linkage, Ordered, Price
from linkedbandits.model import BoolArray, Counts, FloatArray, IntArray, Needs, per_cost
from linkedbandits.policy import (
    Goal,
    InBatches,
    LaneState,
    SeedArray,
    WithGuarantee,
    check_neighbours,
    open_lanes,
    within_reach_of_all,
)
from linkedbandits.stopping.evidence import entering, grow, place_bets, reserve

GROWTH = 0.02
"""A block asks for this share of the samples a rival has had."""
LOOKS = 3
"""One prediction and one bet serve this many blocks, once the first few are over;"""
EARLY_BLOCKS = 16
"""before that, every block has its own."""
FIRST_SUCCESSES = 0.3
"""A block is not shorter than it takes the leader to have this many successes, or a quarter of what was seen."""
TO_FINISH = 0.9
"""With a tolerance, the share of delta that goes to refuting that a rival is better by more than that."""
STAYS_AHEAD = 0.2
"""With a tolerance, a leader stays until another arm is ahead of it by this share of epsilon."""
SLOW_RESERVE = 30.0
"""About how many blocks the capital takes to enter bets, where what has entered can be lost at a change of leaders."""
RECALL = 2.0
"""A dropped arm is sampled again when N kl(mean, leader's) falls below this times log(level / N)."""
RATIOS = (1.0, 1.5, 2.3, 3.5, 5.5)
"""How many samples of a leader for one of a rival may be asked;"""
RATIO_ROUNDS = 3
"""once the first blocks are over, a ratio serves this many rounds of bets."""
MANY_ARMS = 10
"""From this many arms on, all capital is bet on the predictions."""
ODDS_RATIOS: FloatArray = np.array([1.2, 1.8, 5.0])
"""How many times the odds of the rival those of the leader are taken to be;"""
SHARES: FloatArray = np.array([0.4, 0.4, 0.2])
"""of what is not bet on the predictions, the part that is bet on each;"""
HIGHEST: FloatArray = np.array([0.7, 1.0, 1.2])
"""and by how many standard errors the difference that each stands for may exceed the one that was seen."""
NEAR = 3.0
"""Variance of the near slab, in units of an estimate's own variance."""
WIDE = 4.0
"""Variance of the wide slab, in log-odds."""
PRIOR = np.array([0.5, 0.25, 0.25])
"""How often an arm is on the spike, near it, or anywhere, before anything is seen;"""
PRIOR_ARMS = 3.0
"""and how many arms' worth that belief weighs."""

_MOST_FAVOUR = 50.0
_NEAR_SHRINK = NEAR / (1 + NEAR)
_MOST_EVIDENCE = 200.0
_MARGIN = 1e-3
_LEAST_BELOW_1 = 1e-14


@dataclass
class RaceState(LaneState):
    """Counts, predictions, the bets of the present block, and the capital they have made.

    Arrays of pairs are (lanes, k, arms), those of bets and of capital (lanes, k, arms, stakes). ``level`` is the
    samples that a rival which was always asked has had, ``ratio`` those of a leader for one of a rival. ``favour`` is
    by how much, as a logarithm, the ``plain`` means have made likelier what came than the ``shrunken`` ones, up to the
    samples and successes of ``foreseen``, (lanes, 2, arms). ``carried`` is the capital of every pair that the run began
    with, beyond which ``capital`` is what it has made of 1 since.
    """

    samples: FloatArray
    successes: FloatArray
    prediction: FloatArray
    mixture: FloatArray
    plain: FloatArray
    shrunken: FloatArray
    favour: FloatArray
    foreseen: FloatArray
    leaders: IntArray
    top: IntArray
    recalled: BoolArray
    needs: IntArray
    level: FloatArray
    step: FloatArray
    ratio: FloatArray
    block: IntArray
    own: FloatArray
    rival: FloatArray
    sure: FloatArray
    capital: FloatArray
    carried: FloatArray
    refuted: BoolArray
    near_own: FloatArray
    near_rival: FloatArray
    near_sure: FloatArray
    near_capital: FloatArray
    near_refuted: BoolArray


class EvidenceRace(WithGuarantee, InBatches[RaceState]):
    """A policy but for its allocation of samples; see the module's text.

    It looks for the one best arm and has no tolerance, unless a policy has parameters for that.
    """

    delta: float
    k: int = 1
    epsilon: float = 0.0
    neighbours: int = 0
    costs: Sequence[float] = ()
    """What a try of each arm costs, if the arm with most successes per cost is looked for; for k = 1, nothing else."""
    price: Price

    @property
    def goal(self) -> Goal:
        """The k best arms within the tolerances, wrong with probability at most ``delta``."""
        return Goal(
            delta=self.delta,
            k=self.k,
            tolerance=self.epsilon,
            neighbours=self.neighbours,
            costs=tuple(self.costs),
        )

    def fitted_to(self, linkage: Linkage, parallel: int | None) -> Self:
        """With the price that samples have under the linkage, and asking for at least ``parallel`` at a time."""
        return replace(super().fitted_to(linkage, parallel), price=linkage.price)  # type: ignore[type-var]

    @abstractmethod
    def allocate(self, state: RaceState, rivals: BoolArray, leading: BoolArray) -> FloatArray:
        """Samples to ask of every arm in a block, in units of ``state.step``; at least 1 somewhere."""

    def start(self, lanes: int, arms: int, seeds: SeedArray) -> RaceState:
        """One sample of every arm, without a bet."""
        if self.k >= arms:
            raise InvalidParameter(f"k={self.k} best of {arms} arms leaves nothing to decide; choose k below {arms}")
        check_neighbours(self.neighbours, arms)
        check_costs_of_arms(self.costs, arms)
        pairs = np.zeros((lanes, self.k, arms))
        bets = np.zeros((lanes, self.k, arms, self._shares(arms).size))
        near_pairs = pairs if self.epsilon > 0 else np.zeros((lanes, 0, 0))
        near_bets = near_pairs[..., np.newaxis]
        leaders = np.tile(np.arange(self.k), (lanes, 1))
        return RaceState(
            **open_lanes(lanes, arms),
            samples=np.zeros((lanes, arms)),
            successes=np.zeros((lanes, arms)),
            prediction=np.full((lanes, arms), 0.5),
            mixture=np.tile(PRIOR, (lanes, 1)),
            plain=np.full((lanes, arms), 0.5),
            shrunken=np.full((lanes, arms), 0.5),
            favour=np.zeros(lanes),
            foreseen=np.zeros((lanes, 2, arms)),
            leaders=leaders,
            top=leaders.copy(),
            recalled=np.zeros((lanes, arms), dtype=np.bool_),
            needs=np.ones((lanes, arms), dtype=np.int64),
            level=np.zeros(lanes),
            step=np.ones(lanes),
            ratio=np.ones(lanes),
            block=np.zeros(lanes, dtype=np.int64),
            own=bets.copy(),
            rival=bets.copy(),
            sure=bets.copy(),
            capital=bets.copy(),
            carried=np.ones_like(pairs),
            refuted=pairs > 0,
            near_own=near_bets.copy(),
            near_rival=near_bets.copy(),
            near_sure=near_bets.copy(),
            near_capital=near_pairs.copy(),
            near_refuted=near_pairs > 0,
        )

    def request(self, state: RaceState) -> Needs:
        """The block that was planned when the last one came in."""
        return Needs(state.needs)

    def observe(self, state: RaceState, counts: Counts) -> None:
        """Settle the bets, drop what they refute, and plan the next block."""
        state.block = state.block + 1
        block = int(state.block[0])  # lanes start together and take one block a step
        successes = counts.successes.astype(np.float64)
        if block > 1 and self._settle(state, successes, block - 1):
            self._answer(state)
        state.samples = state.samples + counts.samples
        state.successes = state.successes + successes
        state.level = state.level + state.step
        if state.stopped.all():
            return
        if block < EARLY_BLOCKS or block % LOOKS == 0:
            self._plan(state)

    def answer(self, state: RaceState) -> IntArray:
        """The k arms that are left, ranked by prediction."""
        return state.top

    def carry_over(self, state: RaceState, capital: FloatArray) -> bool:
        """Go on from this capital, if one arm is looked for without a tolerance: then the evidence is that of one test.

        Otherwise the run begins from 1: what was made against several leaders, or lost at a change of them, is not
        known from the evidence alone.
        """
        one_test = self.k == 1 and self.epsilon == 0
        if one_test:
            state.carried = capital[:, np.newaxis, :].copy()
            state.still_in = capital < 1 / self.delta
        return one_test

    def log10_evidence(self, state: RaceState) -> FloatArray:
        """What speaks against "this arm is one of the k best", (lanes, arms); at 1/delta an arm is dropped.

        With k > 1 it is the least of the arm's pairs. They need not cross together, so it may be dropped before that.
        """
        arms = state.still_in.shape[1]
        kept = self._kept(max(int(state.block[0]) - 1, 0), arms)
        made = (state.capital.sum(axis=3).min(axis=1) + kept) * state.carried.min(axis=1)
        evidence = made / (self._enough(arms) * self.delta)
        return np.asarray(np.log10(np.maximum(evidence, 1e-300)))

    def _settle(self, state: RaceState, successes: FloatArray, block: int) -> bool:
        """Pay out the block's bets. Did that refute anything?"""
        leaders_successes = successes.take(_leading_cells(state))
        arms = successes.shape[1]
        entries, log_factor = _log_factors(state.own, state.rival, state.sure, successes, leaders_successes)
        if self._only_rivals_get_capital(arms):
            rivals = ~_are_leaders(state)[:, np.newaxis, :, np.newaxis]
            state.capital += rivals * (entering(block, SLOW_RESERVE) * self._shares(arms))
        else:
            state.capital += entering(block) * self._shares(arms)
        by_pair = state.capital.reshape(-1, state.capital.shape[3])
        grown = grow(by_pair.take(entries, axis=0), log_factor)
        total = np.zeros(entries.size)
        # Stake by stake: numpy puts and adds long columns many times faster than it does short rows.
        for stake, of_stake in enumerate(grown.T):
            by_pair[:, stake][entries] = of_stake
            total += of_stake
        crossed = entries[(total + self._kept(block, arms)) * state.carried.take(entries) >= self._enough(arms)]
        if crossed.size:
            state.refuted.reshape(-1)[crossed] = True
            in_lead = _are_leaders(state)
            state.still_in = state.still_in & ~(state.refuted.all(axis=1) & ~in_lead)
            self._stop_asking(state, in_lead)
        if self.epsilon > 0:
            entries, log_factor = _log_factors(
                state.near_own, state.near_rival, state.near_sure, successes, leaders_successes
            )
            state.near_capital += entering(block, SLOW_RESERVE)
            flat = state.near_capital.reshape(-1)
            grown = grow(flat[entries], log_factor[:, 0])
            flat[entries] = grown
            near = entries[grown + reserve(block, SLOW_RESERVE) >= self.k / (self.delta * TO_FINISH)]
            state.near_refuted.reshape(-1)[near] = True
        return crossed.size > 0 or self.epsilon > 0

    def _stop_asking(self, state: RaceState, in_lead: BoolArray) -> None:
        """Arms that were just dropped are asked for no more within this bet."""
        out = np.flatnonzero(~(state.still_in | state.recalled | in_lead))
        gone = out[state.needs.take(out) > 0]
        if gone.size:
            state.needs = state.needs.copy()
            state.needs.reshape(-1)[gone] = 0
            lanes, arms = np.divmod(gone, state.needs.shape[1])
            state.own[lanes, :, arms] = 0.0
            if self.epsilon > 0:
                state.near_own[lanes, :, arms] = 0.0

    def _answer(self, state: RaceState) -> None:
        """Stop where k arms are left, or neighbours, or every pair is refuted; rank by prediction."""
        if self.neighbours > 0:
            preferred = state.still_in & within_reach_of_all(state.still_in, self.neighbours)
            state.stopped = np.asarray(preferred.any(axis=1) | ~state.still_in.any(axis=1))
        else:
            preferred = state.still_in
            state.stopped = preferred.sum(axis=1) <= self.k
        if self.epsilon > 0:
            decided = state.near_refuted.all(axis=1) | ~state.still_in | _are_leaders(state)
            finished = decided.all(axis=1) & ~state.stopped
            state.stopped = state.stopped | finished
            preferred = np.where(finished[:, np.newaxis], _are_leaders(state), preferred)
        ends = np.flatnonzero(state.stopped)
        if ends.size:
            score = per_cost(state.prediction[ends], self.costs) + 2.0 * preferred[ends]
            state.top[ends] = np.argsort(-score, axis=1, kind="stable")[:, : self.k]
            state.arm = state.top[:, 0].copy()

    def _plan(self, state: RaceState) -> None:
        """Predict, find the leaders, and fix needs and bets from what is known now."""
        _update_predictions(state)
        self._find_leaders(state)
        in_lead = _are_leaders(state)
        leading_cells = _leading_cells(state)
        leader_prediction = state.prediction.take(leading_cells)
        state.recalled = _recalled(state, self._to_beat(state, leader_prediction))
        settled = state.near_refuted if self.epsilon > 0 else state.refuted
        open_pairs = (state.still_in & ~in_lead)[:, np.newaxis, :] & ~settled
        rivals = open_pairs.any(axis=1) | (state.recalled & ~in_lead)
        leading = np.zeros(in_lead.shape, dtype=np.bool_)
        leading.reshape(-1)[leading_cells] = open_pairs.any(axis=2)
        if self.k > 1:
            leading |= _in_doubt(state, in_lead & ~leading, rivals)

        first = np.minimum(FIRST_SUCCESSES / leader_prediction.max(axis=1), state.level / 4)
        state.step = np.maximum(np.maximum(float(self.parallel), GROWTH * state.level), first)
        amounts = self.allocate(state, rivals, leading) * state.step[:, np.newaxis]
        state.needs = np.ceil(amounts).astype(np.int64)
        self._place(state, leader_prediction)

    def _find_leaders(self, state: RaceState) -> None:
        """The k arms of highest prediction; with a tolerance, a leader stays until it is clearly behind."""
        if self.k == 1 and self.epsilon == 0:
            # Everything is kept at a change: with one leader, any challenger will do.
            state.leaders = per_cost(state.prediction, self.costs).argmax(axis=1)[:, np.newaxis]
            state.refuted = ~state.still_in[:, np.newaxis, :]
            return
        score = state.prediction + _are_leaders(state) * (STAYS_AHEAD * self.epsilon + 1e-12)
        leaders = np.sort(np.argsort(-score, axis=1, kind="stable")[:, : self.k], axis=1)
        changed = (leaders != state.leaders).any(axis=1)
        if changed.any():
            state.capital[changed] = _passed_on(state.capital[changed], state.leaders[changed], leaders[changed])
            state.refuted[changed] = False
            if self.epsilon > 0:
                state.near_capital[changed] = 0.0
                state.near_refuted[changed] = False
            state.leaders = leaders

    def _place(self, state: RaceState, leader_prediction: FloatArray) -> None:
        asked = state.needs > 0
        leaders_asked = state.needs.take(_leading_cells(state))
        rivals = (asked & ~_are_leaders(state))[:, np.newaxis, :] & (leaders_asked > 0)[:, :, np.newaxis]
        slopes = self._slopes(state)
        line = leader_prediction[:, :, np.newaxis] * (1.0 if slopes is None else slopes)
        below = state.prediction[:, np.newaxis, :] < line
        if state.own.shape[3] == 1:
            placed = _bets(state, rivals & below, leader_prediction, leaders_asked, 0.0, slopes)
        else:
            placed = _bets_on_stakes(state, rivals, leader_prediction, leaders_asked)
        state.own, state.rival, state.sure = placed
        if self.epsilon > 0:
            near = state.prediction[:, np.newaxis, :] < leader_prediction[:, :, np.newaxis] + self.epsilon
            state.near_own, state.near_rival, state.near_sure = _bets(
                state, rivals & near, leader_prediction, leaders_asked, self.epsilon
            )

    def _only_rivals_get_capital(self, arms: int) -> bool:
        """Where most arms are among the best, for then delta need not be shared among all of these."""
        return self.k > arms - self.k

    def _enough(self, arms: int) -> float:
        """The capital with which a pair is refuted."""
        share = self.delta if self.epsilon == 0 else self.delta * (1 - TO_FINISH)
        return min(self.k, arms - self.k) / share

    def _kept(self, block: int, arms: int) -> float:
        """What of the reserve counts as capital."""
        return 0.0 if self._only_rivals_get_capital(arms) else reserve(block)

    def _shares(self, arms: int) -> FloatArray:
        """The part of the capital that is bet on each stake: several where arms are few and the claim plain."""
        return shares_of_capital(arms) if len(set(self.costs)) <= 1 else np.ones(1)

    def _slopes(self, state: RaceState) -> FloatArray | None:
        """How many times the mean of each leader an arm must have to be worth as much: (lanes, k, arms)."""
        if not self.costs:
            return None
        costs = np.array(self.costs)
        return np.asarray(costs / costs[state.leaders][:, :, np.newaxis])

    def _to_beat(self, state: RaceState, leader_prediction: FloatArray) -> FloatArray:
        """The mean with which an arm is worth as much as the last of the leaders: (lanes, arms), or (lanes, 1)."""
        slopes = self._slopes(state)
        if slopes is None:
            return np.asarray(leader_prediction.min(axis=1, keepdims=True))
        return np.asarray(np.minimum((leader_prediction[:, :, np.newaxis] * slopes).min(axis=1), 1 - 1e-9))


@dataclass(frozen=True)
class LinkedElimination(EvidenceRace):
    """Find the ``k`` best arms; wrong with probability at most ``delta``.

    ``epsilon`` is a tolerance: any arm within epsilon of the best (for k > 1: of the k-th best) is a right answer, and
    the run ends accordingly sooner. With ``epsilon=0`` the best arm has to be unique for the run to end by itself.
    ``neighbours`` is a tolerance in places, for arms in a row whose neighbours are alike (bins, prices, thresholds):
    any arm at most that many places from the best is a right answer, and the run ends when all left are that close.
    ``costs`` has what a try of each arm costs: the best arm is then the one with most successes per cost.
    ``price`` is set by the linkage that the policy runs under, and steers only how often the leader is sampled.

    >>> import linkedbandits as lb
    >>> runs = lb.simulate(lb.scenarios.one_sparse(10), lb.LinkedElimination(delta=0.1), trials=200, seed=1)
    >>> bool(runs.error_rate() <= 0.1), bool(runs.plays.mean() < 3000)
    (True, True)
    """

    delta: float
    k: int = 1
    epsilon: float = 0.0
    neighbours: int = field(default=0, kw_only=True, metadata={"saved": "if set"})
    costs: Sequence[float] = field(default=(), kw_only=True, metadata={"saved": "if set"})
    parallel: int = field(default=1, kw_only=True, repr=False)
    price: Price = field(default=Ordered.price, repr=False, compare=False, metadata={"saved": False})

    name: ClassVar[str] = "linked-elimination"
    asks: ClassVar[Asks] = "needs"

    def __post_init__(self) -> None:
        check_delta(self.delta)
        check_whole("k", self.k)
        check_share("epsilon", self.epsilon)
        check_whole("neighbours", self.neighbours, least=0)
        if self.k > 1 and self.neighbours > 0:
            raise InvalidParameter(f"neighbours={self.neighbours} goes with k=1 alone, not k={self.k}; leave one out")
        object.__setattr__(self, "costs", check_costs(self.costs))
        if self.costs:
            self._check_alone_with_costs()

    def _check_alone_with_costs(self) -> None:
        others = {"k": self.k if self.k > 1 else 0, "epsilon": self.epsilon, "neighbours": self.neighbours}
        given = [f"{name}={value!r}" for name, value in others.items() if value]
        if given:
            raise InvalidParameter(
                f"with costs the one arm with most successes per cost is found, without a tolerance; leave out "
                f"{' and '.join(given)}, or the costs"
            )

    def allocate(self, state: RaceState, rivals: BoolArray, leading: BoolArray) -> FloatArray:
        """One of every rival, and of the leaders the ratio that buys evidence most cheaply.

        Against the hardest rival, r samples of the leader and one of the rival weigh 1/(1/(r A) + 1/B), where A and B
        are the divergences between their means in either direction. (Exact if one of the two is sampled without end.)
        """
        block = int(state.block[0])
        if block < EARLY_BLOCKS or block % (RATIO_ROUNDS * LOOKS) == 0:
            state.ratio = self._cheapest_ratio(state, rivals, leading)
        amounts: FloatArray = rivals + state.ratio[:, np.newaxis] * leading
        return amounts

    def _cheapest_ratio(self, state: RaceState, rivals: BoolArray, leading: BoolArray) -> FloatArray:
        prediction, samples = state.prediction, state.samples
        lanes = np.arange(rivals.shape[0])
        hardest = np.where(rivals, per_cost(prediction, self.costs), -1.0).argmax(axis=1)
        weakest = np.where(leading, prediction, 2.0).argmin(axis=1)
        rival, leader = prediction[lanes, hardest], prediction[lanes, weakest]
        rival_samples, leader_samples = samples[lanes, hardest], samples[lanes, weakest]
        towards, back = guarded_divergences(rival, rival_samples, leader, leader_samples)
        if self.costs:
            # Each against the mean with which it would be worth as much as the other.
            slope = np.array(self.costs)[hardest] / np.array(self.costs)[weakest]
            towards, _ = guarded_divergences(np.minimum(rival / slope, 1.0), rival_samples, leader, leader_samples)
            _, back = guarded_divergences(rival, rival_samples, np.minimum(slope * leader, 1.0), leader_samples)
        best = np.full(lanes.size, np.inf)
        ratio = np.ones(lanes.size)
        of_rivals, of_leaders = rivals.astype(np.float64), leading.astype(np.float64)
        for candidate in RATIOS:
            plays = self.price(of_rivals + candidate * of_leaders, prediction)
            cost = plays * (1 / (candidate * towards) + 1 / back)
            ratio = np.where(cost < best, candidate, ratio)
            best = np.minimum(best, cost)
        return ratio


def _are_leaders(state: RaceState) -> BoolArray:
    """The leaders, as marks on the arms."""
    marks = np.zeros(state.still_in.shape, dtype=np.bool_)
    marks.reshape(-1)[_leading_cells(state)] = True
    return marks


def _leading_cells(state: RaceState) -> IntArray:
    """Where the leaders are, (lanes, k), as positions in flat arrays of lanes and arms."""
    lanes, arms = state.still_in.shape
    return np.asarray(np.arange(0, lanes * arms, arms)[:, np.newaxis] + state.leaders)


def _passed_on(capital: FloatArray, leaders: IntArray, new_leaders: IntArray) -> FloatArray:
    """The capital after a change of leaders, (lanes, k, arms, stakes): that of no pair that a proof follows jumps up.

    Pairs with a leader that stays keep theirs, but have no more than the arm's least against a leader that goes; pairs
    with a new leader begin with that. An arm that led has nothing against itself: it begins with the least of the rest.
    """
    same = new_leaders[:, :, np.newaxis] == leaders[:, np.newaxis, :]
    itself = leaders[:, :, np.newaxis, np.newaxis] == np.arange(capital.shape[2])[:, np.newaxis]
    against = np.where(itself, np.inf, capital)
    goes = ~same.any(axis=1)[:, :, np.newaxis, np.newaxis]
    least_against_those = np.where(goes, against, np.inf).min(axis=1, keepdims=True)
    kept = np.take_along_axis(capital, same.argmax(axis=2)[:, :, np.newaxis, np.newaxis], axis=1)
    kept = np.where(same.any(axis=2)[:, :, np.newaxis, np.newaxis], kept, np.inf)
    passed_on = np.minimum(kept, least_against_those)
    rest = np.minimum(against.min(axis=1, keepdims=True), capital.max(axis=1, keepdims=True))
    return np.asarray(np.where(np.isinf(passed_on), rest, passed_on))


def _update_predictions(state: RaceState) -> None:
    """Weigh the shrunken means against the plain ones, by how likely each has made what came since.

    The leaders stand out, and where there are many arms those that were dropped lie lower than the rest: predictions
    are drawn to the others.
    """
    hits = state.successes - state.foreseen[:, 1]
    misses = state.samples - state.foreseen[:, 0] - hits
    state.favour = state.favour + _times_log_ratio(hits, state.plain, state.shrunken)
    state.favour += _times_log_ratio(misses, 1 - state.plain, 1 - state.shrunken)
    state.foreseen = np.stack([state.samples, state.successes], axis=1)

    pooled = (state.still_in | (state.still_in.shape[1] < MANY_ARMS)) & ~_are_leaders(state)
    state.plain, state.shrunken, state.mixture = predict(state.samples, state.successes, state.mixture, pooled)
    trust = 1 / (1 + np.exp(-np.clip(state.favour, -_MOST_FAVOUR, _MOST_FAVOUR)))
    state.prediction = state.shrunken + trust[:, np.newaxis] * (state.plain - state.shrunken)


def _times_log_ratio(times: FloatArray, one: FloatArray, other: FloatArray) -> FloatArray:
    """The sum over arms of ``times`` log(``one`` / ``other``): (lanes, arms) each to (lanes,).

    Logarithms are dear, and what came not once needs none: early blocks bring no hits of most arms.
    """
    came = np.flatnonzero(times != 0)  # comparing first takes a fraction of the time
    log_ratio = np.zeros(times.shape)
    log_ratio.reshape(-1)[came] = np.log(one.take(came) / other.take(came))
    return np.asarray(np.einsum("ij,ij->i", times, log_ratio))


def _log_factors(
    own: FloatArray, rival: FloatArray, sure: FloatArray, successes: FloatArray, leaders_successes: FloatArray
) -> tuple[IntArray, FloatArray]:
    """The pairs with a bet on them, by flat index, and the logarithms of what each of their bets brought."""
    entries, pair_row, cell = _indices(own[..., -1])
    stakes = own.shape[3]
    value = own.reshape(-1, stakes).take(entries, axis=0)  # which is many times faster than [entries]
    value *= successes.take(cell)[:, np.newaxis]
    of_rival = rival.reshape(-1, stakes).take(entries, axis=0)
    of_rival *= leaders_successes.take(pair_row)[:, np.newaxis]
    value += of_rival
    value += sure.reshape(-1, stakes).take(entries, axis=0)
    return entries, value


def _indices(pairs: npt.NDArray[Any]) -> tuple[IntArray, IntArray, IntArray]:
    """Where an array of pairs (lanes, k, arms) is not zero: flat in itself, in (lanes, k), and in (lanes, arms)."""
    _, k, arms = pairs.shape
    entries = np.flatnonzero(pairs != 0)
    pair_row = entries // arms
    cell = entries if k == 1 else entries - (pair_row - pair_row // k) * arms
    return entries, pair_row, cell


def _bets(
    state: RaceState,
    pairs: BoolArray,
    leader_prediction: FloatArray,
    leaders_asked: IntArray,
    shift: float,
    slopes: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Bets on the marked pairs, all on the predictions; 0 elsewhere."""
    entries, pair_row, cell = _indices(pairs)
    placed = place_bets(
        state.prediction.take(cell),
        leader_prediction.take(pair_row),
        state.needs.take(cell).astype(np.float64),
        leaders_asked.take(pair_row).astype(np.float64),
        shift,
        None if slopes is None else slopes.take(entries),
    )
    own, rival, sure = np.zeros((3, pairs.size))
    own[entries], rival[entries], sure[entries] = placed.own, placed.rival, placed.sure
    shape = (*pairs.shape, 1)
    return own.reshape(shape), rival.reshape(shape), sure.reshape(shape)


def _bets_on_stakes(
    state: RaceState, pairs: BoolArray, leader_prediction: FloatArray, leaders_asked: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Bets on the marked pairs: on the predictions where they say that the leader is ahead, and on each odds ratio."""
    entries, pair_row, cell = _indices(pairs)
    leader_cell = pair_row // pairs.shape[1] * pairs.shape[2] + state.leaders.take(pair_row)
    predicted = state.prediction.take(cell), leader_prediction.take(pair_row)
    asked = state.needs.take(cell).astype(np.float64), leaders_asked.take(pair_row).astype(np.float64)
    seen = state.samples.take(cell), state.samples.take(leader_cell)
    means = state.plain.take(cell), state.plain.take(leader_cell)
    below, above = at_odds_ratios(means, seen, asked)
    placed = place_bets(
        np.column_stack([np.minimum(*predicted), below]),
        np.column_stack([predicted[1], above]),
        asked[0][:, np.newaxis],
        asked[1][:, np.newaxis],
    )
    shape = (*pairs.shape, 1 + below.shape[1])
    own, rival, sure = np.zeros((3, pairs.size, shape[3]))
    own[entries], rival[entries], sure[entries] = placed.own, placed.rival, placed.sure
    return own.reshape(shape), rival.reshape(shape), sure.reshape(shape)


def _recalled(state: RaceState, to_beat: FloatArray) -> BoolArray:
    """Dropped arms that have had too few samples, for the length of the run, to be so surely behind the leaders."""
    return _too_few(state, ~state.still_in, to_beat, np.minimum)


def _in_doubt(state: RaceState, settled: BoolArray, rivals: BoolArray) -> BoolArray:
    """Of the leaders that no rival is left beside, those with too few samples to be so surely ahead of the rivals."""
    if not settled.any():
        return settled
    highest = np.where(rivals, state.prediction, 1e-300).max(axis=1, keepdims=True)
    return _too_few(state, settled, highest, np.maximum)


def _too_few(state: RaceState, marked: BoolArray, bar: FloatArray, side: np.ufunc) -> BoolArray:
    """Marked arms with too few samples, for the length of the run, to be so surely on their side of the bar."""
    lanes, arms = marked.shape
    found = np.zeros((lanes, arms), dtype=np.bool_)
    cells = np.flatnonzero(marked)
    if cells.size:
        lane = cells // arms
        samples = state.samples.take(cells)
        beside = bar.take(lane if bar.shape[1] == 1 else cells)
        mean = side((state.successes.take(cells) + 0.5) / (samples + 1.0), beside)
        patience = RECALL * np.log(np.maximum(state.level.take(lane) / samples, 1.0))
        found.reshape(-1)[cells] = samples * divergence(mean, beside) < patience
    return found


def divergence(p: FloatArray, q: FloatArray) -> FloatArray:
    """Kullback-Leibler divergence between Bernoulli laws, for p and q strictly between 0 and 1."""
    return p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))


def guarded_divergences(
    rival: FloatArray, rival_samples: FloatArray, leader: FloatArray, leader_samples: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """kl(leader, rival) and kl(rival, leader), with the gap widened by its standard error.

    Without that, a gap that happens to look small would draw nearly all samples to one pair.
    """
    noise = np.maximum(rival * (1 - rival), 1e-4) / (rival_samples + 1)
    noise = noise + np.maximum(leader * (1 - leader), 1e-4) / (leader_samples + 1)
    gap = np.sqrt((leader - rival) ** 2 + noise)
    low = np.clip(np.maximum(leader - gap, 0.5 * np.minimum(rival, leader)), 1e-6, 1 - 2e-6)
    high = np.clip(leader, low + 1e-6, 1 - 1e-6)
    return divergence(high, low), divergence(low, high)


def predict(
    samples: FloatArray, successes: FloatArray, mixture: FloatArray, pooled: BoolArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The plain means, the shrunken ones, all strictly between 0 and 1, and the mixture's new weights.

    A plain mean is the arm's own, with one sample more of the pooled mean. A shrunken one lies between that and the
    pooled mean. ``samples`` and ``successes`` are (lanes, arms), ``mixture`` is (lanes, 3) and starts as :data:`PRIOR`.
    ``pooled`` marks the arms that predictions are drawn to: those among which the decision is.

    >>> everyone = np.ones((1, 3), dtype=np.bool_)
    >>> seen = np.array([[50.0, 50.0, 50.0]]), np.array([[5.0, 6.0, 25.0]])
    >>> plain, shrunken, _ = predict(*seen, PRIOR[np.newaxis], everyone)
    >>> plain.round(2), shrunken.round(2)
    (array([[0.1 , 0.12, 0.49]]), array([[0.15, 0.18, 0.47]]))
    """
    weight = pooled.astype(np.float64)  # once: numpy is slow where it multiplies numbers with truth values
    centre = _pooled_mean(samples, successes, weight)
    spread = centre * (1 - centre)
    seen = samples + 1.0
    plain = successes + centre
    plain /= seen
    offset = plain - centre
    evidence = offset * offset  # half the squared z-value of the offset
    evidence *= seen
    evidence *= 0.5 / spread
    np.minimum(evidence, _MOST_EVIDENCE, out=evidence)

    near = evidence * _NEAR_SHRINK
    np.exp(near, out=near)
    near *= mixture[:, 1:2] / np.sqrt(1 + NEAR)
    keep = samples * (WIDE * spread)  # how much of its offset an arm on the wide slab keeps: v/(1 + v)
    keep += 1.0
    np.divide(1.0, keep, out=keep)
    wide = np.sqrt(keep)
    np.subtract(1.0, keep, out=keep)
    evidence *= keep
    np.exp(evidence, out=evidence)
    wide *= evidence
    wide *= mixture[:, 2:3]

    total = near + wide
    total += mixture[:, :1]
    np.divide(1.0, total, out=total)
    learnt_from = total * weight
    shares = np.stack(
        [
            mixture[:, 0] * learnt_from.sum(axis=1),
            np.einsum("ij,ij->i", near, learnt_from),
            np.einsum("ij,ij->i", wide, learnt_from),
        ],
        axis=1,
    )
    keep *= wide
    near *= _NEAR_SHRINK
    keep += near
    keep *= total
    offset *= keep
    offset += centre
    # Strictly between 0 and 1: by a margin far below what so many samples can tell from either.
    lowest = _MARGIN / seen
    highest = 1 - np.maximum(lowest, _LEAST_BELOW_1)
    for means in (plain, offset):
        np.minimum(np.maximum(means, lowest, out=means), highest, out=means)  # a third of the time of clip
    arms = weight.sum(axis=1, keepdims=True)
    return plain, offset, (shares + PRIOR_ARMS * PRIOR) / (arms + PRIOR_ARMS)


def _pooled_mean(samples: FloatArray, successes: FloatArray, weight: FloatArray) -> FloatArray:
    """The mean of the arms that have the weight 1, and not 0, taken together: (lanes, 1)."""
    hits = np.einsum("ij,ij->i", successes, weight)
    tries = np.einsum("ij,ij->i", samples, weight)
    return np.asarray((hits + 0.5) / (tries + 1.0))[:, np.newaxis]


def shares_of_capital(arms: int) -> FloatArray:
    """The part of the capital that is bet on the predictions, then that on each of the odds ratios; 1 in all.

    >>> shares_of_capital(2), shares_of_capital(6), shares_of_capital(50)
    (array([0. , 0.4, 0.4, 0.2]), array([0.5, 0.2, 0.2, 0.1]), array([1.]))
    """
    if arms >= MANY_ARMS:
        return np.ones(1)
    on_predictions = (arms - 2) / (MANY_ARMS - 2)
    return np.concatenate([[on_predictions], (1 - on_predictions) * SHARES])


def at_odds_ratios(
    means: tuple[FloatArray, FloatArray], seen: tuple[FloatArray, FloatArray], asked: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Means of rival and leader at each odds ratio, (pairs, odds ratios), around the mean of what is asked of the two.

    Each argument has a number per pair, of the rival and of the leader: their estimated means, their samples so far,
    and the samples that are asked of them. The rival's mean is always below the leader's.
    """
    rival, leader = (mean[:, np.newaxis] for mean in means)
    share = (asked[0] / (asked[0] + asked[1]))[:, np.newaxis]
    middle = share * rival + (1 - share) * leader
    variance = middle * (1 - middle)
    error = np.sqrt(variance * (1 / (seen[0] + 1) + 1 / (seen[1] + 1))[:, np.newaxis])
    # Not further apart than they may well be: or runs would not end where arms nearly tie.
    apart = np.minimum(np.log(ODDS_RATIOS) * variance, np.maximum(leader - rival + HIGHEST * error, 1e-3 * error))
    apart = np.minimum(apart, 0.97 * np.minimum(middle / (1 - share), (1 - middle) / share))
    return middle - apart * (1 - share), middle + apart * share
