"""Spare plays: handed out beyond what the request of their time needed, kept for the requests that follow.

When a request begins, and when a play that speaks for it brings less or is given up, each arm's samples are taken from
the spare plays that tried it, in the order in which they were handed out, whether they are back or still out. So the
samples of an arm, or the plays of a tuple, count in the order in which they were handed out, and where a sample counts
never depends on its own outcome or delay; ``docs/late-answers.md`` has the proof. For the same reason memory is kept in
bounds in two ways alone: a play that is handed out while there are very many spare plays is none of them, and a spare
play that no request took is forgotten by its age, counted in requests.
"""

from __future__ import annotations

import base64
from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkedbandits.live.answer_log import NO_HIT, TupleTable
from linkedbandits.live.whole_chains import arms_of, order_of, with_rest
from linkedbandits.model import BoolArray, IntArray

MOST_SPARES = 10_000
"""There are no more at a time, and none is kept for more requests than this: so many would have used them all up."""
_ROWS_AT_FIRST = 64
"""Of the spare plays these are looked at first for samples, then twice as many at a time: mostly few are needed."""


@dataclass(frozen=True, slots=True)
class ClaimedSpares:
    """What a request takes over: ``plays`` plays, ``back`` of which are back, with samples and successes of every arm.

    ``spoken_for`` has the samples of every arm from all of them. ``out`` has the plays that are not back, with the arms
    they now speak for, or None if those are their arms, all of them and nothing of a rest.
    """

    plays: int
    back: int
    spoken_for: IntArray
    samples: IntArray
    successes: IntArray
    out: list[tuple[int, IntArray | None]]

    @classmethod
    def none(cls, arms: int) -> ClaimedSpares:
        """Nothing."""
        nothing = np.zeros(arms, dtype=np.int64)
        return cls(0, 0, nothing, nothing, nothing, [])

    def combine(self, other: ClaimedSpares) -> ClaimedSpares:
        """Both together."""
        return ClaimedSpares(
            self.plays + other.plays,
            self.back + other.back,
            self.spoken_for + other.spoken_for,
            self.samples + other.samples,
            self.successes + other.successes,
            self.out + other.out,
        )


