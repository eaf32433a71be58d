"""A list of tuples of arms without repetition, so that many plays can refer to few tuples by number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from linkedbandits.model import IntArray


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
        """Plain data."""
        return [arms.tolist() for arms in self._tuples]
