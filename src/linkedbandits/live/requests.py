"""The request in progress, and the plays handed out for it and beyond it.

A request takes the samples of an arm, or the plays of a tuple, *in the order in which they were handed out*, whether
they are back or still out, and waits for those that are out. A play that is given up, or ends before it reaches an arm,
has no sample of it to give; then the next one in the queue moves up. So where a sample counts never depends on its own
outcome or delay, and slow answers, which tend to be failures, are never left out (``docs/late-answers.md`` has the
proof). Plays handed out beyond what a request needs are *spare*: the requests that follow find them in the queue.

Two rules keep the queue short, and neither looks at outcomes: a spare play that is handed out while there are very many
in the queue does not enter it, and a play that no request has taken is forgotten by its age, counted in requests.

Where there is a log, a request takes from it what it has before anything is played.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from linkedbandits.attempts.queues import PairQueues, Queues
from linkedbandits.linkage import Linkage
from linkedbandits.live.saving import Saved, pack_marks, unpack_marks
from linkedbandits.model import COUNT_LIMIT, Counts, FloatArray, IntArray, Needs, Repeats, Request, Tuples

MOST_SPARES = 10_000
"""No more spare plays enter the queue, and a play stays in it for no more requests than this."""
PLAYS_DRAWN_TOGETHER = 4096
"""Plays of several tuples whose order is drawn together."""
_ROWS_AT_FIRST = 64
"""Of a long queue these plays are looked at first, then twice as many at a time: mostly few are needed."""


class NeedsPlan(Saved):
    """The next play for what is still needed, as the linkage plans it.

    ``speaks_for`` are the arms of the last play handed out that are needed: some of its arms only where a linkage has
    to try others as well.
    """

    _saved: ClassVar[tuple[str, ...]] = ("_order", "_plays", "_whole")

    def __init__(self, linkage: Linkage) -> None:
        self._linkage = linkage
        self._order = np.empty(0, dtype=np.int64)
        self._plays = 0  # that the plan has left
        self._whole = False  # plays try all arms of the order, also those without a need
        self._open = self._order  # the arms of the next play,
        self._sure = 0  # and for how many plays they cannot change; below 0 if there is none
        self.speaks_for = self._order

    def hand_out(self, free: IntArray) -> IntArray | None:
        """The arms of the next play, given how many samples of each are free to be played; None if none is."""
        if self._sure <= 0 and (self._sure < 0 or not self._settle(free)):
            self._sure = -1  # until something is free again
            return None
        self._sure -= 1
        self._plays -= 1
        return self._open

    def look_again(self) -> None:
        """More is free than it was when the last play was handed out."""
        self._sure = 0

    def _settle(self, free: IntArray) -> bool:
        arms = self._needed(free) if self._plays else None
        if arms is None or not arms.size:
            needed = np.maximum(free, 0)
            if not needed.any():
                return False
            plan = self._linkage.plan(needed[np.newaxis])
            self._order, self._plays, self._whole = plan.order[0], int(plan.plays[0]), plan.whole
            arms = self._needed(free)
        opened = self._order if self._whole else arms
        if opened.size != self._open.size or opened.tobytes() != self._open.tobytes():
            self._open = opened  # the same array tells the caller that it is the same play
        self.speaks_for = arms
        self._sure = min(int(np.minimum.reduce(free[arms])), self._plays)
        return True

    def without_extra(self, tried: IntArray) -> IntArray:
        """Of a play with the arms handed out last, what it tries but for arms of these that are not needed."""
        if self.speaks_for.size == self._open.size:
            return tried
        return tried[~np.isin(tried, self._open) | np.isin(tried, self.speaks_for)]

    def _needed(self, free: IntArray) -> IntArray:
        return np.asarray(self._order[free[self._order] > 0])


class TuplePlan(Saved):
    """Tuples, each handed out a given number of times, in an order drawn at random."""

    _saved: ClassVar[tuple[str, ...]] = ("_left", "_next", "_drawn", "_further")

    def __init__(self, times: Sequence[int], shuffle: int) -> None:
        self._shuffle = shuffle
        self._left = list(times)  # plays of every tuple without a place in the order yet
        self._next: list[int] = []  # the tuples whose turn it is, the next one last
        self._drawn = 0
        self._further = 0

    def hand_out(self) -> int | None:
        """The number of the tuple whose turn it is; None if all have been handed out."""
        if not self._next and not self._draw():
            return None
        return self._next.pop()

    def _draw(self) -> bool:
        """Put the next plays into an order: all that are left, or a share of each tuple's if there are very many."""
        left = np.array(self._left, dtype=np.float64)
        if not left.any():
            return False
        chance = np.random.default_rng([self._shuffle, self._drawn])
        self._drawn += 1
        taken = self._left
        if left.sum() > PLAYS_DRAWN_TOGETHER:
            share = chance.multinomial(PLAYS_DRAWN_TOGETHER, left / left.sum()).tolist()
            taken = [min(pair) for pair in zip(share, self._left, strict=True)]
        self._left = [count - now for count, now in zip(self._left, taken, strict=True)]
        self._next = chance.permutation(np.repeat(np.arange(left.size), taken)).tolist()
        return True

    def put_back(self, number: int) -> None:
        """A play of this tuple has to be made again, at some place among those that have their turn."""
        self._next.insert(int(self.further_draw().integers(len(self._next) + 1)), number)

    def further_draw(self) -> np.random.Generator:
        """The randomness of a choice beside the order: nothing about a request may go with the tuple that it gets."""
        self._further += 1
        return np.random.default_rng([self._shuffle, self._drawn, self._further])


