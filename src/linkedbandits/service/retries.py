"""When to try again, after how long, and for how long in all."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from linkedbandits.errors import InvalidParameter

_SHORTEST = 0.001  # seconds: to wait for no time at all means something else to a socket


@dataclass(frozen=True)
class Retries:
    """Exponential backoff with full jitter: a random time up to a limit that doubles, so that clients spread out.

    Attempts are made for ``seconds`` from the first one on, long enough for a service to be stopped and started again;
    0 means a single attempt. ``times`` is the most of further attempts, None as many as there is time for.
    """

    times: int | None = None
    first_seconds: float = 0.1
    longest_seconds: float = 2.0
    draw: Callable[[], float] = random.random
    seconds: float = 30.0

    def __post_init__(self) -> None:
        for name in ("first_seconds", "longest_seconds", "seconds"):
            given = getattr(self, name)
            if not (math.isfinite(given) and given >= 0):
                raise InvalidParameter(f"{name}={given!r} is no time in seconds; give a number of at least 0")

    def pauses(self) -> Iterator[float]:
        """Seconds to wait before each further attempt, without end if their number has none.

        >>> list(Retries(times=4, first_seconds=1.0, longest_seconds=3.0, draw=lambda: 1.0).pauses())
        [1.0, 2.0, 3.0, 3.0]
        """
        limit, made = self.first_seconds, 0
        while self.times is None or made < self.times:
            yield self.draw() * min(limit, self.longest_seconds)
            limit = min(2 * limit, self.longest_seconds)
            made += 1


DEFAULT_RETRIES = Retries()
WHILE_ALL_ARE_OUT = Retries(first_seconds=0.05, longest_seconds=1.0)
"""How a worker waits that finds no play to make. There will be some: plays are told, or their leases run out."""


class TimeLeft(dict[str, float]):
    """The time limit of an attempt as httpx passes it on: each step of it has what those before have left over.

    With plain numbers every step, to connect, to send and to read, would have the whole time for itself.
    """

    def __init__(self, until: float, clock: Callable[[], float]) -> None:
        super().__init__()
        self._until = until
        self._clock = clock

    def get(self, name: str, default: object = None) -> float:
        """Seconds that the next step may take, whatever its name."""
        return max(_SHORTEST, self._until - self._clock())


class Patience:
    """The attempts of one call: how long each may take, and when the next one is made.

    The first may take ``timeout`` seconds, the others also no longer than until the time for attempts is over. So a
    call ends within the longer of both times, also where no attempt is ever answered.

    >>> now = 0.0
    >>> retries = Retries(first_seconds=4.0, longest_seconds=4.0, draw=lambda: 1.0, seconds=10.0)
    >>> patience = Patience(retries, 3.0, lambda: now)
    >>> patience.attempt().get("read")
    3.0
    >>> now = 3.0
    >>> patience.pause()
    4.0
    >>> now = 7.5
    >>> patience.attempt().get("read")
    2.5
    >>> now = 10.0
    >>> print(patience.pause())
    None
    """

    def __init__(self, retries: Retries, timeout: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.attempts = 0
        self._timeout = timeout
        self._clock = clock
        self._began = clock()
        self._until = self._began + retries.seconds
        self._pauses = retries.pauses()

    def attempt(self) -> TimeLeft:
        """Begin an attempt; how long may it take?"""
        until = self._clock() + self._timeout
        self.attempts += 1
        return TimeLeft(until if self.attempts == 1 else min(until, self._until), self._clock)

    def pause(self, least: float = 0.0) -> float | None:
        """Seconds until the next attempt, not before ``least`` of them; None if it would come too late."""
        drawn = next(self._pauses, None)
        if drawn is None:
            return None
        pause = max(drawn, least)
        return pause if self._clock() + pause < self._until else None

    @property
    def spent(self) -> float:
        """Seconds since the first attempt began."""
        return self._clock() - self._began
