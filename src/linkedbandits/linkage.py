"""What a play may be, and how a need becomes plays: the linkages ``ordered``, ``free`` and ``single``.

A linkage knows nothing of statistics. It turns a request into plays in one of two ways that agree in law:

- *live*, play by play: :meth:`Linkage.plan` says which arms to try, in which order, and for how many plays that
  holds; an arm whose need is met meanwhile is left out;
- *at once*, for a world that answers in counts: :meth:`Linkage.fulfil`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from linkedbandits.errors import InvalidNeeds, UnknownName
from linkedbandits.model import (
    COUNT_LIMIT,
    BoolArray,
    Counts,
    FloatArray,
    IntArray,
    Needs,
    Repeats,
    Request,
    check_needs,
)
from linkedbandits.world import World

Asks = Literal["needs", "ordered tuples", "tuples"]
"""What a policy may ask for: needs alone, tuples in the fixed order of the arms, or tuples in any order."""


Price = Callable[[FloatArray, FloatArray], FloatArray]
"""The plays that needs cost, to first order, if the arms have these means: (lanes, arms) twice to (lanes,)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Try the arms of ``order[lane]`` whose need is not yet met, for ``plays[lane]`` plays; then plan again."""

    order: IntArray
    plays: IntArray


@dataclass(frozen=True, slots=True)
class Fulfilment:
    """What a request brought: the counts, the plays it took, and in which lanes it was fulfilled in full."""

    counts: Counts
    plays: IntArray
    met: BoolArray

    def combine(self, later: Fulfilment) -> Fulfilment:
        """Add up with what followed in the same lanes."""
        counts = Counts(self.counts.samples + later.counts.samples, self.counts.successes + later.counts.successes)
        return Fulfilment(counts, self.plays + later.plays, later.met)


class Linkage(Protocol):
    """What a play may be."""

    name: str

    def allows(self, asks: Asks) -> bool:
        """Can such requests be played at all?"""
        ...

    @staticmethod
    def price(needs: FloatArray, means: FloatArray) -> FloatArray:
        """See :data:`Price`."""
        ...

    def plan(self, needs: IntArray) -> Plan:
        """How to go on towards the needs that are left (at least one positive in every lane)."""
        ...

    def fulfil(self, needs: IntArray, limit: IntArray, world: World) -> Fulfilment:
        """Meet the needs in at most ``limit[lane]`` plays, with counts from ``world``."""
        ...


class Ordered:
    """A play is a subsequence of the fixed order: the paper's main setting.

    Every play tries all arms whose need is not yet met, in order. No rule takes these samples in fewer plays.
    With equal needs this is the paper's SuffixSample.
    """

    name = "ordered"

    def allows(self, asks: Asks) -> bool:
        """Needs, and tuples that follow the order."""
        return asks in ("needs", "ordered tuples")

    @staticmethod
    def price(needs: FloatArray, means: FloatArray) -> FloatArray:
        """The largest, over arms, of an arm's need and the hits expected before it."""
        hits = means * needs
        plays = np.cumsum(hits, axis=1)
        plays -= hits
        plays += needs
        return np.asarray(plays.max(axis=1))

    def plan(self, needs: IntArray) -> Plan:
        """All arms, in order, until every need is met."""
        lanes, arms = needs.shape
        order = np.arange(arms)[np.newaxis].repeat(lanes, axis=0)
        return Plan(order, np.full(lanes, COUNT_LIMIT, dtype=np.int64))

    def fulfil(self, needs: IntArray, limit: IntArray, world: World) -> Fulfilment:
        """Draw each arm's successes at once; the plays follow from them exactly."""
        tight = may_pass(limit, needs)
        if not tight.any():
            return self._fulfil_at_once(needs, world)
        # Lane by lane, so that what one lane draws does not depend on the budgets of the lanes beside it.
        at_once = self._fulfil_at_once(np.where(tight[:, np.newaxis], 0, needs), world)
        needs_in_turn = np.where(tight[:, np.newaxis], needs, 0)
        in_turn = play_in_turn(self.plan(needs).order, needs_in_turn, np.where(tight, limit, 0), world)
        return at_once.combine(in_turn)

    def _fulfil_at_once(self, needs: IntArray, world: World) -> Fulfilment:
        successes = world.successes(needs)
        met = np.ones(needs.shape[0], dtype=np.bool_)
        return Fulfilment(Counts(needs, successes), ordered_plays(needs, successes), met)