class SampleQueue(Saved):
    """Samples of every arm, one queue an arm, and needs that take them.

    ``_free`` has the needs that no sample in the queue is to meet; it is negative where there are more samples than
    needs. As long as it is not, every sample is taken as it comes, and ``_out`` has the plays that are out, with the
    arms that they try. From then on their order matters, and each is a row: ``_live[row, arm]`` marks a sample that was
    not taken and can still be; a play that is out has one of every arm that it tries.
    """

    _saved: ClassVar[tuple[str, ...]] = (
        *("_needs", "_remaining", "_successes", "_free", "_requests"),
        *("_spent_samples", "_spent_successes", "_log_plays", "_at_once"),
    )

    def __init__(self, arms: int, linkage: Linkage) -> None:
        self._linkage = linkage
        self._plan = NeedsPlan(linkage)
        self._needs, self._remaining, self._successes, self._free = np.zeros((4, arms), dtype=np.int64)
        self._unmet = 0
        self._spare: IntArray | None = None  # the arms of a spare play, until something comes back
        self._requests = 0
        self._spent_samples, self._spent_successes = np.zeros((2, arms), dtype=np.int64)  # that no request will take
        self._log_plays = 0  # that it would have taken to get what was read of the log
        self._at_once: int | None = None
        self._out: dict[int, IntArray] = {}
        self._plays: list[int] = []
        self._row_of: dict[int, int] = {}
        self._since: list[int] = []  # the number of the request while which each was handed out
        self._tried: list[IntArray] = []
        self._back = np.zeros(8, dtype=np.bool_)
        self._touched = np.zeros(8, dtype=np.bool_)  # a request has taken something of it
        self._hit = np.zeros(8, dtype=np.int64)
        self._live = np.zeros((8, arms), dtype=np.bool_)

    def serves(self, request: Request) -> bool:
        """True for requests of samples."""
        return isinstance(request, Needs)

    def begin(self, request: Needs, log: Queues | None, pairs: PairQueues | None) -> None:
        """Begin with a request; take of the log, and of the queue, what they have of it."""
        self._requests += 1
        waiting = self._remaining - self._free
        self._needs = request.samples[0]
        self._remaining = self._needs.copy()
        self._successes = np.zeros_like(self._needs)
        self._log_plays, self._at_once = 0, None
        if log is not None:
            self._read(log)
        self._free = self._remaining - waiting
        # Exact for any number of plays that can be made, and cannot overflow.
        self._unmet = int(self._remaining.sum(dtype=np.float64))
        self._plan = NeedsPlan(self._linkage)
        self._spare = None
        if self._plays:
            self._forget_old()
            self._settle(np.flatnonzero(self._remaining))

    def _read(self, log: Queues) -> None:
        taken = np.minimum(self._needs, log.left)
        if not taken.any():
            return
        # A linkage whose plays try more than is needed would use the log up for samples that were not asked for.
        if not self._linkage.plan(self._needs[np.newaxis]).whole:
            read = self._linkage.fulfil(taken[np.newaxis], np.array([COUNT_LIMIT]), log)
            successes, self._log_plays = read.counts.successes, int(read.plays[0])
            if (taken == self._needs).all():
                self._at_once = self._log_plays
        else:
            successes = log.successes(taken[np.newaxis])
            self._log_plays = int(taken.max())
        self._successes += successes[0]
        self._remaining -= taken

    @property
    def fulfilled(self) -> bool:
        """True once every need is met."""
        return self._unmet == 0

    def hand_out(self) -> IntArray | None:
        """The arms of the next play that the request needs; None while plays that are out are to meet all of it."""
        return self._plan.hand_out(self._free)

    def spare_play(self) -> IntArray:
        """The plan for what has not come back yet."""
        if self._spare is None:
            plan = self._linkage.plan(self._remaining[np.newaxis])
            order: IntArray = plan.order[0]
            self._spare = order if plan.whole else np.asarray(order[self._remaining[order] > 0])
        return self._spare

    def put(self, play: int, tried: IntArray, spare: bool = False) -> None:
        """A play was handed out that tries these arms: those of :meth:`hand_out`, with a rest behind them if any.

        Arms that a play has to try though they are not needed bring samples for the estimates alone, as in simulation.
        """
        if not spare and self._plan.speaks_for.size != tried.size:
            tried = self._plan.without_extra(tried)
        if not self._plays and not spare and self._plan.speaks_for.size == tried.size:
            self._out[play] = tried
            self._free[tried] -= 1
            return
        for out, arms in self._out.items():
            self._append(out, arms)
        self._out.clear()
        if not spare or len(self._plays) < MOST_SPARES or self._tidy() < MOST_SPARES:
            self._free[tried] -= 1
            self._append(play, tried)

    def _append(self, play: int, tried: IntArray) -> None:
        row = len(self._plays)
        if row == self._hit.size:
            row = self._tidy()
        if row == self._hit.size:
            self._back, self._touched, self._hit, self._live = (
                np.concatenate([column, np.zeros_like(column)]) for column in self._columns
            )
        self._row_of[play] = row
        self._plays.append(play)
        self._since.append(self._requests)
        self._tried.append(tried)
        self._live[row, tried] = True

    def come_back(self, play: int, tried: IntArray, reached: int, hit: int) -> bool:
        """The first ``reached`` arms were tried, the last of them the ``hit`` if that is no less than 0.

        Returns whether the request has taken any of it.
        """
        samples = tried[:reached]
        arms = self._out.pop(play, None)
        if arms is not None and arms.size == tried.size:
            self._spare = None
            self._remaining[samples] -= 1
            self._unmet -= reached
            if hit >= 0:
                self._successes[hit] += 1
                if reached < tried.size:
                    self._free[tried[reached:]] += 1
                    self._plan.look_again()
            return True
        if arms is not None:
            self._append(play, arms)
        row = self._row_of.get(play)
        if row is None:  # it did not enter the queue, or is forgotten
            self._spend(samples, hit)
            return False
        arms = self._tried[row]
        if arms.size != tried.size:
            others = samples[~np.isin(samples, arms)]
            self._spend(others, hit)
            samples = samples[np.isin(samples, arms)]
            reached = samples.size
        missed = arms[reached:]
        if missed.size:
            self._live[row, missed] = False
            self._free[missed] += 1
            self._plan.look_again()
        place = np.count_nonzero(self._live[: row + 1, samples], axis=0)
        taken = samples[place <= self._remaining[samples]]
        if taken.size:
            self._spare = None
            self._remaining[taken] -= 1
            self._unmet -= taken.size
            if hit >= 0 and hit in taken:
                self._successes[hit] += 1
        if taken.size == reached:
            self._drop(play, row)
        else:
            self._live[row, taken] = False
            self._back[row], self._touched[row], self._hit[row] = True, taken.size > 0, hit
        if missed.size:
            self._settle(missed)
        return bool(taken.size)

    def give_up(self, play: int) -> None:
        """A play will not come back."""
        arms = self._out.pop(play, None)
        row = self._row_of.get(play)
        if row is not None:
            arms = self._tried[row]
            self._drop(play, row)
        if arms is not None:
            self._free[arms] += 1
            self._plan.look_again()
            self._settle(arms)

    def _settle(self, arms: IntArray) -> None:
        """Take what is back and has moved up into the needs of these arms."""
        if self._back[: len(self._plays)].any():
            self._take_back(arms)

    def _take_back(self, arms: IntArray) -> None:
        begin, size = 0, _ROWS_AT_FIRST
        room = self._remaining[arms]
        while begin < len(self._plays) and room.any():
            end = min(begin + size, len(self._plays))
            live = self._live[begin:end, arms]
            within = live & (np.cumsum(live, axis=0, dtype=np.int32) <= room)
            room = room - np.count_nonzero(within, axis=0)
            taken = within & self._back[begin:end, np.newaxis]
            if taken.any():
                count = np.count_nonzero(taken, axis=0)
                self._remaining[arms] -= count
                self._unmet -= int(count.sum())
                won = taken & (self._hit[begin:end, np.newaxis] == arms)
                self._successes[arms] += np.count_nonzero(won, axis=0)
                self._live[begin:end, arms] = live & ~taken
                self._touched[begin:end] |= taken.any(axis=1)
                self._spare = None
            begin, size = end, 2 * size

    def _drop(self, play: int, row: int) -> None:
        """A play has nothing more to give."""
        self._live[row] = False
        self._back[row] = self._touched[row] = False
        del self._row_of[play]
        if row == len(self._plays) - 1:
            self._plays.pop()
            self._since.pop()
            self._tried.pop()

    def _forget_old(self) -> None:
        if self._since[0] < self._requests - MOST_SPARES:
            for row in range(bisect_left(self._since, self._requests - MOST_SPARES)):
                arms = np.flatnonzero(self._live[row])
                self._free[arms] += 1
                if self._back[row]:
                    self._spend(arms, int(self._hit[row]))
                self._live[row] = False
            self._tidy()

    def _tidy(self) -> int:
        """Close up the rows of plays that have nothing to give; returns how many are left."""
        count = len(self._plays)
        rows = np.flatnonzero(self._live[:count].any(axis=1))
        if rows.size == count:
            return count
        for column in self._columns:
            column[: rows.size] = column[rows]
            column[rows.size : count] = 0
        kept = rows.tolist()
        self._plays = [self._plays[row] for row in kept]
        self._since = [self._since[row] for row in kept]
        self._tried = [self._tried[row] for row in kept]
        self._row_of = {play: row for row, play in enumerate(self._plays)}
        return len(kept)

    @property
    def _columns(self) -> tuple[np.ndarray, ...]:
        return self._back, self._touched, self._hit, self._live

    def _spend(self, samples: IntArray, hit: int) -> None:
        self._spent_samples[samples] += 1
        if hit >= 0 and hit in samples:
            self._spent_successes[hit] += 1

    def counts(self) -> Counts:
        """What the request has, as one lane."""
        plays = None if self._at_once is None else np.array([self._at_once])
        return Counts((self._needs - self._remaining)[np.newaxis], self._successes[np.newaxis], plays)

    def unused(self) -> tuple[IntArray, IntArray]:
        """Samples and successes of every arm that came back and that no request has taken."""
        count = len(self._plays)
        samples = self._live[:count] & self._back[:count, np.newaxis]
        won = samples & (self._hit[:count, np.newaxis] == np.arange(self._free.size))
        return self._spent_samples + samples.sum(axis=0), self._spent_successes + won.sum(axis=0)

    @property
    def untouched(self) -> int:
        """Plays that are back, have something to give, and of which nothing was taken."""
        count = len(self._plays)
        waiting = self._back[:count] & ~self._touched[:count] & self._live[:count].any(axis=1)
        return int(np.count_nonzero(waiting))

    def plays_with_log(self, live: int) -> int:
        """Plays made, and those for what was read."""
        return live + self._log_plays if self._at_once is None else self._at_once

    def predicted(self, means: FloatArray, chance: np.random.Generator) -> Counts:
        """The counts of the whole request, where missing samples are drawn with these means."""
        drawn = chance.binomial(self._remaining, means)
        return Counts(self._needs[np.newaxis], (self._successes + drawn)[np.newaxis])

    def spares_of(self, arm: int) -> int:
        """Samples of an arm beyond the request."""
        return max(-int(self._free[arm]), 0)

    def known_spares(self, arm: int, start: int, count: int) -> tuple[int, int]:
        """Of ``count`` spare samples of an arm from the ``start``-th on: how many are back, and how many worked."""
        start += int(self._remaining[arm])
        rows = np.flatnonzero(self._live[: len(self._plays), arm])[start : start + count]
        back = rows[self._back[rows]]
        return back.size, int(np.count_nonzero(self._hit[back] == arm))

    def to_json(self) -> dict[str, Any]:
        """All of it, for :func:`resume`; rows by columns, for there may be thousands."""
        self._tidy()
        count, out = len(self._plays), len(self._out)
        # Whether a play is a row may depend on when rows were closed up last, but what is saved must not.
        taken_as_they_come = np.zeros((out, self._free.size), dtype=np.bool_)
        for row, arms in enumerate(self._out.values()):
            taken_as_they_come[row, arms] = True
        return {
            **super().to_json(),
            "plan": self._plan.to_json(),
            "plays": [*self._plays, *self._out],
            "since": self._since + [self._requests] * out,
            "tried": [tried.tolist() for tried in (*self._tried, *self._out.values())],
            "back": self._back[:count].tolist() + [False] * out,
            "touched": self._touched[:count].tolist() + [False] * out,
            "hit": self._hit[:count].tolist() + [0] * out,
            "live": pack_marks(np.concatenate([self._live[:count], taken_as_they_come])),
        }

    def fill(self, data: dict[str, Any]) -> None:
        """Make a new queue into the one that was saved."""
        live = unpack_marks(data["live"], len(data["plays"]) * self._free.size).reshape(-1, self._free.size)
        for play, tried in zip(data["plays"], data["tried"], strict=True):
            self._append(play, np.array(tried, dtype=np.int64))
        super().fill(data)
        self._plan.fill(data["plan"])
        self._unmet = int(self._remaining.sum(dtype=np.float64))
        count = len(self._plays)
        self._since = list(data["since"])
        self._back[:count], self._touched[:count], self._hit[:count] = data["back"], data["touched"], data["hit"]
        self._live[:count] = live


