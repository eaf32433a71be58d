"""Plays that are asked ahead, where an experiment is too far away for a call to ask for its own.

Twice as many are kept at hand as were wanted between two rounds. What is asked ahead is as good as out, and others wait
for its answer; so without calls all plays but one are given back. That one is given back at half its lease, and another
one is asked in the next round, not at once: it would be the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from linkedbandits.live import Play

LEAST = 4
MOST = 1000
KEPT = 0.8
"""What is left of an earlier demand for plays from round to round."""
IDLE_AFTER = 5.0
"""Seconds without a call after which plays are given back."""


class Ahead:
    """The plays at hand, and how many are wanted. Calls take them in any thread; all else is for one thread."""

    def __init__(self, lease: float, clock: Callable[[], float]) -> None:
        self._lease = lease
        self._clock = clock
        self._plays: deque[tuple[Play, float]] = deque()  # since when
        self._demand: deque[None] = deque(maxlen=MOST)  # more than that is not asked ahead
        self._usual = 0.0
        self._last_call = clock()

    def __len__(self) -> int:
        return len(self._plays)

    def take(self) -> Play | None:
        """A play for a call, if there is one at hand. Never waits."""
        self._demand.append(None)
        taken = self._next()
        return None if taken is None else taken[0]

    def put(self, plays: Iterable[Play]) -> None:
        """These have been asked."""
        now = self._clock()
        self._plays.extend((play, now) for play in plays)

    def clear(self) -> list[Play]:
        """All that are at hand, which then are not any more."""
        found = []
        while (taken := self._next()) is not None:
            found.append(taken[0])
        return found

    def unused(self) -> list[Play]:
        """Plays to give back, as there are no calls for them."""
        now, found = self._clock(), list[Play]()
        if self._demand:
            self._last_call = now
        elif now - self._last_call > IDLE_AFTER:
            while len(self._plays) > 1 and (taken := self._next()) is not None:
                found.append(taken[0])
        oldest = self._next()
        if oldest is not None:
            if now - oldest[1] > self._lease / 2:
                found.append(oldest[0])
            else:
                self._plays.appendleft(oldest)
        return found

    def wanted(self, given_back: bool) -> int:
        """How many plays to ask now, if some were or were not given back in this round."""
        demand = 0
        while self._demand:
            self._demand.popleft()
            demand += 1
        self._usual = max(float(demand), KEPT * self._usual)
        idle = not demand and self._clock() - self._last_call > IDLE_AFTER
        if idle and given_back:
            return 0
        wanted = 1 if idle else min(max(LEAST, int(2 * self._usual)), MOST)
        return max(wanted - len(self._plays), 0)

    def _next(self) -> tuple[Play, float] | None:
        try:
            return self._plays.popleft()
        except IndexError:
            return None
