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

*Told an absolute gap*, the rule is that of :mod:`linkedbandits.policies.told_gap`: capital is bet against "this arm is
better than that one by the gap", in equal parts on all other arms.

Every run ends, also where the difference is smaller than told; told an odds ratio, unless successes never come, or
always: the difference of two successes is a walk that leaves any interval.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from functools import cached_property
from math import ceil, expm1, isfinite, log, log1p, log10, sqrt
from typing import ClassVar

import numpy as np

from linkedbandits.assumptions import ToldDifference
from linkedbandits.checks import check_delta, check_odds_ratio, check_one_best, check_positive
from linkedbandits.errors import InvalidParameter
from linkedbandits.linkage import Asks
from linkedbandits.model import BoolArray, Counts, FloatArray, IntArray, Needs, Request
from linkedbandits.policies.told_gap import ToldGap, ToldGapState
from linkedbandits.policy import AnyPolicy, InBatches, LaneState, SeedArray, WithGuarantee, open_lanes

SHARE_OF_LEAD = 0.02
"""So many rounds are asked for at a time, at least, that the leader is expected to gain this share of the lead,"""
GROWTH = 0.002
"""and this share of the rounds played: arms that never fail are not to keep a simulation for ever."""
STANDARD_ERRORS = 3.0
"""So far below what was told has what was seen to be for a contradiction, with two arms; with more a little further."""


@dataclass
class LeadState(LaneState):
    """Samples and successes of every arm, and how many more samples those that are still in are asked for."""

    samples: IntArray
    successes: IntArray
    step: IntArray


@dataclass(frozen=True)
class LinkedLead(WithGuarantee, InBatches[LeadState | ToldGapState]):
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

    def start(self, lanes: int, arms: int, seeds: SeedArray) -> LeadState | ToldGapState:
        """Nothing was sampled yet."""
        started: LeadState | ToldGapState = self._rule.start(lanes, arms, seeds)
        return started

    def request(self, state: LeadState | ToldGapState) -> Request:
        """What the rule for the difference that was told asks for."""
        return self._rule.request(state)

    def observe(self, state: LeadState | ToldGapState, counts: Counts) -> None:
        """Let that rule decide."""
        self._rule.observe(state, counts)

    def log10_evidence(self, state: LeadState | ToldGapState) -> FloatArray | None:
        """What speaks against "this arm is the best, by as much as was told"; at 1/delta an arm is dropped."""
        return self._rule.log10_evidence(state)

    def contradicted(self, state: LeadState | ToldGapState, arm: IntArray) -> BoolArray:
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
            return ToldGap(self.delta, self.gap, parallel=self.parallel)
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
        few = rounds * np.maximum(SHARE_OF_LEAD * lead / (1 + state.successes.max(axis=1)), GROWTH)
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
