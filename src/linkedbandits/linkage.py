"""What a play may be, how a need becomes plays, and what they cost: the linkages, each a class.

A linkage knows nothing of statistics. It turns a request into plays in one of two ways that agree in law:

- *live*, play by play: :meth:`Linkage.plan` says which arms to try, in which order, and for how many plays that
  holds; an arm whose need is met meanwhile is left out;
- *at once*, for a world that answers in counts: :meth:`Linkage.fulfil`, where arms are independent of each other, and
  :func:`play_plans` where they are not.

It also says what samples t cost in plays, to first order: under every linkage that is the largest of some linear
functions of t, each of which says that plays used for some purpose cannot also serve another. The proofs are in
``docs/what-a-play-is-worth.md``.

To add a linkage, write its class and list it in ``LINKAGES``: the command line, studies, the live service and its page
take names and words from there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from linkedbandits.errors import InvalidParameter, UnknownName
from linkedbandits.model import (
    COUNT_LIMIT,
    BoolArray,
    Counts,
    FloatArray,
    IntArray,
    Needs,
    Repeats,
    Request,
    Tuples,
    check_needs,
)
from linkedbandits.world import ManyTuples, World, positions_played

Asks = Literal["needs", "suffixes", "ordered tuples", "tuples"]
"""What a policy may ask for: needs alone, also all arms from one on, also any tuple in order, also any tuple at all."""


Price = Callable[[FloatArray, FloatArray], FloatArray]
"""The plays that needs cost, to first order, if the arms have these means: (..., arms) twice to (...)."""


@dataclass(frozen=True, slots=True)
class Quote:
    """The plays that given samples cost, and their slopes: the price of one more sample of each arm.

    ``plays`` is ``prices @ samples``; at any other samples t the plays are at least ``prices @ t``.
    """

    plays: float
    prices: FloatArray


@dataclass(frozen=True, slots=True)
class CostRows:
    """The plays as a linear programme: rows r with r @ (samples of every arm, plays, more variables) <= 0.

    All variables are at least 0. The fewest plays that meet the rows, for given samples, are what the samples cost, or
    less: then the prices of a :class:`Quote` are a row that is missing. ``row``, ``column`` and ``value`` have one
    entry for each coefficient that is not 0.
    """

    row: IntArray
    column: IntArray
    value: FloatArray
    shape: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Plan:
    """Try the arms of ``order[lane]`` whose need is not yet met, for ``plays[lane]`` plays; then plan again.

    Where ``whole`` is set all arms of ``order[lane]`` are tried: what they bring beyond their needs is spare. ``-1``
    after the last arm fills up a row.
    """

    order: IntArray
    plays: IntArray
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Fulfilment:
    """What a request brought: the counts, the plays it took, and in which lanes it was fulfilled in full.

    ``spare`` are samples beyond what was asked for, which the same plays brought and no policy may see.
    """

    counts: Counts
    plays: IntArray
    met: BoolArray
    spare: Counts | None = None

    def combine(self, later: Fulfilment) -> Fulfilment:
        """Add up with what followed in the same lanes."""
        counts = Counts(self.counts.samples + later.counts.samples, self.counts.successes + later.counts.successes)
        return Fulfilment(counts, self.plays + later.plays, later.met)


class Linkage(Protocol):
    """What a play may be."""

    name: str
    """What the command line, files and the live service call it."""
    words: str
    """How a sentence goes on that begins with "Arms are tried"."""
    in_order: bool
    """Does every play try its arms in their fixed order?"""
    tries_one: bool
    """Does every play try one arm only? Then it does not matter whether arms fail together."""

    def allows(self, asks: Asks) -> bool:
        """Can such requests be played at all?"""
        ...

    @staticmethod
    def price(needs: FloatArray, means: FloatArray) -> FloatArray:
        """See :data:`Price`."""
        ...

    def quote(self, samples: FloatArray, means: FloatArray) -> Quote:
        """The price of any numbers of samples of each arm, with its slopes."""
        ...

    def cost_rows(self, means: FloatArray) -> CostRows:
        """The same price for a linear programme."""
        ...

    def expected_at_most(self, needs: IntArray, means: FloatArray) -> float:
        """Plays that the least expectation for these needs does not exceed; the price is what it is not below."""
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
    words = "in order"
    in_order = True
    tries_one = False

    def allows(self, asks: Asks) -> bool:
        """Needs, and tuples that follow the order."""
        return asks in ("needs", "suffixes", "ordered tuples")

    @staticmethod
    def price(needs: FloatArray, means: FloatArray) -> FloatArray:
        """The largest, over arms i, of t[i] + sum_{j<i} mu[j] t[j]: a play that ends before arm i cannot sample it."""
        return np.asarray(_met_after(needs, means).max(axis=-1))

    def quote(self, samples: FloatArray, means: FloatArray) -> Quote:
        """The dearest arm costs a play a sample, and those before it their hits."""
        met_after = _met_after(samples, means)
        last = int(met_after.argmax())
        prices = np.zeros_like(means)
        prices[:last] = means[:last]
        prices[last] = 1
        return Quote(float(met_after[last]), prices)

    def cost_rows(self, means: FloatArray) -> CostRows:
        """The variables behind the plays are those ended before each arm, which grow by its hits from arm to arm."""
        each, arms = np.arange(means.size), means.size
        ended, before_last = each + arms + 1, each[:-1]
        return _rows(
            2 * arms - 1,
            2 * arms + 1,
            (each, each, 1.0),
            (each, ended, 1.0),
            (each, arms, -1.0),
            (arms + before_last, before_last, means[:-1]),
            (arms + before_last, ended[:-1], 1.0),
            (arms + before_last, ended[1:], -1.0),
        )

    def expected_at_most(self, needs: IntArray, means: FloatArray) -> float:
        """Doob's maximal inequality: hits before an arm exceed their mean by at most 2 standard deviations, averaged.

        Hits of the last needed arm hide no other needed arm.
        """
        needed = np.flatnonzero(needs)
        before = slice(0, needed[-1] if needed.size else 0)
        variance = float((needs[before] * (means[before] * (1 - means[before]))).sum())
        return float(self.price(needs.astype(np.float64), means)) + 2 * sqrt(variance)

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
    words = "in any order"
    in_order = False
    tries_one = False
    share_between_sorts = 0.25

    def allows(self, asks: Asks) -> bool:
        """Needs, and any tuple."""
        return asks in ("needs", "suffixes", "ordered tuples", "tuples")

    @staticmethod
    def price(needs: FloatArray, means: FloatArray) -> FloatArray:
        """The largest, over prefixes by decreasing need, of the hits expected over the chance that a play has one."""
        order = np.argsort(-needs, axis=-1)
        needs = np.take_along_axis(needs, order, axis=-1)
        means = np.take_along_axis(means, order, axis=-1)
        return np.asarray(_prefix_plays(needs, means, _chance_of_a_hit(means)).max(axis=-1))

    def quote(self, samples: FloatArray, means: FloatArray) -> Quote:
        """Of the dearest prefix every arm costs its share of the hits."""
        order = np.argsort(-samples, kind="stable")
        sorted_means = means[order]
        chance = _chance_of_a_hit(sorted_means)
        plays = _prefix_plays(samples[order], sorted_means, chance)
        last = int(plays.argmax())
        prices = np.zeros_like(means)
        prices[order[: last + 1]] = sorted_means[: last + 1] / chance[last] if last > 0 else 1
        return Quote(float(plays[last]), prices)

    def cost_rows(self, means: FloatArray) -> CostRows:
        """A row for each set of arms would be exact: these are the sets of one arm, which cost a play a sample."""
        each, arms = np.arange(means.size), means.size
        return _rows(arms, arms + 1, (each, each, 1.0), (each, arms, -1.0))

    def expected_at_most(self, needs: IntArray, means: FloatArray) -> float:
        """Play tuples at random at the rates needed, then make up for what is missing arm by arm.

        After ceil(price) of them arm i lacks half a mean absolute deviation of its binomial count, on average.
        """
        first = max(1, ceil(self.price(needs.astype(np.float64), means)))
        missing = np.sqrt(needs * np.maximum(1 - needs / first, 0)).sum() / 2
        return first + float(missing)

    def plan(self, needs: IntArray) -> Plan:
        """Longest remaining need first, for a share of that need; a single arm until its need is met."""
        if needs.shape[0] == 1:  # live play has one lane, and there every microsecond counts
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


def _chance_of_a_hit(means: FloatArray) -> FloatArray:
    """For each prefix of the arms, the chance that a play of it has a hit: 1 - prod(1 - mu).

    As a sum of the chances that the play ends at each arm, none negative, so that nothing cancels: every digit is right
    to a few roundings. Subtracted from 1, as it is written, a small chance loses its digits: two arms of mean 1.6e-16
    that need 96 samples each, which cost 96 plays, would be quoted 138.
    """
    ends = np.empty_like(means)
    ends[..., 0] = 1
    np.cumprod(1 - means[..., :-1], axis=-1, out=ends[..., 1:])
    ends *= means
    return np.cumsum(ends, axis=-1, out=ends)


def _prefix_plays(needs: FloatArray, means: FloatArray, chance: FloatArray) -> FloatArray:
    """What each prefix asks in plays: the hits expected of it over the chance of one.

    One arm alone costs a play a sample, also where its mean of 0 leaves 0/0; a prefix of such arms costs its first.
    """
    plays = np.cumsum(means * needs, axis=-1)
    np.divide(plays, chance, out=plays, where=chance > 0)
    plays[..., 0] = needs[..., 0]
    return plays


def _by_decreasing(needs: IntArray, longest: int) -> IntArray:
    # Small numbers sort several times faster as 16-bit integers, and needs are mostly small near their end.
    narrow = needs.astype(np.int16) if longest < 2**15 else needs
    return np.asarray(np.argsort(-narrow, axis=-1, kind="stable"), dtype=np.int64)


class Single:
    """A play is one arm: the standard bandit. Arm after arm is played until its need is met."""

    name = "single"
    words = "one at a time"
    in_order = True
    tries_one = True

    def allows(self, asks: Asks) -> bool:
        """Needs alone: a tuple has more than one arm."""
        return asks == "needs"

    @staticmethod
    def price(needs: FloatArray, means: FloatArray) -> FloatArray:
        """A play for every sample."""
        return np.asarray(needs.sum(axis=-1))

    def quote(self, samples: FloatArray, means: FloatArray) -> Quote:
        """A play for every sample."""
        return Quote(float(samples.sum()), np.ones_like(means))

    def cost_rows(self, means: FloatArray) -> CostRows:
        """A play for every sample."""
        each, arms = np.arange(means.size), means.size
        return _rows(1, arms + 1, (0, each, 1.0), (0, arms, -1.0))

    def expected_at_most(self, needs: IntArray, means: FloatArray) -> float:
        """The price is exact."""
        return float(needs.sum(dtype=np.float64))

    def plan(self, needs: IntArray) -> Plan:
        """The first arm with a need, until it is met."""
        first = (needs > 0).argmax(axis=1)
        return Plan(first[:, np.newaxis], needs[np.arange(needs.shape[0]), first])

    def fulfil(self, needs: IntArray, limit: IntArray, world: World) -> Fulfilment:
        """A play for every sample."""
        samples = _first_samples(needs, limit) if may_pass(limit, needs).any() else needs
        met = np.asarray((samples == needs).all(axis=1))
        return Fulfilment(Counts(samples, world.successes(samples)), samples.sum(axis=1), met)


class Suffix:
    """A play is all arms from some arm on: what a gate that opens once and stays open can do.

    Every play opens at the first arm whose need is not met. No rule takes these samples in fewer plays
    (``docs/what-a-play-is-worth.md``, section 5). What later arms bring beyond their needs meanwhile is spare.
    """

    name = "suffix"
    words = "from some arm on, in order"
    in_order = True
    tries_one = False

    def allows(self, asks: Asks) -> bool:
        """Needs, and suffixes."""
        return asks in ("needs", "suffixes")

    @staticmethod
    def price(needs: FloatArray, means: FloatArray) -> FloatArray:
        """Every play ends at a hit or comes to the last arm: the hits before it, and the plays that reach it."""
        reach, _ = _reach(needs, means)
        return np.asarray((means[..., :-1] * reach[..., :-1]).sum(axis=-1) + reach[..., -1])

    def quote(self, samples: FloatArray, means: FloatArray) -> Quote:
        """A sample of an arm that is opened at costs the chance that the play ends before the next such arm."""
        reach, opened = _reach(samples, means)
        ends = means * reach
        ends[-1] = reach[-1]
        first = np.flatnonzero(opened)
        prices = np.zeros_like(means)
        of_opened = np.add.reduceat(ends, first)
        prices[first] = np.divide(of_opened, samples[first], out=np.zeros_like(of_opened), where=samples[first] > 0)
        return Quote(float(ends.sum()), prices)

    def cost_rows(self, means: FloatArray) -> CostRows:
        """The variables behind the plays are those that reach each arm: its samples, and all that passed the last."""
        each, arms = np.arange(means.size), means.size
        reach, behind = each + arms + 1, each[1:]
        weight = np.append(means[:-1], 1.0)
        return _rows(
            2 * arms,
            2 * arms + 1,
            (each, each, 1.0),
            (each, reach, -1.0),
            (arms + behind - 1, reach[:-1], 1 - means[:-1]),
            (arms + behind - 1, reach[1:], -1.0),
            (2 * arms - 1, reach, weight),
            (2 * arms - 1, arms, -1.0),
        )

    def expected_at_most(self, needs: IntArray, means: FloatArray) -> float:
        """What chance adds to the plays that reach an arm: half a mean deviation of the hits of every arm before it.

        ``excess`` is how far the reach of an arm exceeds its first order, at most and on average.
        """
        wanted = needs.astype(np.float64)
        reach, _ = _reach(wanted, means)
        needed = np.flatnonzero(needs)
        added, excess = 0.0, 0.0
        for arm in range(int(needed[-1]) if needed.size else 0):
            miss = 1 - float(means[arm])
            deviation = sqrt(float(means[arm]) * miss * (float(reach[arm]) + excess)) / 2
            added += deviation
            excess = miss * excess + deviation
        return float(self.price(wanted, means)) + added

    def plan(self, needs: IntArray) -> Plan:
        """Open at the first arm with a need, until it is met."""
        first = (needs > 0).argmax(axis=1)
        order = first[:, np.newaxis] + np.arange(needs.shape[1] - int(first.min()))
        order[order >= needs.shape[1]] = -1
        return Plan(order, needs[np.arange(first.size), first], whole=True)

    def fulfil(self, needs: IntArray, limit: IntArray, world: World) -> Fulfilment:
        """Arm by arm: what passes the one before, and as many plays opened here as are still missing.

        Plays are opened at one arm after the other, so a limit cuts off the last of them.
        """
        samples, successes = np.zeros_like(needs), np.zeros_like(needs)
        spare, spare_successes = np.zeros_like(needs), np.zeros_like(needs)
        left = limit.copy()
        passed = np.zeros_like(limit)
        for arm in range(needs.shape[1]):
            opened = np.minimum(np.maximum(needs[:, arm] - passed, 0), left)
            left -= opened
            reached = passed + opened
            if not reached.any():
                continue
            here = np.full(limit.size, arm)
            samples[:, arm] = np.minimum(reached, needs[:, arm])
            spare[:, arm] = reached - samples[:, arm]
            successes[:, arm] = world.successes_of(here, samples[:, arm])
            if spare[:, arm].any():
                spare_successes[:, arm] = world.successes_of(here, spare[:, arm])
            passed = reached - successes[:, arm] - spare_successes[:, arm]
        met = np.asarray((samples == needs).all(axis=1))
        return Fulfilment(Counts(samples, successes), limit - left, met, spare=Counts(spare, spare_successes))


_THIN = 1e-100
"""Products of (1 - mu) are taken over pieces of the arms, so that none gets smaller than this."""
_PIECE = 1024


def _reach(samples: FloatArray, means: FloatArray) -> tuple[FloatArray, BoolArray]:
    """For each arm the fewest plays that have to reach it, on average, and whether some have to be opened there.

    r[i] = max(t[i], (1 - mu[i-1]) r[i-1]). Over the chance to come so far from the arm where a piece begins that is a
    running maximum, so that a piece takes a few operations on arrays.
    """
    reach = np.empty_like(samples)
    opened = np.empty(samples.shape, dtype=np.bool_)
    passed = np.full(samples.shape[:-1], -1.0)  # below any samples: plays that reach the first arm are opened there
    start = 0
    while start < means.shape[-1]:
        coming = np.cumprod(1 - means[..., start : start + _PIECE], axis=-1)
        thin = (coming < _THIN).reshape(-1, coming.shape[-1]).any(axis=0)
        size = int(thin.argmax()) + 1 if thin.any() else thin.size
        piece = np.s_[..., start : start + size]
        scaled = samples[piece].copy()
        scaled[..., 1:] /= coming[..., : size - 1]
        opened[piece][..., 0] = scaled[..., 0] > passed
        np.maximum(scaled[..., 0], passed, out=scaled[..., 0])
        highest = np.maximum.accumulate(scaled, axis=-1)
        opened[piece][..., 1:] = scaled[..., 1:] > highest[..., :-1]
        highest[..., 1:] *= coming[..., : size - 1]
        reach[piece] = np.where(opened[piece], samples[piece], highest)
        start += size
        passed = reach[..., start - 1] * (1 - means[..., start - 1])
    return reach, opened


def _met_after(samples: FloatArray, means: FloatArray) -> FloatArray:
    """Plays in order after which each arm has its samples, if hits come as expected: its own and the hits before it."""
    hits = means * samples
    plays = np.cumsum(hits, axis=-1)
    plays -= hits
    plays += samples
    return plays


Entries = tuple[IntArray | int, IntArray | int, FloatArray | float]


def _rows(height: int, width: int, *entries: Entries) -> CostRows:
    """Put together coefficients given as rows, columns and values, each an array or one number for all."""
    parts = [np.broadcast_arrays(*entry) for entry in entries]
    row, column, value = (np.concatenate([np.atleast_1d(part[place]) for part in parts]) for place in range(3))
    return CostRows(row, column, value, (height, width))


def may_pass(limit: IntArray, needs: IntArray) -> BoolArray:
    """In which lanes could the needs, with the worst of luck, take more plays than the limit?"""
    return np.asarray(needs.astype(np.float64) @ np.ones(needs.shape[1]) > limit)


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
    """At most ``plays`` plays, each trying the arms of ``order`` whose need is not yet met, from left to right.

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


