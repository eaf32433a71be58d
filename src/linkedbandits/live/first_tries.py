"""How often every arm was the first of a play, and succeeded: where arms fail together, the samples of its mean.

What an arm does behind the failure of another one is seen on requests that the other has failed on. If hard requests
are hard for all, such tries say less good of an arm than is true of it. The first try of a play is on a request like
any other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkedbandits.model import IntArray


class FirstTries:
    """Plays told by the arm that was tried first in them, the late ones among them.

    >>> tries = FirstTries(3)
    >>> tries.add(np.array([2, 0]), hit=2)
    >>> tries.add(np.array([2, 0]), hit=0)
    >>> tries.counts()
    (array([0, 0, 2]), array([0, 0, 1]))
    """

    def __init__(self, arms: int) -> None:
        # Lists, for one number at a time is changed, with every play that is told.
        self._samples = [0] * arms
        self._successes = [0] * arms

    def add(self, arms: IntArray, hit: int) -> None:
        """A play was told: it tried these arms, and ended with the hit or without."""
        first = arms.item(0)
        self._samples[first] += 1
        if hit == first:
            self._successes[first] += 1

    def counts(self) -> tuple[IntArray, IntArray]:
        """Samples and successes of every arm."""
        return np.array(self._samples, dtype=np.int64), np.array(self._successes, dtype=np.int64)

    def to_json(self) -> dict[str, Any]:
        """All of it, for :meth:`from_json`."""
        return {"samples": list(self._samples), "successes": list(self._successes)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> FirstTries:
        """What :meth:`to_json` wrote."""
        read = cls(len(data["samples"]))
        read._samples, read._successes = list(data["samples"]), list(data["successes"])
        return read
