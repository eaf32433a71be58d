"""Requests of a log by the two arms that were offered first: what answers a policy that asks for pairs.

Requests that began with a and had b second are a row of their own, as they came: the j-th of them is the j-th play of
(a, b), whoever chose it, whatever a and b have to do with each other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from linkedbandits.model import IntArray

Ends = npt.NDArray[np.int8]
"""Where requests ended: 0 if the first arm worked, 1 if the second did, 2 if neither."""


class PairLog:
    """Rows of requests, one for every pair, read from the front.

    >>> log = PairLog(3, first=np.array([0, 1, 0]), second=np.array([1, 0, 1]), ends=np.array([1, 0, 2]))
    >>> log.take(np.array([0, 1]), most=5)
    array([0, 1, 1])
    >>> log.take(np.array([0, 1]), most=5)
    array([0, 0, 0])
    >>> log.read
    2
    """

    def __init__(
        self, arms: int, first: IntArray, second: IntArray, ends: npt.NDArray[np.int_], read: Sequence[int] = ()
    ) -> None:
        """Requests in order; ``read`` has how many of each pair were read before, as :meth:`positions` says."""
        self._arms = arms
        pair = first * arms + second
        by_pair = np.argsort(pair, kind="stable")
        self._pairs, starts = np.unique(pair[by_pair], return_index=True)
        self._ends: list[Ends] = np.split(ends[by_pair].astype(np.int8), starts[1:]) if pair.size else []
        self._row_of = {int(number): row for row, number in enumerate(self._pairs.tolist())}
        self._read = list(read) if len(read) else [0] * len(self._ends)

    @property
    def size(self) -> int:
        """Requests in all."""
        return sum(ends.size for ends in self._ends)

    @property
    def read(self) -> int:
        """How many of them were read."""
        return sum(self._read)

    def take(self, pair: IntArray, most: int) -> IntArray:
        """The next requests of a pair, as many as there are up to ``most``: how many ended at each arm, and at none."""
        row = self._row_of.get(int(pair[0]) * self._arms + int(pair[1])) if pair.size == 2 else None
        if row is None:
            return np.zeros(3, dtype=np.int64)
        start = self._read[row]
        ends = self._ends[row][start : start + most]
        self._read[row] += ends.size
        return np.bincount(ends, minlength=3)

    def counts(self) -> tuple[IntArray, IntArray]:
        """Samples and successes of every arm in what was read, those behind a failure among them."""
        samples, successes = np.zeros((2, self._arms), dtype=np.int64)
        for number, ends, read in zip(self._pairs.tolist(), self._ends, self._read, strict=True):
            first, second = divmod(number, self._arms)
            ended = np.bincount(ends[:read], minlength=3)
            samples[first] += read
            samples[second] += read - ended[0]
            successes[first] += ended[0]
            successes[second] += ended[1]
        return samples, successes

    def positions(self) -> list[int]:
        """How many of each pair were read, to go on from."""
        return list(self._read)
