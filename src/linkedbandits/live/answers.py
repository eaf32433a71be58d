"""The answers to all plays ever asked, four bytes each, so that a repeated answer is told from a new one.

Where there is no journal beside them they come with the tuple that each play tried, four bytes more: then they are a
log, from which another policy can go on. Tuples have numbers, for there are many plays and few tuples.
"""

from __future__ import annotations

import base64
from array import array
from collections.abc import Iterable, Sequence
from math import inf
from typing import Any

import numpy as np

from linkedbandits.attempts.log import AttemptLog, log_of_answers
from linkedbandits.live.chain_record import order_of
from linkedbandits.live.saving import compress, decompress, pack_numbers, unpack_numbers
from linkedbandits.model import IntArray, Label

NO_HIT = -1
WAITING = -2
GIVEN_UP = -3
"""A play that was given up has this as its answer, less the number of its tuple in a list of the experiment's."""

SEGMENT = 65_536
"""Plays a segment: what is written at a time where answers are kept apart from the experiment."""
MOST_ARMS_KEPT = 1_000_000
"""Arms in all tuples that are kept. What is played in yet other tuples cannot serve as a log."""
NOT_KEPT = -1
_FAST = 1  # answers repeat a few values; more effort gains little


class TupleTable:
    """Tuples by number, and numbers by tuple.

    >>> table = TupleTable()
    >>> table.number(np.array([2, 0])), table.number(np.array([1])), table.number(np.array([2, 0]))
    (0, 1, 0)
    >>> table[1]
    array([1])
    """

    def __init__(self, tuples: Iterable[Sequence[int]] = (), most_arms: float = inf) -> None:
        """With these, and room for so many arms in all."""
        self._tuples: list[IntArray] = []
        self._numbers: dict[bytes, int] = {}
        self._room = most_arms
        for arms in tuples:
            self.number(np.array(arms, dtype=np.int64))

    def number(self, arms: IntArray) -> int:
        """The tuple's number, a new one if it was not there; ``NOT_KEPT`` if there is no room for it."""
        key = arms.tobytes()
        number = self._numbers.get(key)
        if number is None:
            if arms.size > self._room:
                return NOT_KEPT
            self._room -= arms.size
            number = self._numbers[key] = len(self._tuples)
            self._tuples.append(arms)
        return number

    def __getitem__(self, number: int) -> IntArray:
        return self._tuples[number]

    def all(self) -> Sequence[IntArray]:
        """The tuples in the order of their numbers."""
        return self._tuples

    def to_json(self) -> list[list[int]]:
        """The tuples in the order of their numbers, for JSON."""
        return [arms.tolist() for arms in self._tuples]


class AnswerLog:
    """Answer by play id: an arm's index, ``NO_HIT``, ``WAITING``, or ``GIVEN_UP`` and below."""

    def __init__(self, keeps_tuples: bool = True) -> None:
        self._hits = array("i")
        self._tuples: array[int] | None = array("i") if keeps_tuples else None  # the number of each play's tuple
        self._table = TupleTable(most_arms=MOST_ARMS_KEPT)
        self._last: IntArray | None = None
        self._last_number = NOT_KEPT

    def __len__(self) -> int:
        return len(self._hits)

    def __getitem__(self, play: int) -> int:
        return self._hits[play]

    def of(self, play: int) -> int | None:
        """The answer to a play, or None if there is no such play."""
        hits = self._hits
        return hits[play] if 0 <= play < len(hits) else None

    def open_play(self, arms: IntArray) -> int:
        """Number a new play."""
        tuples, hits = self._tuples, self._hits
        if tuples is not None:
            if arms is not self._last:  # the same tuple again is the same array, mostly
                self._last, self._last_number = arms, self._table.number(arms)
            tuples.append(self._last_number)
        hits.append(WAITING)
        return len(hits) - 1

    def record(self, play: int, hit: int, late: bool = False) -> None:
        """Write down the answer; a late one has no say in any decision, and is in no log."""
        self._hits[play] = hit
        if late and self._tuples is not None:
            self._tuples[play] = NOT_KEPT

    def forget_tuples(self) -> None:
        """Stop keeping them: the service's journal has them."""
        self._tuples, self._table, self._last = None, TupleTable(), None

    def in_log(self, play: int) -> IntArray | None:
        """The arms of a play that is out or was told in time; None for the others, and where they were not kept."""
        if self._tuples is None or self._tuples[play] == NOT_KEPT or self._hits[play] <= GIVEN_UP:
            return None
        return self._table[self._tuples[play]]

    def attempts(self, labels: Sequence[Label], end: int | None = None) -> AttemptLog:
        """Plays told in time, before ``end`` and the first that is out, as a log in the order of their ids."""
        hits = np.array(self._hits[:end])
        hits = hits[: self.first_out]
        numbers = np.full(hits.size, NOT_KEPT) if self._tuples is None else np.array(self._tuples[: hits.size])
        told = (hits >= NO_HIT) & (numbers != NOT_KEPT)
        return log_of_answers(labels, [order_of(arms) for arms in self._table.all()], numbers[told], hits[told])

    @property
    def first_out(self) -> int | None:
        """The first play that is neither told nor given up; None if there is none."""
        return next(iter(np.flatnonzero(np.array(self._hits) == WAITING).tolist()), None)

    def to_json(self) -> dict[str, Any]:
        """The answers packed into printable characters, and which tuple every play tried, where that is kept."""
        tuples = None
        if self._tuples is not None:
            tuples = {"numbers": pack_numbers(self._tuples), "table": self._table.to_json()}
        return {"answers": pack_numbers(self._hits), "answers_to": tuples}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> AnswerLog:
        """What :meth:`to_json` wrote."""
        read = cls.from_segments([base64.b64decode(data["answers"], validate=True)])
        if data["answers_to"] is not None:
            read._tuples = unpack_numbers(data["answers_to"]["numbers"])
            read._table = TupleTable(data["answers_to"]["table"], MOST_ARMS_KEPT)
        return read

    def segment(self, number: int) -> bytes:
        """The answers of plays ``number * SEGMENT`` and on, packed."""
        return compress(self._hits[number * SEGMENT : (number + 1) * SEGMENT], _FAST)

    @classmethod
    def from_segments(cls, segments: Iterable[bytes]) -> AnswerLog:
        """The answers of which these are the segments, in order."""
        read = cls(keeps_tuples=False)
        read._hits = decompress(segments)
        return read