@dataclass(eq=False)
class _TupleRow:
    """The plays of a tuple in order. ``ended`` has the places where those ended that are back, the last for no hit."""

    tried: IntArray
    plays: list[int] = field(default_factory=list)
    ended: dict[int, int] = field(default_factory=dict)
    number: int = 0  # in the request,
    remaining: int = 0  # which still takes so many,
    ends: list[int] = field(default_factory=list)  # and has taken so many that ended at each place


class TupleQueue(Saved):
    """Plays of every tuple, one queue a tuple, and a request for tuples that takes them."""

    _saved: ClassVar[tuple[str, ...]] = (
        *("_times", "_requests", "_spent_samples", "_spent_successes", "_log_plays", "_at_once", "_unmet"),
    )

    def __init__(self, arms: int) -> None:
        self._arms = arms
        self._rows: dict[bytes, _TupleRow] = {}
        self._row_of: dict[int, _TupleRow] = {}
        self._since: dict[int, int] = {}  # the number of the request while which each play was handed out
        self._requests = 0
        self._asked: list[_TupleRow] = []
        self._times: list[int] = []
        self._plan = TuplePlan([], 0)
        self._unmet = 0
        self._log_plays = 0
        self._at_once: int | None = None
        self._spent_samples, self._spent_successes = np.zeros((2, arms), dtype=np.int64)

    def serves(self, request: Request) -> bool:
        """True for requests of tuples."""
        return not isinstance(request, Needs)

    def begin(self, request: Repeats | Tuples, log: Queues | None, pairs: PairQueues | None) -> None:
        """Begin with a request; take of a log of pairs, and of the queue, what they have of it.

        A log with one queue per arm never answers tuples: it has lost which outcomes came in the same play.
        """
        self._requests += 1
        self._forget_old()
        for row in self._asked:
            row.remaining = 0
            if not row.plays:
                self._rows.pop(row.tried.tobytes(), None)
        tuples, self._times = tuples_of(request)
        self._asked = [self._row_for(tried) for tried in tuples]
        self._log_plays, self._at_once = 0, None
        for number, (row, times) in enumerate(zip(self._asked, self._times, strict=True)):
            row.number, row.remaining, row.ends = number, row.remaining + times, [0] * (row.tried.size + 1)
        asked = [row for number, row in enumerate(self._asked) if row.number == number]
        if pairs is not None:
            for row in asked:
                ended = pairs.take(row.tried, row.remaining)
                row.ends = ended.tolist() if row.tried.size == 2 else row.ends
                row.remaining -= int(ended.sum())
                self._log_plays += int(ended.sum())
        self._unmet = sum(row.remaining for row in asked)
        left = [0] * len(self._asked)
        for row in asked:
            left[row.number] = max(row.remaining - len(row.plays), 0)
        spares = sum(min(row.remaining, len(row.plays)) for row in asked)
        for row in asked:
            place = 0
            while place < min(row.remaining, len(row.plays)):
                place += not self._take(row, place)
        if self.fulfilled:
            self._at_once = spares
        self._plan = TuplePlan(left, int(request.shuffle[0]) if isinstance(request, Tuples) else 0)

    def _row_for(self, tried: IntArray) -> _TupleRow:
        key = tried.tobytes()
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = _TupleRow(tried)
        return row

    def _take(self, row: _TupleRow, place: int) -> bool:
        """Take the play at this place of a tuple's queue, if it is back."""
        play = row.plays[place]
        ended = row.ended.pop(play, None)
        if ended is None:
            return False
        self._drop(row, place)
        self._count(row, ended)
        return True

    def _count(self, row: _TupleRow, ended: int) -> None:
        row.remaining -= 1
        row.ends[ended] += 1
        self._unmet -= 1

    def _drop(self, row: _TupleRow, place: int) -> None:
        play = row.plays.pop(place)
        del self._row_of[play], self._since[play]

    @property
    def fulfilled(self) -> bool:
        """True once all plays are back."""
        return self._unmet == 0

    def hand_out(self) -> IntArray | None:
        """The tuple whose turn it is; None while plays that are out are to meet the whole request."""
        number = self._plan.hand_out()
        return None if number is None else self._asked[number].tried

    def spare_play(self) -> IntArray:
        """One of the tuples at random: the next request mostly wants the same."""
        asked = [row for row, times in zip(self._asked, self._times, strict=True) if times]
        return asked[0 if len(asked) == 1 else int(self._plan.further_draw().integers(len(asked)))].tried

    def put(self, play: int, tried: IntArray, spare: bool = False) -> None:
        """A play of this tuple was handed out."""
        if spare and len(self._row_of) >= MOST_SPARES:
            return
        row = self._row_for(tried)
        row.plays.append(play)
        self._row_of[play] = row
        self._since[play] = self._requests

    def come_back(self, play: int, tried: IntArray, reached: int, hit: int) -> bool:
        """The first ``reached`` arms were tried, the last of them the ``hit`` if that is no less than 0.

        Returns whether the request has taken it.
        """
        row = self._row_of.get(play)
        ended = tried.size if hit < 0 else reached - 1
        if row is None:  # it did not enter the queue, or is forgotten
            self._spend(tried, ended)
            return False
        place = bisect_left(row.plays, play)
        if place >= row.remaining:
            row.ended[play] = ended
            return False
        self._drop(row, place)
        self._count(row, ended)
        return True

    def give_up(self, play: int) -> None:
        """A play will not come back: the next one of its tuple moves up, or another one is handed out for it."""
        row = self._row_of.get(play)
        if row is not None:
            place = bisect_left(row.plays, play)
            self._drop(row, place)
            if place < row.remaining:
                if len(row.plays) < row.remaining:
                    self._plan.put_back(row.number)
                else:
                    self._take(row, row.remaining - 1)

    def _forget_old(self) -> None:
        old = [play for play, since in self._since.items() if since < self._requests - MOST_SPARES]
        for play in old:
            row = self._row_of[play]
            if play in row.ended:
                self._spend(row.tried, row.ended.pop(play))
            self._drop(row, bisect_left(row.plays, play))

    def _spend(self, tried: IntArray, ended: int) -> None:
        self._spent_samples[tried[: ended + 1]] += 1
        if ended < tried.size:
            self._spent_successes[tried[ended]] += 1

    def counts(self) -> Counts:
        """What the request has, as one lane."""
        plays = None if self._at_once is None else np.array([self._at_once])
        ends = [row.ends if row.number == number else [0] * len(row.ends) for number, row in enumerate(self._asked)]
        return counts_of_ends([row.tried for row in self._asked], ends, self._arms, plays)

    def unused(self) -> tuple[IntArray, IntArray]:
        """Samples and successes of every arm that came back and that no request has taken."""
        samples, successes = self._spent_samples.copy(), self._spent_successes.copy()
        for row in self._rows.values():
            for ended in row.ended.values():
                samples[row.tried[: ended + 1]] += 1
                if ended < row.tried.size:
                    successes[row.tried[ended]] += 1
        return samples, successes

    @property
    def untouched(self) -> int:
        """Plays that are back and that no request has taken."""
        return sum(len(row.ended) for row in self._rows.values())

    def plays_with_log(self, live: int) -> int:
        """Plays made, and those read."""
        return live + self._log_plays

    def predicted(self, means: FloatArray, chance: np.random.Generator) -> Counts:
        """The counts of the whole request, where missing plays are drawn with these means."""
        drawn = [
            np.add(row.ends, drawn_ends(row.tried, times - sum(row.ends), means, chance)).tolist()
            for row, times in zip(self._asked, self._times, strict=True)
        ]
        return counts_of_ends([row.tried for row in self._asked], drawn, self._arms)

    def spares_of(self, tried: IntArray) -> int:
        """Plays of a tuple beyond the request."""
        row = self._rows.get(tried.tobytes())
        return 0 if row is None else max(len(row.plays) - row.remaining, 0)

    def known_spares(self, tried: IntArray, start: int, count: int) -> list[int]:
        """Of ``count`` spare plays of a tuple from the ``start``-th on: where those that are back ended."""
        ends = [0] * (tried.size + 1)
        row = self._rows.get(tried.tobytes())
        if row is not None:
            start += row.remaining
            for play in row.plays[start : start + count]:
                if play in row.ended:
                    ends[row.ended[play]] += 1
        return ends

    def to_json(self) -> dict[str, Any]:
        """All of it, for :func:`resume`."""
        rows = list(self._rows.values())
        return {
            **super().to_json(),
            "plan": {"shuffle": self._plan._shuffle, **self._plan.to_json()},
            "rows": [
                {
                    "tried": row.tried.tolist(),
                    "plays": list(row.plays),
                    "since": [self._since[play] for play in row.plays],
                    "ended": list(row.ended.items()),
                    "remaining": row.remaining,
                    "ends": list(row.ends),
                    "number": row.number,
                }
                for row in rows
            ],
            "asked": [rows.index(row) for row in self._asked],
        }

    def fill(self, data: dict[str, Any]) -> None:
        """Make a new queue into the one that was saved."""
        super().fill(data)
        self._plan = TuplePlan([], data["plan"]["shuffle"])
        self._plan.fill(data["plan"])
        since: dict[int, int] = {}
        for saved in data["rows"]:
            row = self._row_for(np.array(saved["tried"], dtype=np.int64))
            row.plays, row.ended = list(saved["plays"]), dict(saved["ended"])
            row.remaining, row.ends, row.number = saved["remaining"], list(saved["ends"]), saved["number"]
            self._row_of.update(dict.fromkeys(row.plays, row))
            since.update(zip(row.plays, saved["since"], strict=True))
        self._since = dict(sorted(since.items()))
        rows = list(self._rows.values())
        self._asked = [rows[number] for number in data["asked"]]


