"""LinkedLead: told what difference matters, it needs a fraction of the plays.

*Told an odds ratio* (or a lift), it samples the arms that are still in equally, and drops an arm as soon as another is
``lead`` successes ahead of it. The rule is Levin and Robbins' of 1981; with linked plays the samples come cheaper.

Let the odds of the best arm b be at least theta times those of every other arm a, and D_a = X_a - X_b how many
successes a is ahead of it. One more sample of both changes theta^D_a by a factor whose mean is at most 1, so that
1 - theta^(D_a - lead), which is 0 where a has the lead, tends upwards. All these tend upwards with the successes of b,
and otherwise independently; so their product over the arms that are in tends upwards, too, and dropping an arm other
than b only removes a factor below 1. The product begins at (1 - theta^-lead)^(n-1), is 1 in the end if b is the answer,
and 0 if b was dropped: *b is the answer with at least the probability with which it begins*, and the lead is chosen so
that this is 1 - delta or more. It does not matter how often one looks. The proof is in ``docs/told-difference.md``.

*Told an absolute gap*, it samples the arms that are still in equally, too. Against each arm i there is capital, in
equal parts on every other arm j: bet against "i is better than j by the gap" (:mod:`linkedbandits.stopping.evidence`).
An arm is dropped when all that is bet against it has reached 1/delta. Of the best arm every such claim is true, so the
sum of what is bet against it is a nonnegative supermartingale from 1, and *it is ever dropped with probability at most
delta*. No leader has to be guessed: the parts on arms that are not good come to nothing, and have cost a share of
1/(n-1) each.

All pairs of a lane make the same bets in a block. So what is on the pair (i, j) is a product, exp(against_i + worth_j),
and the sum over all j takes one number for each arm instead of one for each pair. When an arm is dropped, what was bet
on it as the better one goes to those that are left, in proportion to what is on them already. Bets are for a lead of
the gap; of less, where the arms turn out to be closer.

Every run ends, also where the difference is smaller than told, but for gaps below what numbers can tell; told an odds
ratio, unless successes never come, or always: the difference of two successes is a walk that leaves any interval.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from functools import cached_property
from math import ceil, exp, expm1, isfinite, log, log1p, log10, sqrt
from typing import ClassVar

import numpy as np

from linkedbandits.assumptions import ToldDifference
from linkedbandits.checks import check_delta, check_odds_ratio, check_one_best, check_positive
from linkedbandits.errors import InvalidParameter
from linkedbandits.linkage import Asks
from linkedbandits.model import BoolArray, Counts, FloatArray, IntArray, Needs, Request, as_count
from linkedbandits.policy import AnyPolicy, InBatches, LaneState, SeedArray, WithGuarantee, open_lanes
from linkedbandits.stopping.evidence import place_bets

SHARE_OF_LEAD = 0.02
"""Told an odds ratio, a request has at least the rounds in which the leader should gain this share of the lead,"""
SHARE_OF_ROUNDS = 0.002
"""and this share of the rounds played: arms that never fail are not to keep a simulation for ever."""
STANDARD_ERRORS = 3.0
"""So far below what was told has what was seen to be for a contradiction, with two arms; with more a little further."""
GROWTH = 0.05
"""Told a gap, a block has this share of the rounds so far, at least;"""
FIRST_SUCCESSES = 0.7
"""or as many as it takes the arm in front to have this many successes,"""
SHARE_TO_GO = 0.3
"""or this share of those that it takes it to have an arm dropped, if that is more;"""
MOST_GROWTH = 0.25
"""but no more than this share of the rounds so far: bets are to learn."""
LOOKS = 4
"""One prediction serves this many blocks, once the first few are over;"""
EARLY_BLOCKS = 8
"""before that, every block has its own."""
SUCCESSES_TO_BET = 2
"""There is no bet before arms have had so many successes, or rounds enough for one at a mean of the gap."""
CLOSER = 1.0
"""Bets are for a lead of the gap, but for no more than the one that was seen and this many standard errors;"""
BEYOND = 1.0
"""or for more, where the lead over the next best is more by this many standard errors."""
PULL = 0.7
"""The mean of the arm in front leans on that of the others by this many samples, and by fewer the closer it is to 1."""

_ROUNDING = 2.0**-42
"""More than what adding up logarithms block by block loses of a bet, against the sum of its parts' sizes."""
_NOTHING = -1e300
"""The logarithm of what is on an arm that was dropped."""
_FAR = -20.0
"""What is on an arm is left out where it is less than exp of this times what is on another."""
_MARGIN = 1e-3
"""Predictions are off 0 and 1 by this share of what one sample more could tell."""


