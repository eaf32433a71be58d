"""The answers to all plays ever asked, four bytes each, so that a repeated answer is told from a new one.

Where there is no journal beside them they come with the tuple that each play tried, four bytes more: then they are a
log, from which another policy can go on. Tuples have numbers, for there are many plays and few tuples.
"""

from __future__ import annotations

import base64
import zlib
from array import array
from collections.abc import Iterable, Sequence
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from linkedbandits.attempts.log import NOT_OFFERED, AttemptLog
from linkedbandits.live.whole_chains import order_of
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

    def record(self, play: int, hit: int) -> None:
        """Write down the answer."""
        self._hits[play] = hit

    def record_late(self, play: int, hit: int) -> None:
        """Write down an answer that has no say in any decision."""
        self._hits[play] = hit
        if self._tuples is not None:
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
        numbers = array("i", [NOT_KEPT] * len(self._hits)) if self._tuples is None else self._tuples
        return attempts_of(np.array(self._hits[:end]), np.array(numbers[:end]), self._table.all(), labels)

    @property
    def first_out(self) -> int | None:
        """The first play that is neither told nor given up; None if there is none."""
        return next(iter(np.flatnonzero(np.array(self._hits) == WAITING).tolist()), None)

    def to_text(self) -> str:
        """The answers packed into printable characters."""
        return pack_numbers(self._hits)

    def tuples_to_json(self) -> dict[str, Any] | None:
        """Which tuple every play tried, where that is kept."""
        if self._tuples is None:
            return None
        return {"numbers": pack_numbers(self._tuples), "table": self._table.to_json()}

    @classmethod
    def from_text(cls, text: str, tuples: dict[str, Any] | None = None) -> AnswerLog:
        """What :meth:`to_text` and :meth:`tuples_to_json` wrote."""
        read = cls._unpack([base64.b64decode(text, validate=True)])
        if tuples is not None:
            read._tuples = unpack_numbers(tuples["numbers"])
            read._table = TupleTable(tuples["table"], MOST_ARMS_KEPT)
        return read

    def segment(self, number: int) -> bytes:
        """The answers of plays ``number * SEGMENT`` and on, packed."""
        part = self._hits[number * SEGMENT : (number + 1) * SEGMENT]
        return zlib.compress(_little_endian(part).tobytes(), _FAST)

    @classmethod
    def from_segments(cls, segments: Iterable[bytes]) -> AnswerLog:
        """The answers of which these are the segments, in order."""
        return cls._unpack(segments)

    @classmethod
    def _unpack(cls, packed: Iterable[bytes]) -> AnswerLog:
        read = cls(keeps_tuples=False)
        read._hits = _unpack(packed)
        return read


def attempts_of(
    hits: npt.NDArray[Any], numbers: npt.NDArray[Any], tuples: Sequence[IntArray], labels: Sequence[Label]
) -> AttemptLog:
    """Plays by id, with their answers and the numbers of their tuples, as a log of attempts.

    Those given up, and those without a number, are left out; the first that is out and all behind it are, too.

    >>> answers = np.array([1, NO_HIT, GIVEN_UP, 0, WAITING, 1])
    >>> log = attempts_of(answers, np.zeros(6, dtype=int), [np.array([0, 1])], "ab")
    >>> log.request.tolist(), log.option.tolist(), log.success.tolist()
    ([0, 0, 1, 1, 2], [0, 1, 0, 1, 0], [False, True, False, False, True])
    """
    tuples = [order_of(tried) for tried in tuples]
    out = np.flatnonzero(hits == WAITING)
    end = int(out[0]) if out.size else hits.size
    plays = np.flatnonzero((hits[:end] >= NO_HIT) & (numbers[:end] != NOT_KEPT))
    hit, number = hits[plays].astype(np.int64), numbers[plays]
    sizes = np.array([arms.size for arms in tuples], dtype=np.int64)
    begins = (np.cumsum(sizes) - sizes)[number]  # of each play's tuple in a row of all tuples
    arms_of_all = np.concatenate([*tuples, np.full(1, NO_HIT)])
    reached = _reached(hit, number, tuples, len(labels))
    request = np.repeat(np.arange(plays.size), reached)
    place = np.arange(request.size) - (np.cumsum(reached) - reached)[request]
    option = arms_of_all[begins[request] + place]
    second = np.where(sizes[number] > 1, arms_of_all[np.minimum(begins + 1, arms_of_all.size - 1)], NOT_OFFERED)
    return AttemptLog(
        tuple(labels),
        request.astype(np.int32),
        option.astype(np.int32),
        option == hit[request],
        second.astype(np.int32),
    )


def _reached(hits: IntArray, numbers: npt.NDArray[Any], tuples: Sequence[IntArray], arms: int) -> IntArray:
    """How many arms every play has tried."""
    reached = np.zeros(hits.size, dtype=np.int64)
    by_tuple = np.argsort(numbers, kind="stable")
    different, starts = np.unique(numbers[by_tuple], return_index=True)
    for number, plays in zip(different.tolist(), np.split(by_tuple, starts)[1:], strict=True):
        tried = tuples[number]
        place_of = np.full(arms + 1, tried.size)  # the last is for no hit
        place_of[tried] = np.arange(1, tried.size + 1)
        reached[plays] = place_of[hits[plays]]
    return reached


def joined(before: AttemptLog, after: AttemptLog) -> AttemptLog:
    """One log behind another of the same options; second options that one of them does not say are not known."""
    second = [
        np.full(log.requests, NOT_OFFERED, dtype=np.int32) if log.second is None else log.second
        for log in (before, after)
    ]
    return AttemptLog(
        after.options,
        np.concatenate([before.request, after.request + np.int32(before.requests)]),
        np.concatenate([before.option, after.option]),
        np.concatenate([before.success, after.success]),
        np.concatenate(second),
    )


def pack_numbers(numbers: array[int]) -> str:
    """Whole numbers, packed into printable characters."""
    return base64.b64encode(zlib.compress(_little_endian(numbers).tobytes())).decode("ascii")


def unpack_numbers(text: str) -> array[int]:
    """What :func:`pack_numbers` packed."""
    return _unpack([base64.b64decode(text, validate=True)])


def _unpack(packed: Iterable[bytes]) -> array[int]:
    numbers = array("i")
    for part in packed:
        numbers.frombytes(zlib.decompress(part))
    return _little_endian(numbers)


def _little_endian(hits: array[int]) -> array[int]:
    """The same numbers in the byte order of files; on most machines nothing has to be done."""
    if not _BIG_ENDIAN:
        return hits
    swapped = array("i", hits)
    swapped.byteswap()
    return swapped


_BIG_ENDIAN = array("H", [1]).tobytes() == b"\x00\x01"
