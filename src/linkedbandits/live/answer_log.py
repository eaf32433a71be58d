"""The answers to all plays ever asked, four bytes each, so that a repeated answer is told from a new one.

Plays refer to tuples of arms by number, for there are many plays and few tuples.
"""

from __future__ import annotations

import base64
import zlib
from array import array
from collections.abc import Iterable, Sequence

import numpy as np

from linkedbandits.model import IntArray

NO_HIT = -1
WAITING = -2
GIVEN_UP = -3
"""A play that was given up has this as its answer, less the number of its tuple in a list of the experiment's."""

SEGMENT = 65_536
"""Plays a segment: what is written at a time where answers are kept apart from the experiment."""
_FAST = 1  # answers repeat a few values; more effort gains little


class TupleTable:
    """Tuples by number, and numbers by tuple.

    >>> table = TupleTable()
    >>> table.number(np.array([2, 0])), table.number(np.array([1])), table.number(np.array([2, 0]))
    (0, 1, 0)
    >>> table[1]
    array([1])
    """

    def __init__(self, tuples: Iterable[Sequence[int]] = ()) -> None:
        self._tuples: list[IntArray] = []
        self._numbers: dict[bytes, int] = {}
        for arms in tuples:
            self.number(np.array(arms, dtype=np.int64))

    def number(self, arms: IntArray) -> int:
        """The tuple's number, a new one if it was not there."""
        number = self._numbers.setdefault(arms.tobytes(), len(self._tuples))
        if number == len(self._tuples):
            self._tuples.append(arms)
        return number

    def __getitem__(self, number: int) -> IntArray:
        return self._tuples[number]

    def to_json(self) -> list[list[int]]:
        """The tuples in the order of their numbers, for JSON."""
        return [arms.tolist() for arms in self._tuples]


class AnswerLog:
    """Answer by play id: an arm's index, ``NO_HIT``, ``WAITING``, or ``GIVEN_UP`` and below."""

    def __init__(self) -> None:
        self._hits = array("i")

    def __len__(self) -> int:
        return len(self._hits)

    def __getitem__(self, play: int) -> int:
        return self._hits[play]

    def open_play(self) -> int:
        """Number a new play."""
        self._hits.append(WAITING)
        return len(self._hits) - 1

    def record(self, play: int, hit: int) -> None:
        """Write down the answer."""
        self._hits[play] = hit

    def to_text(self) -> str:
        """Packed into printable characters."""
        return base64.b64encode(zlib.compress(_little_endian(self._hits).tobytes())).decode("ascii")

    @classmethod
    def from_text(cls, text: str) -> AnswerLog:
        """What :meth:`to_text` packed."""
        return cls._unpack([base64.b64decode(text, validate=True)])

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
        read = cls()
        for part in packed:
            read._hits.frombytes(zlib.decompress(part))
        read._hits = _little_endian(read._hits)
        return read


def _little_endian(hits: array[int]) -> array[int]:
    """The same numbers in the byte order of files; on most machines nothing has to be done."""
    if not _BIG_ENDIAN:
        return hits
    swapped = array("i", hits)
    swapped.byteswap()
    return swapped


_BIG_ENDIAN = array("H", [1]).tobytes() == b"\x00\x01"
