"""The rule of LinkedLead told a gap: the best arm is ahead of every other by at least so much.

All arms that are still in are sampled equally often. Against each arm i there is capital, in equal parts on every other
arm j: bet against "i is better than j by the gap" (:mod:`linkedbandits.stopping.evidence`). An arm is dropped when all
that is bet against it has reached 1/delta. Of the best arm every such claim is true, so the sum of what is bet against
it is a nonnegative supermartingale from 1, and *it is ever dropped with probability at most delta*. Nobody has to guess
which arm leads: the parts on arms that are not good come to nothing, and have cost a share of 1/(n-1) each.

All pairs of a lane make the same bets in a block. So what is on the pair (i, j) is a product, exp(against_i + worth_j),
and the sum over all j takes one number for each arm instead of one for each pair. When an arm is dropped, what was bet
on it as the better one goes to those that are left, in proportion to what is on them already.

Bets are for a lead of the gap; of less, where the arms turn out to be closer: then every run ends, also where what was
told is false, but for gaps below what numbers can tell. The proofs are in ``docs/told-difference.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log
from typing import ClassVar

import numpy as np

from linkedbandits.linkage import Asks
from linkedbandits.model import Counts, FloatArray, IntArray, Needs, as_count
from linkedbandits.policy import InBatches, LaneState, SeedArray, WithGuarantee, open_lanes
from linkedbandits.stopping.evidence import place_bets

GROWTH = 0.05
"""A block has this share of the rounds so far, at least;"""
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
class ToldGapState(LaneState):
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
class ToldGap(WithGuarantee, InBatches[ToldGapState]):
    """Find the best arm, which is ahead of every other by at least ``gap``."""

    delta: float
    gap: float
    parallel: int = 1

    name: ClassVar[str] = "told-gap"
    asks: ClassVar[Asks] = "needs"

    def start(self, lanes: int, arms: int, seeds: SeedArray) -> ToldGapState:
        """A sample of every arm, or as many as are to be out, without a bet."""
        none = np.zeros(lanes, dtype=np.int64)
        counts = np.zeros((lanes, arms), dtype=np.int64)
        return ToldGapState(
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

    def request(self, state: ToldGapState) -> Needs:
        """The same number of samples of every arm that is still in."""
        return Needs(state.still_in * state.step[:, np.newaxis])

    def observe(self, state: ToldGapState, counts: Counts) -> None:
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

    def log10_evidence(self, state: ToldGapState) -> FloatArray:
        """What speaks against "this arm is the best, by the gap"; at 1/delta an arm is dropped, and that stands."""
        lanes, arms = state.still_in.shape
        on_others = Bets.of(state.worth, state.raised).log_on_others(np.arange(lanes * arms)).reshape(lanes, arms)
        return np.asarray(np.where(state.still_in, state.against + on_others, -log(self.delta)) / log(10))

    def _drop(self, state: ToldGapState, bets: Bets, enough: FloatArray) -> None:
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

    def _bet(self, state: ToldGapState) -> None:
        """Bet on the arm in front being ahead of the others, by as much as the gap or as it seems to be."""
        state.front, behind = self._predicted(state)
        successes = state.successes @ np.ones(state.successes.shape[1])
        knows = (successes >= SUCCESSES_TO_BET) | (state.rounds * self.gap >= 1)
        one = np.ones_like(behind)  # bets are the same for any number of rounds, but for what is sure
        placed = place_bets(behind, state.front, one, one, self.gap)
        state.own, state.other = knows * placed.own, knows * placed.rival
        state.sure = knows * placed.sure - _ROUNDING * (state.other - state.own)

    def _set_step(self, state: ToldGapState, to_go: FloatArray) -> None:
        """How many rounds the next block has; the further all arms are from being dropped, the more."""
        rounds = state.rounds.astype(np.float64)
        until_dropped = np.maximum(to_go, 0.0) / np.maximum(state.other, 1e-30)
        wanted = np.maximum(FIRST_SUCCESSES, SHARE_TO_GO * until_dropped) / state.front
        wanted = np.clip(wanted, GROWTH * rounds, MOST_GROWTH * rounds)
        state.step = as_count(np.maximum(wanted, self.parallel / np.maximum(state.left, 1)))

    def _predicted(self, state: ToldGapState) -> tuple[FloatArray, FloatArray]:
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