class Spares:
    """The spare plays that still have something to give, in the order in which they were handed out."""

    def __init__(self, arms: int) -> None:
        self._plays: list[int] = []
        self._requests = 0
        self._row_of: dict[int, int] = {}
        self._since: list[int] = []  # the number of the request while which each was handed out
        self._tried: list[IntArray] = []
        self._arms: list[IntArray] = []  # of it, what the policy asked to be tried together
        self._back = np.zeros(8, dtype=np.bool_)
        self._whole = np.zeros(8, dtype=np.bool_)  # nothing of it was claimed yet
        self._hit = np.zeros(8, dtype=np.int64)
        self._key = np.zeros(8, dtype=np.int64)  # the same for the same tuple
        self._unclaimed = np.zeros((8, arms), dtype=np.bool_)  # samples that no request has taken or spoken for
        self._left = np.zeros(8, dtype=np.int64)  # how many those are of every play,
        self._waiting = np.zeros(arms, dtype=np.int64)  # and of every arm

    @property
    def plays(self) -> list[int]:
        """Their numbers."""
        self._tidy()
        return self._plays

    def __bool__(self) -> bool:
        return bool(self._plays)  # at times also where none of them has anything to give: nothing is taken then

    def __len__(self) -> int:
        return int(np.count_nonzero(self._left[: len(self._plays)]))

    def put(self, play: int, tried: IntArray, arms: IntArray | None = None, spoken_for: bool = False) -> None:
        """A new one, still out. It tries more than its ``arms`` if it goes on with the rest of a whole chain.

        If its arms are ``spoken_for``, the rest alone is spare. It is left out if there are :data:`MOST_SPARES`.
        """
        if len(self._plays) >= MOST_SPARES:
            self._tidy()
        if len(self._plays) < MOST_SPARES:
            self._append(play, tried, tried if arms is None else arms, spoken_for)

    def _append(self, play: int, tried: IntArray, arms: IntArray, spoken_for: bool = False) -> None:
        if len(self._plays) == self._hit.size:
            self._tidy()
        row = len(self._plays)
        if row == self._hit.size:
            self._back, self._whole, self._hit, self._key, self._left, self._unclaimed = (
                np.concatenate([column, np.zeros_like(column)]) for column in self._columns
            )
        self._row_of[play] = row
        self._since.append(self._requests)
        self._plays.append(play)
        self._tried.append(tried)
        self._arms.append(arms)
        self._back[row], self._whole[row], self._hit[row] = False, not spoken_for, NO_HIT
        self._key[row] = hash(arms.tobytes())
        self._unclaimed[row] = False
        self._unclaimed[row, tried] = True
        self._waiting[tried] += 1
        if spoken_for:
            self._unclaimed[row, arms] = False
            self._waiting[arms] -= 1
        self._left[row] = tried.size - arms.size if spoken_for else tried.size

    def begin_request(self) -> None:
        """Grow older."""
        self._requests += 1

    def come_back(self, play: int, reached: int, hit_arm: int) -> None:
        """Write down the answer; arms that were not tried have no sample to claim."""
        row = self._row_of.get(play)
        if row is not None:
            self._back[row] = True
            self._hit[row] = hit_arm
            not_tried = self._tried[row][reached:]
            lost = self._unclaimed[row, not_tried]
            self._waiting[not_tried] -= lost
            self._left[row] -= int(lost.sum())
            self._unclaimed[row, not_tried] = False

    def give_up(self, play: int) -> None:
        """It will not come back."""
        row = self._row_of.get(play)
        if row is not None:
            self._waiting -= self._unclaimed[row]
            self._left[row] = 0
            self._unclaimed[row] = False

    @property
    def untouched(self) -> int:
        """How many are back with nothing taken from them, though they have something to give?"""
        count = len(self._plays)
        return int((self._back[:count] & self._whole[:count] & (self._left[:count] > 0)).sum())

    def samples_of(self, arm: int) -> int:
        """How many samples of an arm there are to take, those among them that are still out."""
        return int(self._waiting[arm])

    def known_samples(self, arm: int, start: int, count: int) -> tuple[int, int]:
        """Of ``count`` samples of an arm from the ``start``-th on: how many are back, and how many of these worked."""
        rows = np.flatnonzero(self._unclaimed[: len(self._plays), arm])[start : start + count]
        back = rows[self._back[rows]]
        return back.size, int(np.count_nonzero(self._hit[back] == arm))

    def plays_of(self, arms: IntArray) -> int:
        """How many plays of this very tuple there are to take."""
        return len(self._rows_of(arms))

    def known_ends(self, arms: IntArray, start: int, count: int) -> list[int]:
        """Where ``count`` plays of a tuple, from the ``start``-th on, ended if they are back; last without a hit."""
        rows = np.array(self._rows_of(arms)[start : start + count], dtype=np.int64)
        hits = self._hit[rows[self._back[rows]]]
        ends = [int(np.count_nonzero(hits == arm)) for arm in arms.tolist()]
        return [*ends, hits.size - sum(ends)]

    def _rows_of(self, arms: IntArray) -> list[int]:
        """The rows of plays of this very tuple of which nothing was claimed, in order."""
        count, wanted = len(self._plays), arms.tobytes()
        alike = self._whole[:count] & (self._left[:count] > 0) & (self._key[:count] == hash(wanted))
        return [row for row in np.flatnonzero(alike).tolist() if self._arms[row].tobytes() == wanted]

    def claim_samples(self, needs: IntArray) -> ClaimedSpares:
        """Arm by arm, as many samples as are needed."""
        self._forget_old()
        missing = np.minimum(needs, self._waiting).clip(min=0)
        rows: list[IntArray] = []
        taken: list[BoolArray] = []
        begin, size = 0, _ROWS_AT_FIRST
        while missing.any() and begin < len(self._plays):  # as long as a later play has some of them
            unclaimed = self._unclaimed[begin : min(begin + size, len(self._plays))]
            these = unclaimed & (np.cumsum(unclaimed, axis=0, dtype=np.int32) <= missing)
            found = np.flatnonzero(these.any(axis=1))
            rows.append(begin + found)
            taken.append(these[found])
            missing -= these.sum(axis=0)
            begin, size = begin + size, 2 * size
        return self._claim(np.concatenate(rows), np.concatenate(taken)) if rows else ClaimedSpares.none(needs.size)

    def claim_tuples(self, arms: IntArray, times: int) -> ClaimedSpares:
        """Whole plays of this very tuple."""
        self._forget_old()
        rows = self._rows_of(arms)[:times]
        own = np.zeros(self._unclaimed.shape[1], dtype=np.bool_)
        own[arms] = True
        return self._claim(np.array(rows, dtype=np.int64), self._unclaimed[rows] & own)

    def _claim(self, rows: IntArray, taken: BoolArray) -> ClaimedSpares:
        """Take samples from some rows."""
        of_play, of_arm = taken.sum(axis=1), taken.sum(axis=0)
        back = self._back[rows]
        hits = self._hit[rows][back]
        counted = taken[back]
        hit_taken = (hits != NO_HIT) & counted[np.arange(hits.size), hits]
        out = [
            (self._plays[rows[number]], self._arms_taken(rows[number], taken[number], int(of_play[number])))
            for number in np.flatnonzero(~back).tolist()
        ]
        self._whole[rows] = False
        self._unclaimed[rows] &= ~taken
        self._left[rows] -= of_play
        self._waiting -= of_arm
        if 2 * len(self) < len(self._plays):
            self._tidy()
        return ClaimedSpares(
            plays=rows.size,
            back=int(back.sum()),
            spoken_for=of_arm,
            samples=counted.sum(axis=0),
            successes=np.bincount(hits[hit_taken], minlength=taken.shape[1]),
            out=out,
        )

    def _arms_taken(self, row: int, taken: BoolArray, count: int) -> IntArray | None:
        tried = self._tried[row]
        return None if count == tried.size == self._arms[row].size else tried[taken[tried]]

    @property
    def _columns(self) -> tuple[np.ndarray, ...]:
        return self._back, self._whole, self._hit, self._key, self._left, self._unclaimed

    def _forget_old(self) -> None:
        if self._since and self._since[0] < self._requests - MOST_SPARES:
            self._tidy()

    def _tidy(self) -> None:
        """Drop those that have nothing to give, and those that are too old."""
        count = len(self._plays)
        old = bisect_left(self._since, self._requests - MOST_SPARES)
        self._left[:old] = 0
        self._waiting -= self._unclaimed[:old].sum(axis=0)
        rows = np.flatnonzero(self._left[:count])
        if rows.size == count:
            return
        for column in self._columns:
            column[: rows.size] = column[rows]
        kept = rows.tolist()
        self._since = [self._since[row] for row in kept]
        self._plays = [self._plays[row] for row in kept]
        self._tried = [self._tried[row] for row in kept]
        self._arms = [self._arms[row] for row in kept]
        self._row_of = {play: row for row, play in enumerate(self._plays)}

    def to_json(self, tuples: TupleTable) -> dict[str, Any]:
        """All of it, with tuples by their numbers in the table; by columns, for there may be thousands."""
        count = len(self.plays)
        return {
            "requests": self._requests,
            "since": list(self._since),
            "plays": list(self._plays),
            "tuples": [
                tuples.number(with_rest(arms, tried[arms.size :]))
                for arms, tried in zip(self._arms, self._tried, strict=True)
            ],
            "back": self._back[:count].tolist(),
            "whole": self._whole[:count].tolist(),
            "hit": self._hit[:count].tolist(),
            "unclaimed": pack_marks(self._unclaimed[:count]),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any], arms: int, tuples: TupleTable) -> Spares:
        """What :meth:`to_json` wrote."""
        read = cls(arms)
        for play, number in zip(data["plays"], data["tuples"], strict=True):
            read._append(play, order_of(tuples[number]), arms_of(tuples[number]))
        count = len(read._plays)
        read._requests = data["requests"]
        read._since = list(data["since"])
        read._back[:count] = data["back"]
        read._whole[:count] = data["whole"]
        read._hit[:count] = data["hit"]
        read._unclaimed[:count] = unpack_marks(data["unclaimed"], count * arms).reshape(count, arms)
        read._left[:count] = read._unclaimed[:count].sum(axis=1)
        read._waiting = read._unclaimed[:count].sum(axis=0)
        return read


def pack_marks(marks: BoolArray) -> str:
    """An array of marks in printable characters, eight marks a byte."""
    return base64.b64encode(np.packbits(marks).tobytes()).decode("ascii")


def unpack_marks(text: str, count: int) -> BoolArray:
    """So many marks that :func:`pack_marks` packed, one after the other."""
    packed = np.frombuffer(base64.b64decode(text, validate=True), dtype=np.uint8)
    return np.unpackbits(packed, count=count).astype(np.bool_)