def play_plans(needs: IntArray, limit: IntArray, linkage: Linkage, world: World) -> Fulfilment:
    """Meet the needs as live play does: plan after plan, in plays of whole tuples.

    For worlds in which the arms of a play depend on each other. What an arm does in the plays that reach it is then not
    what it does in general, so that counts cannot be drawn arm by arm. Plays with the same tuple are drawn at once: as
    many as are sure to be made before a need is met.
    """
    counts, spare = (Counts(np.zeros_like(needs), np.zeros_like(needs)) for _ in range(2))
    remaining = needs.copy()
    plays = np.zeros_like(limit)
    order = np.full_like(needs, -1)
    plan_plays = np.zeros_like(limit)
    whole = False
    while (going_on := remaining.any(axis=1) & (plays < limit)).any():
        wanted = _needs_in(order, remaining)
        ended = np.flatnonzero(going_on & ((plan_plays == 0) | ~wanted.any(axis=1)))
        if ended.size:
            plan = linkage.plan(remaining[ended])
            order[ended] = -1
            order[ended, : plan.order.shape[1]] = plan.order
            plan_plays[ended] = plan.plays
            whole = plan.whole
            wanted[ended] = _needs_in(order[ended], remaining[ended])
        tried = (order >= 0) if whole else (wanted > 0)
        until_met = np.where(wanted > 0, wanted, COUNT_LIMIT).min(axis=1)
        times = np.where(going_on, np.minimum(np.minimum(plan_plays, until_met), limit - plays), 0)
        tried_first = np.argsort(~tried, axis=1, kind="stable")
        tuples = np.take_along_axis(np.where(tried, order, -1), tried_first, axis=1)
        came = play_repeats(Repeats(tuples, times), times, needs.shape[1], world).counts
        needed = remaining > 0
        for total, part in ((counts, needed), (spare, ~needed)):
            total.samples[part] += came.samples[part]
            total.successes[part] += came.successes[part]
        remaining[needed] -= came.samples[needed]
        plays += times
        plan_plays -= times
    return Fulfilment(counts, plays, np.asarray(~remaining.any(axis=1)), spare=spare)


