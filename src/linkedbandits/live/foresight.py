"""What a policy will want next, and what it will say, whatever the answers that are missing turn out to be.

A request is fulfilled when all its plays are back. While one is missing, the policy waits, and further plays are handed
out beside the request. This module follows the policy into its *futures*: the answers that are missing are made up, and
the policy is led on with them and with what came back since, one lane for each way to make them up.

- Where those futures want more than was handed out, that is what to hand out next (:func:`look_ahead`).
- If the policy comes to the same answer in *every* future, whatever the missing plays bring and whichever of them are
  given up, that is its answer (:func:`certain_answer`).

Samples count in the order in which their plays were handed out. So a future has one queue for each arm, or for each
tuple where a policy asks for tuples, and what is made up has its place in it. The proofs are in
``docs/late-answers.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from linkedbandits.linkage import Linkage
from linkedbandits.live.requests import NeedsInProgress, RequestInProgress, TuplesInProgress
from linkedbandits.model import BoolArray, Counts, FloatArray, IntArray, Needs, Repeats, Request
from linkedbandits.policy import AnyPolicy, LaneState

GONE = -1
"""Where a play ends that is given up;"""
MISSING = -2
"""and one of which nothing is known yet."""

LIKELY = 6
"""Futures whose missing answers are drawn from the estimates."""
MOST_AGAINST = 8
"""Futures in which all that is missing speaks for one arm: one for each that is still in, but no more than this."""
MOST_FUTURES = 4096
"""An answer is certain only if so few futures are all there are,"""
MOST_TO_FOLLOW = 2_000_000
"""and if these are so few, times the plays that are open, that they can be followed in some tenths of a second."""
MOST_ARMS = 64
"""With more arms nothing is foreseen: following the futures takes time that grows with them."""
MOST_STEPS = 400
"""A future is followed for this many requests at most."""


class OpenPlay(NamedTuple):
    """A play whose samples count for the present request or a later one.

    ``play`` is its number. It tries the arms of ``tried``, of which the first are those of the ``tuple`` that a policy
    asks to be tried together; None if it no longer counts as a play of that. ``counts`` marks the arms whose sample is
    still to be counted. ``end`` is the place where it ended, that behind the last if nothing worked, or ``MISSING``.
    """

    play: int
    tried: IntArray
    tuple: IntArray | None
    counts: BoolArray
    end: int


class Foreseen(NamedTuple):
    """What to hand out next, or None if the policy seems to have all that it needs for its answer.

    ``horizon`` is then the last play that it needs for that, and elsewhere None. It is ``nearly`` so if the likely
    futures have come to an end, and only those go on in which all that is missing speaks for one arm.
    """

    plan: RequestInProgress | None
    horizon: int | None
    nearly: bool


@dataclass(frozen=True)
class Present:
    """Where a policy stands: its state, what has come back for its present request, and the plays that are open.

    ``done`` says how much of each part of the request is back: of every arm it needs, or every tuple. ``plays`` are in
    the order in which they were handed out. ``means`` are estimates.
    """

    policy: AnyPolicy
    state: LaneState
    linkage: Linkage
    came: Counts
    done: IntArray
    plays: Sequence[OpenPlay]
    means: FloatArray

    @property
    def missing(self) -> list[int]:
        """Places of the plays that are out."""
        return [place for place, play in enumerate(self.plays) if play.end == MISSING]


def look_ahead(present: Present, plays: int, seed: Sequence[int]) -> Foreseen:
    """Follow some futures until they want about so many plays more than were handed out."""
    chance = np.random.default_rng(seed)
    ends = np.concatenate([_likely_ends(present, chance), _ends_against(present)])
    futures = _Futures(present, ends)
    futures.follow(chance, plays)
    going_on = ~futures.stopped
    likely = going_on & (np.arange(len(ends)) < LIKELY)
    wanting = likely if likely.any() else going_on
    if wanting.any():
        plan = futures.plan(wanting, present.linkage, int(chance.integers(2**63)))
        return Foreseen(plan, None, nearly=not likely.any())
    last = max((present.plays[place].play for place in futures.horizon.tolist() if place >= 0), default=None)
    return Foreseen(None, last if (futures.top == futures.top[0]).all() else None, nearly=True)


def number_of_futures(tried: Iterable[int]) -> int:
    """How many there are if plays are missing that try so many arms each: any of these works, none, or it is given up.

    >>> number_of_futures([2, 2, 3])
    80
    """
    return prod(count + 2 for count in tried)


def most_futures(plays: int) -> int:
    """How many futures may be followed with so many plays open.

    >>> most_futures(400), most_futures(10_000)
    (4096, 200)
    """
    return min(MOST_FUTURES, MOST_TO_FOLLOW // max(plays, 1))


def certain_answer(present: Present, horizon: int) -> tuple[tuple[int, ...], LaneState] | None:
    """The answer that the policy comes to whatever the missing plays up to the ``horizon`` bring, or None.

    With it comes a state in which it has that answer: the one without what is missing.
    """
    # As many as may be taken to be open: some futures need a little more than those that were followed before.
    open_to: list[int] = []
    for place in present.missing:
        size = number_of_futures(present.plays[one].tried.size for one in [*open_to, place])
        if size > most_futures(len(present.plays)):
            break
        open_to.append(place)
    # What comes behind the next one that is missing must not be needed.
    wall = next((place for place in present.missing if place not in open_to), len(present.plays))
    if wall < len(present.plays) and present.plays[wall].play <= horizon:
        return None
    known = replace(present, plays=present.plays[:wall])
    outcomes = [[GONE, *range(present.plays[place].tried.size + 1)] for place in open_to]
    ways = np.array(list(product(*outcomes)), dtype=np.int64)
    ends = _known_ends(known, len(ways))
    ends[:, open_to] = ways
    futures = _Futures(known, ends)
    futures.follow(None, 0)
    if not futures.stopped.all() or (futures.top != futures.top[0]).any():
        return None
    return tuple(futures.top[0].tolist()), futures.last_state_of_first


def _known_ends(present: Present, lanes: int) -> IntArray:
    return np.tile(np.array([play.end for play in present.plays], dtype=np.int64), (lanes, 1))


def _likely_ends(present: Present, chance: np.random.Generator) -> IntArray:
    """Missing plays end as the estimates have it."""
    ends = _known_ends(present, LIKELY)
    for place in present.missing:
        tried = present.plays[place].tried
        worked = chance.random((LIKELY, tried.size)) < present.means[tried]
        ends[:, place] = np.where(worked.any(axis=1), worked.argmax(axis=1), tried.size)
    return ends


def _ends_against(present: Present) -> IntArray:
    """For each arm that is still in: it works wherever it is tried, and nothing else does. Last: all is gone."""
    still_in = np.flatnonzero(present.state.still_in[0])
    closest = still_in[np.argsort(-present.means[still_in], kind="stable")][:MOST_AGAINST]
    ends = _known_ends(present, closest.size + 1)
    for place in present.missing:
        tried = present.plays[place].tried
        where = tried == closest[:, np.newaxis]
        ends[:-1, place] = np.where(where.any(axis=1), where.argmax(axis=1), tried.size)
        ends[-1, place] = GONE
    return ends


class _Queue:
    """Outcomes of one arm or tuple in every lane, in the order in which the plays were handed out.

    ``length`` (lanes,) says how many there are, ``hits`` (places, lanes, n) how many of the first n ended at each
    place, ``place`` (lanes, n) which play each is of.
    """

    def __init__(self, present: BoolArray, ends: IntArray, hits: Sequence[BoolArray], plays: IntArray) -> None:
        lanes = present.shape[0]
        position = np.cumsum(present, axis=1) - 1
        self.length = position[:, -1] + 1 if position.shape[1] else np.zeros(lanes, dtype=np.int64)
        longest = int(self.length.max(initial=0))
        self.hits = np.zeros((len(hits), lanes, longest + 1), dtype=np.int32)
        for of_place, ended in zip(self.hits, hits, strict=True):
            lane, column = np.nonzero(present & ended)
            of_place[lane, position[lane, column] + 1] = 1
        np.cumsum(self.hits, axis=2, out=self.hits)
        self.place = np.full((lanes, longest + 1), -1, dtype=np.int64)
        lane, column = np.nonzero(present)
        self.place[lane, position[lane, column] + 1] = plays[column]

    def take(self, lanes: IntArray, start: IntArray, count: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """The next so many: how many of them there are, their hits (places, lanes), and the play of the last one."""
        first = np.minimum(start, self.length[lanes])
        last = np.minimum(start + count, self.length[lanes])
        taken = self.hits[:, lanes, last] - self.hits[:, lanes, first]
        return last - first, taken.astype(np.int64), np.where(last > first, self.place[lanes, last], -1)


class _Futures:
    """A policy that goes on with made-up answers, a lane for each way to make them up.

    ``stopped`` and ``top`` are what has become of every lane, ``horizon`` the last play that it has used.
    """

    def __init__(self, present: Present, ends: IntArray) -> None:
        lanes = len(ends)
        self._policy, self._means, self._linkage = present.policy, present.means, present.linkage
        self._plays, self._ends = present.plays, ends
        self._came: Counts | None = present.came
        self._done = present.done
        self._state = present.state.take(np.zeros(lanes, dtype=np.int64))
        self._lane = np.arange(lanes)
        self._queues: dict[bytes, _Queue] = {}
        self._taken: dict[bytes, IntArray] = {}
        self._whole: dict[bytes, list[int]] | None = None  # the plays that count as one of each tuple
        self._kind: type[Request] | None = None
        self.stopped = np.zeros(lanes, dtype=np.bool_)
        self.top = np.zeros((lanes, present.policy.goal.k), dtype=np.int64)
        self.horizon = np.full(lanes, -1, dtype=np.int64)
        self.last_state_of_first = present.state

    def follow(self, chance: np.random.Generator | None, plays: int) -> None:
        """Go on until all lanes have stopped or lack samples; with ``chance`` these are drawn, up to so many plays."""
        for _ in range(MOST_STEPS):
            request = self._policy.request(self._state)
            if self._kind not in (None, type(request)):
                return
            self._kind = type(request)
            counts, lacking = self._fulfil(request, chance)
            if chance is None and lacking.any():
                return  # one future that goes on is enough to know that nothing is certain
            enough = self._ahead() >= plays if lacking.any() else lacking
            self._came = None
            self._policy.observe(self._state, counts)
            stopped = self._state.stopped
            if stopped.any():
                ended = self._lane[stopped]
                self.stopped[ended] = True
                self.top[ended] = self._policy.answer(self._state)[stopped]
                if ended[0] == 0:
                    self.last_state_of_first = self._state.take(np.zeros(1, dtype=np.int64))
                if chance is None and (self.top[self.stopped] != self.top[ended[0]]).any():
                    return
            going_on = ~(stopped | enough)
            if not going_on.any():
                return
            if not going_on.all():
                self._state.keep(going_on)
                self._lane = self._lane[going_on]

    def plan(self, lanes: BoolArray, linkage: Linkage, shuffle: int) -> RequestInProgress | None:
        """What these lanes want on average beyond what was handed out."""
        short = {key: self._short(key)[lanes].mean() for key in self._taken}
        wanted = {key: int(np.ceil(mean - 1e-9)) for key, mean in short.items() if mean > 0}
        if not wanted:
            return None
        arms = self._means.size
        if self._kind is Needs:
            needs = np.zeros(arms, dtype=np.int64)
            for key, count in wanted.items():
                needs[np.frombuffer(key, dtype=np.int64)] = count
            return NeedsInProgress(needs, linkage)
        tuples = [np.frombuffer(key, dtype=np.int64).copy() for key in wanted]
        return TuplesInProgress(tuples, list(wanted.values()), arms, shuffle)

    def _short(self, key: bytes) -> IntArray:
        return np.asarray(np.maximum(self._taken[key] - self._queues[key].length, 0))

    def _ahead(self) -> FloatArray:
        """About how many plays every lane that goes on has wanted beyond those handed out."""
        lanes = self._lane
        if self._kind is not Needs:
            return np.asarray(np.sum([self._short(key)[lanes] for key in self._taken], axis=0, dtype=np.float64))
        short = np.zeros((lanes.size, self._means.size))
        for key in self._taken:
            short[:, np.frombuffer(key, dtype=np.int64)[0]] = self._short(key)[lanes]
        return np.asarray(self._linkage.price(short, np.broadcast_to(self._means, short.shape)))

    def _fulfil(self, request: Request, chance: np.random.Generator | None) -> tuple[Counts, BoolArray]:
        if isinstance(request, Needs):
            return self._fulfil_needs(request.samples, chance)
        if isinstance(request, Repeats):
            counts, lacking = self._fulfil_tuples(request.order[:, np.newaxis], request.times[:, np.newaxis], chance)
            return Counts(counts.samples, counts.successes), lacking
        return self._fulfil_tuples(request.order, request.times, chance)

    def _fulfil_needs(self, needs: IntArray, chance: np.random.Generator | None) -> tuple[Counts, BoolArray]:
        successes = np.zeros_like(needs)
        wanted = needs
        if self._came is not None:
            successes += self._came.successes
            wanted = needs - self._done
        lacking = np.zeros(self._lane.size, dtype=np.bool_)
        for arm in np.flatnonzero(wanted.any(axis=0)).tolist():
            key = np.array([arm]).tobytes()
            if key not in self._queues:
                self._open(key, self._queue_of_arm(arm))
            hits, short = self._take(key, wanted[:, arm])
            successes[:, arm] += hits[0]
            lacking |= short > 0
            if chance is not None and short.any():
                successes[:, arm] += chance.binomial(short, self._means[arm])
        return Counts(needs, successes), lacking

    def _fulfil_tuples(
        self, order: IntArray, times: IntArray, chance: np.random.Generator | None
    ) -> tuple[Counts, BoolArray]:
        lanes, choices, width = order.shape
        hits = np.zeros((lanes, choices, width), dtype=np.int64)
        wanted = times
        if self._came is not None:
            # Of a single tuple no hits are told apart by choice: they are the successes of its arms.
            of_one = np.where(order[:, :1] >= 0, self._came.successes[0][order[:, :1]], 0)
            hits += of_one if self._came.hits is None else self._came.hits
            wanted = times - self._done
        lacking = np.zeros(lanes, dtype=np.bool_)
        for choice in np.flatnonzero(wanted.any(axis=0)).tolist():
            for padded, here in _by_tuple(order[:, choice], wanted[:, choice]):
                tried = padded[padded >= 0]
                key = tried.tobytes()
                if key not in self._queues:
                    self._open(key, self._queue_of_tuple(tried))
                came_hits, short = self._take(key, here)
                hits[:, choice, : tried.size] += came_hits.T
                lacking |= short > 0
                if chance is not None and short.any():
                    left = short
                    for place, arm in enumerate(tried.tolist()):
                        drawn = chance.binomial(left, self._means[arm])
                        hits[:, choice, place] += drawn
                        left = left - drawn
        samples, successes = _by_arm(order, times, hits, self._means.size)
        return Counts(samples, successes, hits=hits), lacking

    def _take(self, key: bytes, wanted: IntArray) -> tuple[IntArray, IntArray]:
        """From a queue: the hits, and how many there are too few."""
        taken = self._taken[key]
        known, hits, last = self._queues[key].take(self._lane, taken[self._lane], wanted)
        taken[self._lane] += wanted
        self.horizon[self._lane] = np.maximum(self.horizon[self._lane], last)
        return hits, wanted - known

    def _open(self, key: bytes, queue: _Queue) -> None:
        self._queues[key] = queue
        self._taken[key] = np.zeros(len(self._ends), dtype=np.int64)

    def _queue_of_arm(self, arm: int) -> _Queue:
        """Its samples: of the plays that come to it."""
        plays = np.array([place for place, play in enumerate(self._plays) if play.counts[arm]], dtype=np.int64)
        at = np.array([int((self._plays[place].tried == arm).argmax()) for place in plays], dtype=np.int64)
        ends = self._ends[:, plays]
        return _Queue(ends >= at, ends, [ends == at], plays)

    def _queue_of_tuple(self, tried: IntArray) -> _Queue:
        """Its plays: those that count as a whole."""
        if self._whole is None:
            self._whole = {}
            for place, play in enumerate(self._plays):
                if play.tuple is not None:
                    self._whole.setdefault(play.tuple.tobytes(), []).append(place)
        plays = np.array(self._whole.get(tried.tobytes(), []), dtype=np.int64)
        ends = self._ends[:, plays]
        return _Queue(ends != GONE, ends, [ends == place for place in range(tried.size)], plays)


def _by_tuple(order: IntArray, wanted: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """The tuples that lanes ask for, (lanes, width), each with how many plays of it every lane wants."""
    left = wanted > 0
    while left.any():
        tried = order[int(left.argmax())]
        alike = (order == tried).all(axis=1)
        yield tried, np.where(alike, wanted, 0)
        left &= ~alike


def _by_arm(order: IntArray, times: IntArray, hits: IntArray, arms: int) -> tuple[IntArray, IntArray]:
    """Samples and successes of every arm in so many plays of each tuple."""
    lanes = np.arange(order.shape[0])[:, np.newaxis]
    samples, successes = np.zeros((2, order.shape[0], arms + 1), dtype=np.int64)
    reached = times
    for place in range(order.shape[2]):
        np.add.at(samples, (lanes, order[:, :, place]), reached)  # the last column takes the filled-up places
        np.add.at(successes, (lanes, order[:, :, place]), hits[:, :, place])
        reached = reached - hits[:, :, place]
    return samples[:, :arms], successes[:, :arms]
