"""When to try again, and after how long."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Retries:
    """Exponential backoff with full jitter: a random time up to a limit that doubles, so that clients spread out."""

    times: int = 6
    first_seconds: float = 0.1
    longest_seconds: float = 5.0
    draw: Callable[[], float] = random.random

    def pauses(self) -> Iterator[float]:
        """Seconds to wait before each further attempt.

        >>> list(Retries(times=4, first_seconds=1.0, longest_seconds=3.0, draw=lambda: 1.0).pauses())
        [1.0, 2.0, 3.0, 3.0]
        """
        limit = self.first_seconds
        for _ in range(self.times):
            yield self.draw() * min(limit, self.longest_seconds)
            limit *= 2


DEFAULT_RETRIES = Retries()
