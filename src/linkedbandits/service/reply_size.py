"""How many bytes the plays of an answer take, so that no answer is larger than it may be."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from linkedbandits.live.chain_record import order_of
from linkedbandits.model import IntArray, Label

OF_A_PLAY = 60
"""What a play takes besides its arms, with its number; more than that of any form."""


@dataclass(frozen=True, slots=True)
class ReplyLimit:
    """The bytes that the plays of an answer may take. Is each tuple of arms sent once, or with every play?"""

    most: int
    tuples_once: bool


class ReplySizes:
    """What plays of one experiment take, as JSON. ``widest`` is a play with all arms: none takes more."""

    def __init__(self, labels: Sequence[Label]) -> None:
        self._of_arm = np.array([len(json.dumps(label)) + 1 for label in labels], dtype=np.int64)
        self.widest = OF_A_PLAY + int(self._of_arm.sum())

    def of(self, arms: IntArray) -> int:
        """A play of these arms, with the rest of a whole chain."""
        return OF_A_PLAY + int(self._of_arm[order_of(arms)].sum())


class ReplySize:
    """The bytes of one answer, as plays are added to it."""

    def __init__(self, sizes: ReplySizes, limit: ReplyLimit) -> None:
        self._sizes = sizes
        self._limit = limit
        self._last: IntArray | None = None
        self._of_last = 0
        self._known: set[bytes] = set()
        self.total = 0

    @property
    def full(self) -> bool:
        """Might another play be too much?"""
        return self.total + self._sizes.widest > self._limit.most

    def add(self, arms: IntArray) -> None:
        """One more play."""
        if arms is not self._last:  # the same in a row is mostly the same array
            self._last, self._of_last = arms, self._sizes.of(arms)
            if self._limit.tuples_once:
                key = arms.tobytes()
                self.total += 0 if key in self._known else self._of_last
                self._known.add(key)
                self._of_last = OF_A_PLAY
        self.total += self._of_last

    def add_all(self, tuples: Iterable[IntArray]) -> int:
        """All of these; what they take together."""
        for arms in tuples:
            self.add(arms)
        return self.total