def _needs_in(order: IntArray, needs: IntArray) -> IntArray:
    """The needs of the arms of a row, place by place."""
    return np.where(order < 0, 0, np.take_along_axis(needs, np.maximum(order, 0), axis=1))


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


def play_tuples(request: Tuples, limit: IntArray, arms: int, world: World) -> Fulfilment:
    """Play each tuple as often as asked, one after the other, as far as the limit allows."""
    times = request.times
    met = np.ones(limit.size, dtype=np.bool_)
    if may_pass(limit, times).any():
        times = _first_samples(times, limit)
        met = np.asarray((times == request.times).all(axis=1))
    if isinstance(world, ManyTuples):
        hits = world.hits_of_many(request.order, times)
    else:
        hits = np.zeros_like(request.order)
        for choice in np.flatnonzero(times.any(axis=0)):
            hits[:, choice] = world.hits(request.order[:, choice], times[:, choice])
    samples, successes = _by_arm(request.order, times, hits, arms)
    plays = np.einsum("ij->i", times)  # along so short an axis several times faster than sum
    return Fulfilment(Counts(samples, successes, hits=hits), plays, met)


def _by_arm(order: IntArray, times: IntArray, hits: IntArray, arms: int) -> tuple[IntArray, IntArray]:
    """How often every arm was tried in these plays, and how often it succeeded: (lanes, arms) each."""
    lanes, tuples, width = order.shape
    # Arms by lane, flat, with a cell more in each lane: one before its first arm, where filled-up places go.
    samples, successes = np.zeros((2, lanes * (arms + 1)), dtype=np.int64)
    played = positions_played(times)
    cell, reached, hit = np.empty((3, width, played.size), dtype=np.int64)
    cell[:] = played // tuples * (arms + 1) + 1
    cell += order.reshape(-1, width).take(played, axis=0).T
    reached[0] = times.reshape(-1).take(played)
    for place in range(width):
        hit[place] = hits[:, :, place].reshape(-1).take(played)
        if place + 1 < width:
            np.subtract(reached[place], hit[place], out=reached[place + 1])
    # In whole numbers, which weights of bincount are not.
    np.add.at(samples, cell.reshape(-1), reached.reshape(-1))
    np.add.at(successes, cell.reshape(-1), hit.reshape(-1))
    return samples.reshape(lanes, arms + 1)[:, 1:], successes.reshape(lanes, arms + 1)[:, 1:]


