"""Jobs of experiments that somebody else holds: they wait here, so that no other has to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import monotonic

from linkedbandits.errors import StoreUnavailable
from linkedbandits.service.driver_errors import HELD
from linkedbandits.service.jobs import Change, Changing

SECONDS_TO_WAIT = 10.0
"""How long jobs wait for an experiment that is held."""
FIRST_PAUSE = 0.01
"""An experiment is tried again after so many seconds, and then after twice as long each time,"""
LONGEST_PAUSE = 0.2
"""up to this."""


@dataclass(slots=True)
class _Queue:
    """The jobs of one experiment, the first first; when it is tried again, and after how long if that is in vain."""

    jobs: list[Change]
    next_try: float
    pause: float


class WaitingRoom:
    """Used by one thread; any other may read how many wait.

    An experiment that was waited for in vain is not waited for again until it has been free once: jobs for it are
    refused at once.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._queues: dict[str, _Queue] = {}
        self._tried: dict[str, _Queue] = {}  # those whose jobs are out for another try
        self._in_vain: set[str] = set()

    @property
    def experiments(self) -> int:
        """How many experiments are waited for. Any thread may ask."""
        return len(self._queues)

    @property
    def jobs(self) -> int:
        """How many jobs wait. Any thread may ask."""
        return sum(len(queue.jobs) for queue in tuple(self._queues.values()))

    def next_jobs(self, new: Sequence[Changing]) -> list[Changing]:
        """What to do now: what has waited for long enough to be tried again, and of the new jobs those that need not
        queue behind others.
        """
        if not self._queues:
            return list(new)
        now = self._clock()
        ready: list[Changing] = []
        for experiment in [name for name, queue in self._queues.items() if queue.next_try <= now]:
            self._tried[experiment] = self._queues.pop(experiment)
            ready += [job for job in self._tried[experiment].jobs if not job.future.done()]
        for job in new:
            if isinstance(job, Change) and job.experiment in self._queues:
                self._let_wait(job, now)
            else:
                ready.append(job)
        return ready

    def take_back(self, tried: Iterable[Changing], held: Sequence[Change]) -> None:
        """Of the jobs that were tried, those of experiments that are held wait again, or are refused."""
        now = self._clock()
        for job in held:
            self._let_wait(job, now)
        if self._tried or self._in_vain:
            still = {job.experiment for job in held}
            self._in_vain -= {job.experiment for job in tried if isinstance(job, Change)} - still
            self._tried.clear()

    def seconds_to_next(self) -> float | None:
        """When there is something to try again; None if nobody waits."""
        if not self._queues:
            return None
        return max(0.0, min(queue.next_try for queue in self._queues.values()) - self._clock())

    def _let_wait(self, job: Change, now: float) -> None:
        if job.wait_until is None:
            job.wait_until = now + SECONDS_TO_WAIT
        elif job.wait_until <= now:
            self._in_vain.add(job.experiment)
        if job.experiment in self._in_vain:
            job.future.set_exception(held_by_another(job.experiment))
            return
        queue = self._queues.get(job.experiment)
        if queue is None:
            before = self._tried.get(job.experiment)
            pause = FIRST_PAUSE if before is None else min(2 * before.pause, LONGEST_PAUSE)
            queue = self._queues[job.experiment] = _Queue([], now + pause, pause)
        queue.jobs.append(job)


def held_by_another(experiment: str) -> StoreUnavailable:
    """Why a job of an experiment that is held is refused."""
    return StoreUnavailable(
        f"somebody else holds experiment {experiment!r}; try again, or end the transaction that holds the lock", HELD
    )