class Free:
    """A play is any subset in any order: the paper's permuted setting.

    The arms with the longest remaining need go first. The order is settled anew each time a quarter of the longest
    need is done. Measured against settling it after every play, that costs less than one play in a thousand for
    needs in the hundreds, and one in a hundred for needs of fifty; `make bench` shows it.
    """

    name = "free"
    share_between_sorts = 0.25

    def allows(self, asks: Asks) -> bool:
        """Needs, and any tuple."""
        return asks in ("needs", "ordered tuples", "tuples")

    @staticmethod
    def price(needs: FloatArray, means: FloatArray) -> FloatArray:
        """The largest, over prefixes by decreasing need, of the hits expected over the chance that a play has one."""
        order = np.argsort(-needs, axis=1)
        needs = np.take_along_axis(needs, order, axis=1)
        means = np.take_along_axis(means, order, axis=1)
        hits = np.cumsum(means * needs, axis=1)
        chance = 1 - np.cumprod(1 - means, axis=1)
        rates = np.divide(hits, chance, out=np.zeros_like(hits), where=chance > 0)
        return np.asarray(np.maximum(rates.max(axis=1), needs[:, 0]))

    def plan(self, needs: IntArray) -> Plan:
        """Longest remaining need first, for a share of that need; a single arm until its need is met."""
        if needs.shape[0] == 1:  # live play has one lane, and there every microsecond is somebody's
            return self._plan_one(needs[0])
        longest = needs.max(axis=1)
        order = _by_decreasing(needs, int(longest.max()))
        alone = needs[np.arange(longest.size), order[:, 1]] == 0
        share = np.maximum((longest * self.share_between_sorts).astype(np.int64), 1)
        return Plan(order, np.where(alone, longest, share))

    def _plan_one(self, needs: IntArray) -> Plan:
        longest = int(needs.max())
        if np.count_nonzero(needs) == 1:
            return Plan(np.array([[needs.argmax()]]), np.array([longest]))
        plays = max(int(longest * self.share_between_sorts), 1)
        return Plan(_by_decreasing(needs, longest)[np.newaxis], np.array([plays]))

    def fulfil(self, needs: IntArray, limit: IntArray, world: World) -> Fulfilment:
        """Follow the plans, the plays of each plan at once."""
        nothing = np.zeros_like(needs)
        total = Fulfilment(Counts(nothing, nothing), np.zeros_like(limit), np.asarray(~needs.any(axis=1)))
        remaining = needs
        while True:
            left = np.where(total.met, 0, limit - total.plays)
            if not left.any():
                return total
            plan = self.plan(remaining)
            step = play_in_turn(plan.order, remaining, np.minimum(plan.plays, left), world)
            total = total.combine(step)
            remaining = remaining - step.counts.samples


def _by_decreasing(needs: IntArray, longest: int) -> IntArray:
    # Small numbers sort several times faster as 16-bit integers, and needs are mostly small near their end.
    narrow = needs.astype(np.int16) if longest < 2**15 else needs
    return np.asarray(np.argsort(-narrow, axis=-1, kind="stable"), dtype=np.int64)


class Single:
    """A play is one arm: the standard bandit. Arm after arm is played until its need is met."""

    name = "single"

    def allows(self, asks: Asks) -> bool:
        """Needs alone: a tuple has more than one arm."""
        return asks == "needs"

    @staticmethod
    def price(needs: FloatArray, means: FloatArray) -> FloatArray:
        """A play for every sample."""
        return np.asarray(needs.sum(axis=1))

    def plan(self, needs: IntArray) -> Plan:
        """The first arm with a need, until it is met."""
        first = (needs > 0).argmax(axis=1)
        return Plan(first[:, np.newaxis], needs[np.arange(needs.shape[0]), first])

    def fulfil(self, needs: IntArray, limit: IntArray, world: World) -> Fulfilment:
        """A play for every sample."""
        samples = _first_samples(needs, limit) if may_pass(limit, needs).any() else needs
        met = np.asarray((samples == needs).all(axis=1))
        return Fulfilment(Counts(samples, world.successes(samples)), samples.sum(axis=1), met)


def may_pass(limit: IntArray, needs: IntArray) -> BoolArray:
    """In which lanes could the needs, with the worst of luck, take more plays than the limit?"""
    return np.asarray(needs.sum(axis=1, dtype=np.float64) > limit)