@dataclass
class LeadState(LaneState):
    """Samples and successes of every arm, and how many more samples those that are still in are asked for."""

    samples: IntArray
    successes: IntArray
    step: IntArray


@dataclass
class KnownGapState(LaneState):
    """Counts, the rounds and bets of the present block, and the logarithms of what earlier ones have made.

    What is bet against arm i, on arm j as the better one, is exp(``against``[i] + ``worth``[j] + ``raised``). A block
    of ``step`` rounds multiplies that by exp(``own`` x_i + ``other`` x_j + ``sure`` step), where x are its successes.
    These are (lanes,), as are ``left``, how many arms are still in, and ``front``, the mean of the arm in front that is
    bet on.
    """

    samples: IntArray
    successes: IntArray
    left: IntArray
    block: IntArray
    rounds: IntArray
    step: IntArray
    against: FloatArray
    worth: FloatArray
    raised: FloatArray
    front: FloatArray
    own: FloatArray
    other: FloatArray
    sure: FloatArray


@dataclass(frozen=True)
class LinkedLead(WithGuarantee, InBatches[LeadState | KnownGapState]):
    """Find the best arm, told how far it is ahead at least; wrong with probability at most ``delta`` if that is true.

    Say exactly one of: ``odds_ratio``, by which the odds (mean over 1 - mean) of the best arm exceed those of every
    other; ``lift``, by how much its mean is relatively higher (0.2 for a fifth); ``gap``, by how much its mean is
    higher. Where the true difference is smaller, another arm may be answered more often than ``delta``; the run ends
    all the same. There is no ``k``: for more than one best arm nothing is proved here.

    >>> import linkedbandits as lb
    >>> runs = lb.simulate(lb.scenarios.one_sparse(10), lb.LinkedLead(0.1, odds_ratio=2.1), trials=200, seed=1)
    >>> bool(runs.error_rate() <= 0.1), bool(runs.plays.mean() < 350)
    (True, True)
    """

    delta: float
    odds_ratio: float | None = field(default=None, kw_only=True)
    lift: float | None = field(default=None, kw_only=True)
    gap: float | None = field(default=None, kw_only=True)
    parallel: int = field(default=1, kw_only=True, repr=False)
    k: InitVar[int] = field(default=1, kw_only=True)

    name: ClassVar[str] = "linked-lead"
    asks: ClassVar[Asks] = "needs"

    instead_of_k: ClassVar[str] = "for the k best use linked-elimination:k=2, which is told no difference"

    def __post_init__(self, k: int) -> None:
        check_one_best("LinkedLead", k, self.instead_of_k)
        check_delta(self.delta)
        told = {"odds_ratio": self.odds_ratio, "lift": self.lift, "gap": self.gap}
        given = [f"{name}={value!r}" for name, value in told.items() if value is not None]
        if len(given) != 1:
            raise InvalidParameter(
                f"LinkedLead is told {' and '.join(given) or 'no difference'}; say exactly one of odds_ratio (such as "
                "2.0), lift (such as 0.2) and gap (such as 0.05), or use LinkedElimination, which need not be told"
            )
        if self.odds_ratio is not None:
            check_odds_ratio(self.odds_ratio)
        if self.lift is not None:
            check_positive("lift", self.lift)
            if not isfinite(self.lift) or 1 + self.lift == 1:
                raise InvalidParameter(f"lift={self.lift!r} is no difference; give one such as 0.2, for a fifth more")
        if self.gap is not None:
            check_positive("gap", self.gap)
            if self.gap >= 1:
                raise InvalidParameter(
                    f"gap={self.gap!r} is not below 1, and no two means are further apart; give less"
                )

    @property
    def told_difference(self) -> ToldDifference:
        """The gap, or the odds ratio; of a lift it uses no more than the odds ratio that follows from it."""
        return ToldDifference(gap=self.gap) if self.gap is not None else ToldDifference(odds_ratio=self._theta)

    def start(self, lanes: int, arms: int, seeds: SeedArray) -> LeadState | KnownGapState:
        """Nothing was sampled yet."""
        started: LeadState | KnownGapState = self._rule.start(lanes, arms, seeds)
        return started

    def request(self, state: LeadState | KnownGapState) -> Request:
        """What the rule for the difference that was told asks for."""
        return self._rule.request(state)

    def observe(self, state: LeadState | KnownGapState, counts: Counts) -> None:
        """Let that rule decide."""
        self._rule.observe(state, counts)

    def log10_evidence(self, state: LeadState | KnownGapState) -> FloatArray | None:
        """What speaks against "this arm is the best, by as much as was told"; at 1/delta an arm is dropped."""
        return self._rule.log10_evidence(state)

    def contradicted(self, state: LeadState | KnownGapState, arm: IntArray) -> BoolArray:
        """Is some arm closer to the one named than was told, by more than a few standard errors?

        A look at the data, and no part of the guarantee: where there is no contradiction, nothing is proved by that.
        """
        lane = np.arange(arm.size)
        mean = (state.successes + 0.5) / (state.samples + 1)
        if self.gap is not None:
            value, told = mean, self.gap
            variance = mean * (1 - mean) / (state.samples + 1)
        else:
            value, told = np.log(mean / (1 - mean)), log(self._theta)
            variance = 1 / (mean * (1 - mean) * (state.samples + 1))
        ahead = value[lane, arm][:, np.newaxis] - value
        error = np.sqrt(variance[lane, arm][:, np.newaxis] + variance)
        # The more arms there are, the further one of them is off by chance.
        errors = sqrt(STANDARD_ERRORS**2 + 2 * log(mean.shape[1] - 1))
        close = (ahead + errors * error < told) & (state.samples > 0)
        close[lane, arm] = False
        return np.asarray(close.any(axis=1))

    @cached_property
    def _rule(self) -> AnyPolicy:
        if self.gap is not None:
            return KnownGap(self.delta, self.gap, parallel=self.parallel)
        return LeadInSuccesses(self.delta, self._theta, parallel=self.parallel)

    @property
    def _theta(self) -> float:
        """The ratio of odds that was told; a lift implies one."""
        return self.odds_ratio if self.odds_ratio is not None else 1 + (self.lift or 0.0)


