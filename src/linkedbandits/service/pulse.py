"""How the desk is doing, for those who must not wait for it: read from any thread at any time, also while it is stuck.

Each attribute is replaced as a whole by the desk's thread, so a reader sees one or the next, never half of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from linkedbandits.errors import StoreUnavailable
from linkedbandits.service.driver_errors import HELD
from linkedbandits.service.jobs import Change, Errand, Job

A_MINUTE = 60.0


class Waiting(NamedTuple):
    """Jobs that are not answered yet, and for how many seconds the oldest of them has waited."""

    jobs: int
    seconds: float


class Pulse:
    """What the desk's thread is at, and how its last transactions ended.

    ``failure`` is why the store did not take a transaction, as long as it has taken none with a change in it since.
    When a minute has passed without another such failure, one without a change is enough.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """The clock is that of :class:`linkedbandits.service.jobs.Job`."""
        self._clock = clock
        self._queued: Callable[[], int] = lambda: 0
        self._at_work: tuple[int, float] | None = None
        self._ended_at = clock()
        self._failed_at = self._ended_at
        self.failure: StoreUnavailable | None = None

    def begin(self, jobs: Sequence[Job], queued: Callable[[], int]) -> None:
        """The desk takes a group in hand. Its first job came first, and those in the queue came later."""
        self._queued = queued
        self._at_work = (len(jobs), jobs[0].since) if jobs else None

    def end(self) -> None:
        """All of the group are answered."""
        self._at_work = None

    def changed(self, jobs: Sequence[Job]) -> None:
        """A group that changes something has ended, one way or another; jobs that have no outcome say nothing."""
        refused: StoreUnavailable | None = None
        for job in jobs:
            if not job.future.done():
                continue
            error = job.future.exception(0)
            if not isinstance(error, StoreUnavailable):
                self._was_taken(jobs)
                return
            refused = error
        if refused is not None and refused.detail != HELD:
            # An experiment that somebody has locked says nothing against the store.
            self.failure, self._failed_at = refused, self._clock()

    def _was_taken(self, jobs: Sequence[Job]) -> None:
        """The store took the transaction."""
        self._ended_at = self._clock()
        # To look for leases that have run out writes nothing where there are none: a full disk lets it pass.
        if self.failure is not None and (
            any(isinstance(job, Change | Errand) for job in jobs if job.future.done())
            or self._ended_at >= self._failed_at + A_MINUTE
        ):
            self.failure = None

    def waiting(self) -> Waiting:
        """What waits for an answer now."""
        at_work = self._at_work
        if at_work is None:
            return Waiting(0, 0.0)
        jobs, since = at_work
        return Waiting(jobs + self._queued(), max(0.0, self._clock() - since))

    def seconds_since_commit(self) -> float:
        """Since the store last took a transaction of the desk; leases are looked at every second, so it is short."""
        return max(0.0, self._clock() - self._ended_at)