def _first_samples(needs: IntArray, limit: IntArray) -> IntArray:
    """The samples that fit into the limit when arms are served one after the other."""
    samples = np.empty_like(needs)
    left = limit.copy()
    for arm in range(needs.shape[1]):  # a running sum of needs could overflow, what is left cannot
        samples[:, arm] = np.minimum(needs[:, arm], left)
        left -= samples[:, arm]
    return samples


def ordered_plays(needs: IntArray, successes: IntArray) -> IntArray:
    """How many plays the needs took: the largest, over needed arms i, of ``needs[i] + successes before i``.

    Arm i is sampled in every play, until its need is met, that no arm before it has ended; and those ended by an
    earlier arm are no samples of i under any rule. So this many plays are enough and fewer are impossible.
    With equal needs t it is the paper's T = t + X_1 + ... + X_{n-1} (Eq. 2).

    >>> ordered_plays(np.array([[5, 5, 5]]), np.array([[1, 2, 4]]))
    array([8])
    """
    before = np.cumsum(successes, axis=1)
    before -= successes
    before += needs
    # An arm without a need does not count, but it need not be left out: no more plays were ended before it than the
    # last needed arm before it accounts for.
    plays: IntArray = before.max(axis=1)
    return plays


def play_in_turn(order: IntArray, needs: IntArray, plays: IntArray, world: World) -> Fulfilment:
    """At most so many plays, each trying the arms of ``order`` whose need is not yet met, from left to right.

    Position by position: an arm samples the plays that reach it until its need is met, and passes on those that
    it did not end.
    """
    lanes = np.arange(needs.shape[0])
    samples = np.zeros_like(needs)
    successes = np.zeros_like(needs)
    passed_on = plays.copy()
    taken = np.zeros_like(plays)
    for arm in order.T:
        tried = np.minimum(passed_on, needs[lanes, arm])
        hit = world.successes_of(arm, tried)
        samples[lanes, arm] = tried
        successes[lanes, arm] = hit
        np.maximum(taken, np.where(tried > 0, plays - passed_on + tried, 0), out=taken)
        passed_on -= hit
        if not passed_on.any():
            break
    met = (samples == needs).all(axis=1)
    return Fulfilment(Counts(samples, successes), np.where(met, taken, plays), met)


def play_repeats(request: Repeats, limit: IntArray, arms: int, world: World) -> Fulfilment:
    """Play the tuple as often as asked, or as often as the limit allows."""
    times = np.minimum(request.times, limit)
    hits = world.hits(request.order, times)
    ended_before = np.cumsum(hits, axis=1) - hits
    tried = times[:, np.newaxis] - ended_before
    samples = np.zeros((times.size, arms + 1), dtype=np.int64)  # the last column takes the filled-up places
    successes = np.zeros_like(samples)
    np.put_along_axis(samples, request.order % (arms + 1), tried, axis=1)
    np.put_along_axis(successes, request.order % (arms + 1), hits, axis=1)
    return Fulfilment(Counts(samples[:, :arms], successes[:, :arms]), times, times == request.times)


def fulfil(request: Request, limit: IntArray, arms: int, linkage: Linkage, world: World) -> Fulfilment:
    """Fulfil any request in at most ``limit[lane]`` plays; its counts say how many."""
    match request:
        case Needs(samples=needs):
            step = linkage.fulfil(needs, limit, world)
        case Repeats():
            step = play_repeats(request, limit, arms, world)
    return replace(step, counts=replace(step.counts, plays=step.plays))


LINKAGES: dict[str, Linkage] = {linkage.name: linkage for linkage in (Ordered(), Free(), Single())}


def find_linkage(name: str | Linkage) -> Linkage:
    """The linkage of that name; a linkage stands for itself."""
    if not isinstance(name, str) and hasattr(name, "fulfil"):
        return name
    for known, linkage in LINKAGES.items():
        if name == known:
            return linkage
    raise UnknownName(f"unknown linkage {name!r}; choose one of {', '.join(LINKAGES)}")


def next_play(remaining: npt.ArrayLike, linkage: str | Linkage = "ordered") -> tuple[int, ...]:
    """The next play for what is still needed.

    >>> next_play([2, 0, 5], "ordered"), next_play([2, 0, 5], "free"), next_play([2, 0, 5], "single")
    ((0, 2), (2, 0), (0,))
    """
    needs = check_needs(remaining)
    if not needs.any():
        raise InvalidNeeds("every need is met; there is nothing left to play")
    order = find_linkage(linkage).plan(needs[np.newaxis])
    return tuple(int(arm) for arm in order.order[0] if needs[arm] > 0)
