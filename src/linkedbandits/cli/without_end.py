"""A word on stderr where no trial of a simulation comes to an end, as with a policy that never stops."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from time import monotonic

from linkedbandits.model import IntArray
from linkedbandits.simulation import Progress, Watch

PATIENCE = 5.0
"""Seconds without a finished trial until that is said; then twice as many until it is said again."""


class WithoutEnd:
    """Looks at the simulation of one policy as it goes on, until a first trial has ended.

    ``max_plays`` is what ends trials at last, if the user has given it: then nothing has to be said.
    """

    def __init__(self, policy: str, max_plays: int | None, clock: Callable[[], float] = monotonic) -> None:
        self._policy = policy
        self._clock = clock
        self._wait = PATIENCE
        self._since = clock()
        self._silent = max_plays is not None

    @property
    def watch(self) -> Watch | None:
        """To be called at every step; None where there is nothing to look for."""
        return None if self._silent else self._look

    def _look(self, lanes: IntArray, plays: IntArray, still_in: IntArray) -> None:
        if self._silent or self._clock() - self._since < self._wait:
            return
        self._wait *= 2
        print(
            f"{self._policy}: no trial has ended after {int(plays.max()):,} plays; --max-plays ends them",
            file=sys.stderr,
            flush=True,
        )

    def counting(self, advance: Callable[[str, int], None]) -> Progress:
        """The progress of a simulation, which goes on to ``advance``."""
        return partial(self._count, advance)

    def _count(self, advance: Callable[[str, int], None], trials: int) -> None:
        self._silent = self._silent or trials > 0
        advance(self._policy, trials)
