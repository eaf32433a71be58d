"""A log is a world: outcomes that are on record answer a policy's requests, from one queue per arm.

Take the outcomes of an arm in the order in which its plays were handed out. If arms are independent, as the policies so
far assume, they are independent coins of the arm's mean, whatever policy chose to try it, for a choice uses the past
alone. So the j-th attempt on record can serve as the j-th sample that a new policy asks for. Two things matter:

- a request is fixed before its samples are read;
- an arm's queue is read from its front, and as long as it has something nothing else stands in for it. How much a queue
  has must decide nothing else: in a chain, many attempts of the second arm are failures of the first.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from linkedbandits.errors import InvalidNeeds
from linkedbandits.model import IntArray

Outcomes = npt.NDArray[np.bool_]


class LogWorld:
    """Outcomes on record, one queue per arm; a :class:`~linkedbandits.world.World` of one lane, as far as they go.

    ``left`` has how many samples of every arm were not read yet, ``successes_left`` how many of these are successes.

    >>> log = LogWorld([np.array([True, False, True]), np.array([False])])
    >>> log.successes(np.array([[2, 1]]))
    array([[1, 0]])
    >>> log.left
    array([1, 0])
    """

    independent = True

    def __init__(self, queues: Iterable[Outcomes]) -> None:
        self._queues = [np.asarray(queue, dtype=np.bool_) for queue in queues]
        self._read = np.zeros(len(self._queues), dtype=np.int64)
        self.left: IntArray = np.array([queue.size for queue in self._queues], dtype=np.int64)
        self.successes_left: IntArray = np.array([queue.sum() for queue in self._queues], dtype=np.int64)

    def keep(self, lanes: npt.NDArray[Any]) -> None:
        """Nothing to do: there is one lane, and it is kept as long as the world is asked."""

    def successes(self, samples: IntArray) -> IntArray:
        """How often every arm succeeded in its next ``samples`` outcomes: (1, arms) to (1, arms)."""
        return np.array([[self._next(arm, count) for arm, count in enumerate(samples[0].tolist())]], dtype=np.int64)

    def successes_of(self, arms: IntArray, samples: IntArray) -> IntArray:
        """The same for one arm: (1,) and (1,) to (1,)."""
        return np.array([self._next(int(arms[0]), int(samples[0]))], dtype=np.int64)

    def hits(self, order: IntArray, times: IntArray) -> IntArray:
        """Where the plays of a tuple end when it is played ``times`` times: (1, width) to (1, width)."""
        hits = np.zeros_like(order)
        going_on = int(times[0])
        for place, arm in enumerate(order[0].tolist()):
            if arm >= 0:
                hits[0, place] = self._next(arm, going_on)
                going_on -= int(hits[0, place])
        return hits

    def _next(self, arm: int, count: int) -> int:
        if count > self.left[arm]:
            raise InvalidNeeds(f"the log has {self.left[arm]} more samples of arm {arm}, not {count}; ask for fewer")
        start = int(self._read[arm])
        won = int(np.count_nonzero(self._queues[arm][start : start + count]))
        self._read[arm] += count
        self.left[arm] -= count
        self.successes_left[arm] -= won
        return won

    def to_json(self) -> list[dict[str, Any]]:
        """What was not read yet, ready for ``json.dumps``: eight outcomes a byte."""
        return [
            {"count": int(left), "outcomes": base64.b64encode(np.packbits(queue[start:]).tobytes()).decode("ascii")}
            for queue, start, left in zip(self._queues, self._read.tolist(), self.left.tolist(), strict=True)
        ]

    @classmethod
    def from_json(cls, data: list[dict[str, Any]]) -> Self:
        """What :meth:`to_json` wrote."""
        packed = [np.frombuffer(base64.b64decode(arm["outcomes"], validate=True), dtype=np.uint8) for arm in data]
        return cls(
            np.unpackbits(bits, count=arm["count"]).astype(np.bool_) for bits, arm in zip(packed, data, strict=True)
        )
