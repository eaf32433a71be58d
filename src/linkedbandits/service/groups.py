"""Groups of jobs that share a commit, and the experiments in memory that they work on.

Other processes may work on the same store: before a group, each experiment concerned is locked and brought up to date
with what they have written. What is in memory is never ahead of the store, but while a group runs.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from linkedbandits.errors import (
    ExperimentArchived,
    ExperimentFinished,
    ExperimentPaused,
    InvalidAttempts,
    InvalidLabels,
    InvalidParameter,
    KeyReused,
    LinkageMismatch,
    StoreUnavailable,
    TooManyInFlight,
    UnknownName,
    UnknownPlay,
)
from linkedbandits.service.hosted import HostedExperiment
from linkedbandits.service.jobs import Change, Changing, Errand, Job, ReadAll, ReadJob, Sweep
from linkedbandits.service.store import Reading, Store, Writing

MOST_OPEN = 1_000
"""Experiments kept in memory; the others are opened when they are wanted."""

REFUSALS = (
    ExperimentArchived,
    ExperimentFinished,
    ExperimentPaused,
    InvalidAttempts,
    InvalidLabels,
    InvalidParameter,
    KeyReused,
    LinkageMismatch,
    TooManyInFlight,
    UnknownName,
    UnknownPlay,
)
"""Errors that say no before anything was changed. After any other, what is in memory cannot be trusted."""

Outcome = tuple[Job, Any]
Opened = HostedExperiment | Exception


class _JobFailed(Exception):
    """An unforeseen error in one job of a group."""

    def __init__(self, job: Changing, error: Exception) -> None:
        self.job, self.error = job, error


class _LockFailed(Exception):
    """An experiment that another process holds."""

    def __init__(self, experiment: str, error: StoreUnavailable) -> None:
        self.experiment, self.error = experiment, error


class Groups:
    """Runs groups of jobs, one after the other, in one thread."""

    def __init__(self, store: Store, snapshot_every: int) -> None:
        self._store = store
        self._snapshot_every = snapshot_every
        self._open: OrderedDict[str, HostedExperiment] = OrderedDict()
        self._held: set[str] = set()  # experiments that were waited for in vain

    def change(self, jobs: Sequence[Changing], now: float) -> None:
        """Run the jobs in one transaction; their futures are resolved when it is durable.

        A job that fails in an unforeseen way is taken out, and the others are run again without it. So are the jobs of
        an experiment that cannot be locked.
        """
        left, passed_over = list(jobs), set[str]()
        while left:
            touched = self._concerned(left, now, passed_over)
            try:
                outcomes = self._commit(left, touched, now)
            except _JobFailed as failure:
                self._forget(touched)
                left.remove(failure.job)
                failure.job.future.set_exception(failure.error)
            except _LockFailed as failure:
                passed_over.add(failure.experiment)
                stuck = [job for job in left if isinstance(job, Change) and job.experiment == failure.experiment]
                left = [job for job in left if job not in stuck]
                _resolve([(job, failure.error) for job in stuck])
            except Exception as error:  # nothing of the group is in the store: everybody who waits has to hear of it
                self._forget(touched)
                return _resolve([(job, error) for job in left])
            else:
                return _resolve(outcomes)
        return None

    def look(self, jobs: Sequence[ReadJob]) -> None:
        """Look at what is committed, and resolve the futures."""
        if not jobs:
            return
        outcomes: list[Outcome] = []
        try:
            with self._store.reading() as store:
                outcomes += [(job, self._seen(job, store)) for job in jobs]
        except Exception as error:  # whatever it is, the desk's thread outlives it, and every future gets an answer
            outcomes = [(job, error) for job in jobs]
        _resolve(outcomes)

    def finish(self) -> None:
        """Write snapshots of what was played since the last ones, so that the next start need not replay it.

        Where the store does not let us, nothing is lost: the journal has it.
        """
        self._held.update(self._open)  # locks of other processes are not waited for
        for experiment in [name for name, hosted in self._open.items() if hosted.has_news]:
            try:
                with self._store.writing() as store:
                    hosted = self._bring(store, experiment, partial(self._lock, store))
                    if isinstance(hosted, HostedExperiment) and hosted.has_news:
                        hosted.save_snapshot(store)
            except _LockFailed:
                continue
            except StoreUnavailable:
                return

    def _concerned(self, jobs: Sequence[Changing], now: float, passed_over: set[str]) -> list[str]:
        """The experiments to lock, in one order, so that two processes cannot wait for each other."""
        found = {job.experiment for job in jobs if isinstance(job, Change)}
        if any(isinstance(job, Sweep) for job in jobs):
            found.update(experiment for experiment, hosted in self._open.items() if hosted.due(now))
        return sorted(found - passed_over)

    def _commit(self, jobs: Sequence[Changing], concerned: Iterable[str], now: float) -> list[Outcome]:
        outcomes: list[Outcome] = []
        with self._store.writing() as store:
            lock = partial(self._lock, store)
            brought = {experiment: self._bring(store, experiment, lock) for experiment in concerned}
            opened = {name: hosted for name, hosted in brought.items() if isinstance(hosted, HostedExperiment)}
            for hosted in opened.values():
                hosted.note_upgrade(now)
            for job in jobs:
                if isinstance(job, Change) and job.experiment not in opened:
                    outcomes.append((job, brought[job.experiment]))
                    continue
                try:
                    outcomes.append((job, _run(job, opened, store, now)))
                except REFUSALS as refusal:
                    outcomes.append((job, refusal))
                except StoreUnavailable:
                    raise
                except Exception as error:  # unforeseen: what it did in memory is undone by running the others again
                    raise _JobFailed(job, error) from error
            for hosted in opened.values():
                hosted.write(store, self._snapshot_every)
        return outcomes

    def _lock(self, store: Writing, experiment: str) -> int:
        """The head of the experiment, locked. One that was waited for in vain may not make the others wait again."""
        try:
            head = store.lock(experiment, wait=experiment not in self._held)
        except StoreUnavailable as error:
            self._held.add(experiment)
            raise _LockFailed(experiment, error) from error
        self._held.discard(experiment)
        return head

    def _seen(self, job: ReadJob, store: Reading) -> Any:
        """What a look gives, or the error that it ends in."""
        try:
            if isinstance(job, ReadAll):
                return job.run(self._open.values())
            hosted = self._bring(store, job.experiment, store.head)
            return hosted if isinstance(hosted, Exception) else job.run(hosted)
        except StoreUnavailable:
            raise
        except Exception as error:  # the one who looks hears of it, and the others go on
            return error

    def _bring(self, store: Reading, experiment: str, find_head: Callable[[str], int]) -> Opened:
        """The experiment as it is in the store, or why there is none."""
        try:
            head = find_head(experiment)
            hosted = self._open.pop(experiment, None)
            if hosted is None or not hosted.catch_up(store, head):
                hosted = HostedExperiment.open(store, store.record(experiment))
        except (StoreUnavailable, _LockFailed):
            raise
        except Exception as error:  # whatever is wrong with this one, the others of the group do not suffer
            return error
        self._open[experiment] = hosted
        if len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)
        return hosted

    def _forget(self, experiments: Iterable[str]) -> None:
        """What is in memory may be ahead of the store."""
        for experiment in experiments:
            self._open.pop(experiment, None)


def _run(job: Changing, opened: dict[str, HostedExperiment], store: Writing, now: float) -> Any:
    match job:
        case Change():
            return job.run(opened[job.experiment], store, now)
        case Sweep():
            return sum(hosted.expire(now) for hosted in opened.values())
        case Errand():
            return job.run(store, now)


def _resolve(outcomes: Iterable[Outcome]) -> None:
    for job, outcome in outcomes:
        if isinstance(outcome, Exception):
            job.future.set_exception(outcome)
        else:
            job.future.set_result(outcome)