def fulfil(request: Request, limit: IntArray, arms: int, linkage: Linkage, world: World) -> Fulfilment:
    """Fulfil any request in at most ``limit[lane]`` plays; its counts say how many."""
    match request:
        case Needs(samples=needs):
            step = (
                linkage.fulfil(needs, limit, world) if world.independent else play_plans(needs, limit, linkage, world)
            )
        case Repeats():
            step = play_repeats(request, limit, arms, world)
        case Tuples():
            step = play_tuples(request, limit, arms, world)
    counts = Counts(step.counts.samples, step.counts.successes, step.plays, step.counts.hits)
    return Fulfilment(counts, step.plays, step.met, step.spare)


LINKAGES: dict[str, Linkage] = {linkage.name: linkage for linkage in (Ordered(), Free(), Single(), Suffix())}


_PARTS = (*Linkage.__annotations__, *(part for part in vars(Linkage) if not part.startswith("_")))
"""All that a linkage has."""


def find_linkage(name: str | Linkage) -> Linkage:
    """The linkage of that name; a linkage stands for itself."""
    if not isinstance(name, str) and hasattr(name, "fulfil"):
        missing = [part for part in _PARTS if not hasattr(name, part)]
        if missing:
            raise InvalidParameter(
                f"linkage {name!r} has no {', '.join(missing)}; linkedbandits.linkage.Linkage says what they are"
            )
        return name
    for known, linkage in LINKAGES.items():
        if name == known:
            return linkage
    raise UnknownName(f"unknown linkage {name!r}; choose one of {', '.join(LINKAGES)}")


def linkages_for(asks: Asks) -> str:
    """The linkages that allow such requests, in words.

    >>> linkages_for("tuples")
    "'free'"
    """
    names = [repr(name) for name, linkage in LINKAGES.items() if linkage.allows(asks)]
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def next_play(remaining: npt.ArrayLike, linkage: str | Linkage = "ordered") -> tuple[int, ...]:
    """The arms to try in the next play, in order, when ``remaining`` samples of each are still needed.

    >>> next_play([2, 0, 5], "ordered"), next_play([2, 0, 5], "free"), next_play([2, 0, 5], "single")
    ((0, 2), (2, 0), (0,))
    >>> next_play([0, 2, 0, 5], "suffix")
    (1, 2, 3)
    """
    needs = check_needs(remaining)
    if not needs.any():
        raise InvalidParameter("every need is met; there is nothing left to play", parameter="needs")
    plan = find_linkage(linkage).plan(needs[np.newaxis])
    return tuple(int(arm) for arm in plan.order[0] if plan.whole or needs[arm] > 0)