RequestQueue = SampleQueue | TupleQueue


def queue_for(request: Request, arms: int, linkage: Linkage) -> RequestQueue:
    """An empty queue for requests of this kind."""
    return SampleQueue(arms, linkage) if isinstance(request, Needs) else TupleQueue(arms)


def resume(data: dict[str, Any], arms: int, linkage: Linkage) -> RequestQueue:
    """Go on with a queue that was saved by its ``to_json``."""
    queue: RequestQueue = TupleQueue(arms) if "rows" in data else SampleQueue(arms, linkage)
    queue.fill(data)
    return queue


def is_of(data: dict[str, Any], request: Request) -> bool:
    """True if this was saved by a request like that one."""
    if isinstance(request, Needs):
        return bool(data.get("needs") == request.samples[0].tolist())
    asked = [data["rows"][number]["tried"] for number in data.get("asked", ())]
    return asked == [tried.tolist() for tried in tuples_of(request)[0]]


def tuples_of(request: Repeats | Tuples) -> tuple[list[IntArray], list[int]]:
    """The tuples that a single lane asks for, and how often each: repeats are a single tuple."""
    if isinstance(request, Repeats):
        return [request.order[0][request.order[0] >= 0]], request.times.tolist()
    return [tried[tried >= 0] for tried in request.order[0]], request.times[0].tolist()


def drawn_ends(tried: IntArray, plays: int, means: FloatArray, chance: np.random.Generator) -> list[int]:
    """Where so many plays of a tuple end if its arms have these means: at each place, and without a hit."""
    ends = []
    for arm in tried.tolist():
        ends.append(int(chance.binomial(plays, means[arm])))
        plays -= ends[-1]
    return [*ends, plays]


def counts_of_ends(
    tuples: Sequence[IntArray], ends: Sequence[Sequence[int]], arms: int, plays: IntArray | None = None
) -> Counts:
    """The counts of one lane, from where the plays of each tuple ended."""
    samples, successes = np.zeros((2, arms), dtype=np.int64)
    hits = np.zeros((len(tuples), max(tried.size for tried in tuples)), dtype=np.int64)
    for choice, (tried, ended) in enumerate(zip(tuples, ends, strict=True)):
        going_on = sum(ended)
        hits[choice, : tried.size] = ended[:-1]
        if going_on:
            for arm, count in zip(tried.tolist(), ended[:-1], strict=True):
                samples[arm] += going_on
                successes[arm] += count
                going_on -= count
    return Counts(samples[np.newaxis], successes[np.newaxis], plays, hits[np.newaxis])