@dataclass(frozen=True)
class LeadInSuccesses(WithGuarantee, InBatches[LeadState]):
    """The rule of those who are told an odds ratio ``theta``: what is some successes behind is out."""

    delta: float
    theta: float
    parallel: int = 1

    name: ClassVar[str] = "lead-in-successes"
    asks: ClassVar[Asks] = "needs"

    def lead(self, arms: int) -> int:
        """How many successes another arm has to be ahead, for an arm to be dropped.

        The least whole number with (1 - theta^-lead)^(arms - 1) >= 1 - delta; one more where rounding leaves it open.

        >>> LeadInSuccesses(0.1, 2.0).lead(2), LeadInSuccesses(0.1, 2.0).lead(10), LeadInSuccesses(0.1, 1.1).lead(10)
        (4, 7, 47)
        """
        mistake = -expm1(log1p(-self.delta) / (arms - 1))  # how likely the best arm may fall so far behind one rival
        return ceil(log(1 / mistake) / log(self.theta) * (1 + 1e-12))

    def start(self, lanes: int, arms: int, seeds: SeedArray) -> LeadState:
        """As many samples of each arm as it takes to fall behind by the lead."""
        return LeadState(
            **open_lanes(lanes, arms),
            samples=np.zeros((lanes, arms), dtype=np.int64),
            successes=np.zeros((lanes, arms), dtype=np.int64),
            step=np.full(lanes, max(self.lead(arms), -(-self.parallel // arms)), dtype=np.int64),
        )

    def request(self, state: LeadState) -> Needs:
        """The same number of samples of every arm that is still in."""
        return Needs(state.still_in * state.step[:, np.newaxis])

    def observe(self, state: LeadState, counts: Counts) -> None:
        """Drop what has fallen behind, and ask for as many rounds as cannot change who is in, or a few more."""
        lead = self.lead(state.still_in.shape[1])
        state.samples = state.samples + counts.samples
        state.successes = state.successes + counts.successes
        behind = self._behind(state)
        state.still_in = state.still_in & (behind < lead)
        state.arm = np.where(state.still_in, behind, lead).argmin(axis=1)
        left = state.still_in.sum(axis=1)
        state.stopped = left == 1
        sure = lead - np.where(state.still_in, behind, 0).max(axis=1)
        rounds = state.samples.max(axis=1)
        few = rounds * np.maximum(SHARE_OF_LEAD * lead / (1 + state.successes.max(axis=1)), SHARE_OF_ROUNDS)
        few = np.maximum(few, self.parallel / left)
        state.step = np.maximum(sure, np.ceil(few).astype(np.int64))

    def log10_evidence(self, state: LeadState) -> FloatArray:
        """theta to the power of how far an arm is behind, scaled so that it is 1/delta where the arm is dropped.

        So it begins at about one over the number of rivals, and stays there for the leader.
        """
        to_go = self.lead(state.still_in.shape[1]) - self._behind(state)
        # What was dropped is sampled no more: how far it is behind from then on says nothing.
        return np.asarray(-log10(self.delta) - np.where(state.still_in, to_go, 0) * log10(self.theta))

    def _behind(self, state: LeadState) -> IntArray:
        """How many successes each arm is behind the one that leads."""
        return np.asarray(state.successes.max(axis=1, keepdims=True) - state.successes)


@dataclass(frozen=True)
class KnownGap(WithGuarantee, InBatches[KnownGapState]):
    """Find the best arm, which is ahead of every other by at least ``gap``."""

    delta: float
    gap: float
    parallel: int = 1

    name: ClassVar[str] = "known-gap"
    asks: ClassVar[Asks] = "needs"

    def start(self, lanes: int, arms: int, seeds: SeedArray) -> KnownGapState:
        """A sample of every arm, or as many as are to be out, without a bet."""
        none = np.zeros(lanes, dtype=np.int64)
        counts = np.zeros((lanes, arms), dtype=np.int64)
        return KnownGapState(
            **open_lanes(lanes, arms),
            samples=counts,
            successes=counts.copy(),
            left=none + arms,
            block=none,
            rounds=none.copy(),
            step=none - (-self.parallel // arms),
            against=np.zeros((lanes, arms)),
            worth=np.full((lanes, arms), -log(arms - 1)),
            raised=np.zeros(lanes),
            front=np.full(lanes, 0.5),
            own=np.zeros(lanes),
            other=np.zeros(lanes),
            sure=np.zeros(lanes),
        )

    def request(self, state: KnownGapState) -> Needs:
        """The same number of samples of every arm that is still in."""
        return Needs(state.still_in * state.step[:, np.newaxis])

    def observe(self, state: KnownGapState, counts: Counts) -> None:
        """Settle the bets, drop what they refute, and bet on what is known now."""
        state.samples += counts.samples
        state.successes += counts.successes
        state.rounds = state.rounds + state.step
        state.block = state.block + 1
        won = counts.successes.astype(np.float64)
        state.against += won * state.own[:, np.newaxis]
        won *= state.other[:, np.newaxis]
        won += (state.sure * state.step)[:, np.newaxis]
        state.worth += won
        bets = Bets.of(state.worth, state.raised)
        enough = -log(self.delta) - bets.log_total
        to_go = enough - state.against.max(axis=1)
        if to_go.min() <= 0:
            self._drop(state, bets, enough)
            if state.stopped.all():
                return
        block = int(state.block[0])  # lanes start together and take one block a step
        if block < EARLY_BLOCKS or block % LOOKS == 0:
            self._bet(state)
        self._set_step(state, to_go)

    def log10_evidence(self, state: KnownGapState) -> FloatArray:
        """What speaks against "this arm is the best, by the gap"; at 1/delta an arm is dropped, and that stands."""
        lanes, arms = state.still_in.shape
        on_others = Bets.of(state.worth, state.raised).log_on_others(np.arange(lanes * arms)).reshape(lanes, arms)
        return np.asarray(np.where(state.still_in, state.against + on_others, -log(self.delta)) / log(10))

    def _drop(self, state: KnownGapState, bets: Bets, enough: FloatArray) -> None:
        """Drop the arms against which there is enough, of those against which there may be.

        What was bet on them goes to the arms that are left, in proportion to what is on these.
        """
        arms = state.still_in.shape[1]
        near = np.flatnonzero(state.against >= enough[:, np.newaxis])
        gone = near[state.against.take(near) + bets.log_on_others(near) >= -log(self.delta)]
        if not gone.size:
            return
        state.still_in = state.still_in.copy()
        for array, nothing in ((state.still_in, False), (state.against, _NOTHING), (state.worth, _NOTHING)):
            array.reshape(-1)[gone] = nothing
        state.raised = state.raised + bets.log_raise(gone)
        state.left = state.left - np.bincount(gone // arms, minlength=state.left.size)
        state.stopped = state.left <= 1
        ends = np.flatnonzero(state.stopped)
        in_front = state.successes.take(ends, axis=0).argmax(axis=1)
        last = state.still_in.take(ends, axis=0).argmax(axis=1)
        state.arm[ends] = np.where(state.left.take(ends) == 1, last, in_front)

    def _bet(self, state: KnownGapState) -> None:
        """Bet on the arm in front being ahead of the others, by as much as the gap or as it seems to be."""
        state.front, behind = self._predicted(state)
        successes = state.successes @ np.ones(state.successes.shape[1])
        knows = (successes >= SUCCESSES_TO_BET) | (state.rounds * self.gap >= 1)
        one = np.ones_like(behind)  # bets are the same for any number of rounds, but for what is sure
        placed = place_bets(behind, state.front, one, one, self.gap)
        state.own, state.other = knows * placed.own, knows * placed.rival
        state.sure = knows * placed.sure - _ROUNDING * (state.other - state.own)

    def _set_step(self, state: KnownGapState, to_go: FloatArray) -> None:
        """How many rounds the next block has; the further all arms are from being dropped, the more."""
        rounds = state.rounds.astype(np.float64)
        until_dropped = np.maximum(to_go, 0.0) / np.maximum(state.other, 1e-30)
        wanted = np.maximum(FIRST_SUCCESSES, SHARE_TO_GO * until_dropped) / state.front
        wanted = np.clip(wanted, GROWTH * rounds, MOST_GROWTH * rounds)
        state.step = as_count(np.maximum(wanted, self.parallel / np.maximum(state.left, 1)))

    def _predicted(self, state: KnownGapState) -> tuple[FloatArray, FloatArray]:
        """The means to bet on, of the arm in front and of the others.

        Where the others differ much from each other, their mean says little of the best of them: then more weight is on
        the mean of the arm in front.
        """
        rounds = state.rounds.astype(np.float64)
        others = np.maximum(state.left - 1, 1)
        among = (state.successes * state.still_in).astype(np.float64)
        leading = np.arange(0, among.size, among.shape[1]) + among.argmax(axis=1)
        most = among.take(leading)
        among.reshape(-1)[leading] = 0.0
        pooled = (among @ np.ones(among.shape[1]) + 0.5) / (others * rounds + 1)
        noise = pooled * (1 - pooled) / (rounds + 1)
        spread = np.einsum("ij,ij->i", among, among) / (others * (rounds + 1) ** 2) - pooled * pooled
        variance = np.maximum(spread - noise, 0.0) + noise / others
        pull = PULL * (1.05 - most / rounds)
        front = (most + pull * pooled) / (rounds + pull)
        front_variance = front * (1 - front) / (rounds + pull)
        seen = front - pooled + CLOSER * np.sqrt(variance + front_variance)
        second = (among.max(axis=1) + pooled) / (rounds + 1)
        surely = front - second - BEYOND * np.sqrt(front_variance + second * (1 - second) / (rounds + 1))
        apart = np.maximum(np.clip(seen, 0.0, self.gap), surely)
        weights = np.maximum(variance + front_variance, 1e-300)  # 0 after more successes alone than a float can count
        front = (front * variance + (pooled + apart) * front_variance) / weights
        margin = _MARGIN / (rounds + 1)
        front = np.clip(front, margin, 1 - np.maximum(margin, 1e-14))
        return front, np.maximum(front - apart, np.minimum(margin, front))


@dataclass(frozen=True)
class Bets:
    """What is bet on the arms of every lane, in units of what is on the one with most.

    ``on`` is a flat array. ``log_most`` is the logarithm of the unit, ``leading`` where in ``on`` the arm with most is,
    ``rest`` the sum of what is on the others.
    """

    log_most: FloatArray
    leading: IntArray
    on: FloatArray
    rest: FloatArray

    @classmethod
    def of(cls, worth: FloatArray, raised: FloatArray) -> Bets:
        """From the logarithms, (lanes, arms), and what is to be added to those of each lane."""
        lanes, arms = worth.shape
        leading = np.arange(0, lanes * arms, arms) + worth.argmax(axis=1)
        most = worth.take(leading)
        below = worth - most[:, np.newaxis]
        near = np.flatnonzero(below > _FAR)  # exponentials are dear, the more so where they are 0
        on = np.zeros(lanes * arms)
        on[near] = np.exp(below.take(near))
        on[leading] = 0.0  # without it the sum of the others is right to the last digit
        rest = on.reshape(lanes, arms) @ np.ones(arms)
        on[leading] = 1.0
        return cls(most + raised, leading, on, rest)

    @property
    def log_total(self) -> FloatArray:
        """The logarithm of what is bet on all arms."""
        return np.asarray(self.log_most + np.log1p(self.rest))

    def log_on_others(self, cells: IntArray) -> FloatArray:
        """The logarithm of what is bet on all arms but one, for each of these."""
        lane = cells // (self.on.size // self.rest.size)
        rest = self.rest.take(lane)
        others = np.where(cells == self.leading.take(lane), rest, 1 + (rest - self.on.take(cells)))
        # Where there is nothing on the others but what was left out, that is taken to be nothing, and not a little.
        logs = np.log(others, out=np.full(others.shape, _NOTHING), where=others > 0)
        return np.asarray(self.log_most.take(lane) + logs)

    def log_raise(self, gone: IntArray) -> FloatArray:
        """By how much to raise the bets of a lane without these arms, so that they are no more than with them."""
        arms = self.on.size // self.rest.size
        lost = np.bincount(gone // arms, weights=self.on.take(gone), minlength=self.rest.size)
        total = 1 + self.rest
        # What is left is not made too small by rounding, nor by arms that were left out for how little is on them.
        return np.asarray(np.log(np.maximum(total / (np.maximum(total - lost, 0.0) + arms * exp(_FAR)), 1.0)))
