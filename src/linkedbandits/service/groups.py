"""Groups of jobs that share a commit, and the experiments in memory that they work on.

Other processes may work on the same store: before a group, each experiment concerned is locked and brought up to date
with what they have written. What is in memory is never ahead of the store, but while a group runs.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from concurrent.futures import InvalidStateError
from contextlib import suppress
from functools import partial
from math import inf
from typing import Any

from linkedbandits.errors import (
    ExperimentFinished,
    InvalidAttempts,
    InvalidParameter,
    StoreUnavailable,
    TooManyInFlight,
    UnknownName,
    WrongState,
)
from linkedbandits.service.background import Background
from linkedbandits.service.clocks import CLOCKS, Clocks
from linkedbandits.service.hosted import PAGE, HostedExperiment
from linkedbandits.service.jobs import Change, Changing, Errand, Job, OfOne, ReadAll, ReadJob, ReadOne, Removal, Sweep
from linkedbandits.service.records import damaged_sentence
from linkedbandits.service.store import Reading, Store, Writing
from linkedbandits.service.store_errors import DamagedRecord, UnknownExperiment
from linkedbandits.service.waiting_room import held_by_another
from linkedbandits.service.webhooks import Happening

MOST_OPEN = 1_000
"""Experiments kept in memory; the others are opened when they are wanted."""

REFUSALS = (
    WrongState,
    ExperimentFinished,
    WrongState,
    InvalidAttempts,
    InvalidParameter,
    InvalidParameter,
    InvalidParameter,
    InvalidParameter,
    InvalidParameter,
    TooManyInFlight,
    UnknownName,
    UnknownName,
)
"""Errors that say no before anything was changed. After any other, what is in memory cannot be trusted."""

_logger = logging.getLogger("linkedbandits.service")

Outcome = tuple[Job, Any]
Opened = HostedExperiment | Exception


class _JobFailed(Exception):
    """An unforeseen error in one job of a group."""

    def __init__(self, job: Changing, error: Exception) -> None:
        self.job, self.error = job, error


class _Damaged(Exception):
    """An experiment that cannot be read or written, for what is on record of it is damaged; has a job run before?"""

    def __init__(self, experiment: str, error: DamagedRecord, jobs_ran: bool) -> None:
        self.experiment, self.error, self.jobs_ran = experiment, error, jobs_ran


class _Held(Exception):
    """An experiment that another process holds."""


class _FarBehind(_Held):
    """An experiment that has to be opened in the background first."""


class Groups:
    """Runs groups of jobs, one after the other, in one thread."""

    def __init__(
        self,
        store: Store,
        snapshot_every: int,
        clocks: Clocks = CLOCKS,
        background: Background | None = None,
        on_news: Callable[[list[Happening]], None] = lambda _: None,
        is_elsewhere: Callable[[str], bool] = lambda _: False,
        on_open: Callable[[int], None] = lambda _: None,
    ) -> None:
        """With ``background``, jobs whose experiment has to be opened wait there; others go on.

        ``on_news`` is told what has happened to experiments when that is in the store. What is in memory of those that
        others look after, as ``is_elsewhere`` says, grows old, and is of use to those who look alone. ``on_open`` is
        told how many journal entries were replayed to open an experiment.
        """
        self._store = store
        self._background = background
        self._on_news = on_news
        self._is_elsewhere = is_elsewhere
        self._on_open = on_open
        self._snapshot_every = snapshot_every
        self._clocks = clocks
        self._open: OrderedDict[str, HostedExperiment] = OrderedDict()
        self._open_lock = threading.Lock()  # other threads count what is open
        self._opened: dict[str, Opened] = {}  # in the background, and not in use yet
        self._fresh: set[str] = set()  # those in memory that were not brought up to date since
        self._held: set[str] = set()  # experiments that were held when they were last tried
        self._may_wait = True

    def change(self, jobs: Sequence[Changing], now: float) -> list[Change]:
        """Run the jobs in one transaction; their futures are resolved when it is durable.

        A job that fails in an unforeseen way is taken out, and the others are run again without it. So are the jobs of
        an experiment that turns out to be damaged. Those of experiments that somebody else holds are not run: they are
        returned, to be tried again later. For all experiments together a group waits no longer than a moment.
        """
        left, passed_over = list(jobs), set[str]()
        self._may_wait = True
        while left := [job for job in left if not self._waits(job)]:
            touched = self._concerned(left, passed_over)
            try:
                outcomes, held, opened = self._commit(left, touched, now)
            except _JobFailed as failure:
                self._forget(touched)
                left.remove(failure.job)
                failure.job.future.set_exception(failure.error)
            except _Damaged as failure:
                if failure.jobs_ran:
                    self._forget(touched)
                passed_over.add(failure.experiment)
                # To remove it is the remedy, and needs no more of it than its name.
                stuck = {job for job in left if isinstance(job, Change) and job.experiment == failure.experiment}
                left = [job for job in left if job not in stuck]
                _resolve([(job, failure.error) for job in stuck])
            except Exception as error:  # nothing of the group is in the store: everybody who waits has to hear of it
                self._forget(touched)
                _resolve([(job, error) for job in left])
                return []
            else:
                _resolve(outcomes)
                self._tell_of(opened)
                return [job for job in held if not self._waits(job)]
        return []

    def plays_in_flight(self) -> int:
        """How many plays are out, in all experiments in memory. Any thread may ask; nobody is waited for."""
        with self._open_lock:
            opened = list(self._open.values())
        return sum(len(hosted.leases) for hosted in opened)

    def experiments_in_memory(self) -> int:
        """How many experiments are in memory. Any thread may ask."""
        return len(self._open)

    def go_on(self, experiment: str) -> list[OfOne]:
        """The jobs that have waited for work in the background; all are answered where an opening has failed."""
        if self._background is None:
            return []
        waited = self._background.end(experiment)
        found = self._take_in(experiment)
        if isinstance(found, Exception):
            _resolve([(job, found) for job in waited])
        return waited

    def close(self) -> list[OfOne]:
        """Begin nothing more in the background; the jobs that have waited."""
        if self._background is None:
            return []
        waited = self._background.close()
        for experiment in list(self._opened):
            self._take_in(experiment)
        return waited

    def _take_in(self, experiment: str) -> Opened | None:
        """What was opened in the background is in memory from now on."""
        found = self._opened.pop(experiment, None)
        if isinstance(found, HostedExperiment):
            self._on_open(found.replayed)
            if experiment not in self._open:
                self._fresh.add(experiment)
                self._hold(experiment, found)
        return found

    def _waits(self, job: Job) -> bool:
        """Does the job wait for work in the background? An experiment that is not in memory is opened there."""
        background = self._background
        if background is None or background.closed or not isinstance(job, Change | ReadOne):
            return False
        if job.experiment not in self._open:
            background.begin(job, partial(self._open_apart, job.experiment))
            return True
        if isinstance(job, ReadOne) or job.experiment not in background:
            return False
        background.wait(job)
        return True

    def _open_apart(self, experiment: str) -> None:
        """In another thread."""
        found: Opened
        try:
            with self._store.reading(at_the_desk=True) as store:
                try:
                    found = HostedExperiment.open(store, store.record(experiment), self._clocks)
                except StoreUnavailable:
                    raise
                except Exception as error:
                    found = _why_not(experiment, error)
        except Exception as error:  # of the store; the jobs that wait hear of it
            found = error
        self._opened[experiment] = found

    def _tell_of(self, opened: Mapping[str, HostedExperiment]) -> None:
        """Say what has happened. It is in the store, whatever becomes of this."""
        news = [happening for hosted in opened.values() for happening in hosted.take_news()]
        if not news:
            return
        try:
            self._on_news(news)
        except Exception:  # callers must not be told that what was committed has failed
            _logger.exception("news-failed")

    def look(self, jobs: Sequence[ReadJob]) -> None:
        """Look at what is committed, and resolve the futures."""
        looking = [job for job in jobs if not self._waits(job)]
        outcomes: list[Outcome] = []
        left = list(looking)
        try:
            while left:
                with self._store.reading(at_the_desk=True) as store:
                    damaged = False
                    while left and not damaged:  # a transaction may be of no use after that
                        outcome = self._seen(left[0], store)
                        outcomes.append((left.pop(0), outcome))
                        damaged = isinstance(outcome, DamagedRecord)
        except Exception as error:  # whatever it is, the desk's thread outlives it, and every future gets an answer
            outcomes = [(job, error) for job in looking]
        _resolve([(job, seen) for job, seen in outcomes if not (isinstance(seen, _FarBehind) and self._waits(job))])

    def finish(self) -> None:
        """Write snapshots of what was played since the last ones, so that the next start need not replay it.

        Where the store does not let us, nothing is lost: the journal has it.
        """
        self._may_wait = False  # locks of other processes are not waited for
        news = [name for name, hosted in self._open.items() if hosted.has_news and not self._is_elsewhere(name)]
        for experiment in news:
            try:
                with self._store.writing() as store:
                    hosted = self._bring(store, experiment, partial(self._lock, store))
                    if isinstance(hosted, HostedExperiment) and hosted.has_news:
                        hosted.save_snapshot(store)
            except (_Held, DamagedRecord):
                continue
            except StoreUnavailable:
                return

    def _concerned(self, jobs: Sequence[Changing], passed_over: set[str]) -> list[str]:
        """The experiments to lock, in one order, so that two processes cannot wait for each other."""
        found = {job.experiment for job in jobs if isinstance(job, Change | Removal)}
        if any(isinstance(job, Sweep) for job in jobs):
            found.update(name for name, hosted in self._open.items() if self._may_sweep(name) and hosted.due())
        return sorted(found - passed_over)

    def _may_sweep(self, experiment: str) -> bool:
        """Are its leases for this server to look after, and is nothing else at it?"""
        return not self._is_elsewhere(experiment) and (self._background is None or experiment not in self._background)

    def _commit(
        self, jobs: Sequence[Changing], concerned: Iterable[str], now: float
    ) -> tuple[list[Outcome], list[Change], dict[str, HostedExperiment]]:
        """What becomes of the jobs, those of experiments that somebody else holds, and the experiments at work."""
        with self._store.writing() as store:
            removals = [job for job in jobs if isinstance(job, Removal)]
            changes = [job for job in jobs if isinstance(job, Change)]
            only_removed = {job.experiment for job in removals} - {job.experiment for job in changes}
            brought = self._bring_all(store, concerned, only_removed)
            opened = {name: hosted for name, hosted in brought.items() if isinstance(hosted, HostedExperiment)}
            for hosted in opened.values():
                hosted.note_upgrade(now)
            held = [job for job in changes if job.experiment not in brought]
            put_off = set(held)
            running = [job for job in jobs if not isinstance(job, Removal) and job not in put_off]
            outcomes: list[Outcome] = [(job, self._outcome(job, brought, opened, store, now)) for job in running]
            for experiment, hosted in opened.items():
                try:
                    hosted.write(store, self._snapshot_every)
                except DamagedRecord as error:
                    raise _Damaged(experiment, error, jobs_ran=True) from error
            removed = [(job, self._remove(job, job.experiment in brought, store, now)) for job in removals]
        return outcomes + removed, held, opened

    def _outcome(
        self,
        job: Change | Sweep | Errand,
        brought: Mapping[str, Opened | None],
        opened: Mapping[str, HostedExperiment],
        store: Writing,
        now: float,
    ) -> Any:
        """What a job comes to, or why it is refused."""
        if isinstance(job, Change) and job.experiment not in opened:
            return brought[job.experiment]
        try:
            return _run(job, opened, store, now)
        except REFUSALS as refusal:
            return refusal
        except StoreUnavailable:
            raise
        except Exception as error:  # unforeseen: what it did in memory is undone by running the others again
            raise _JobFailed(job, error) from error

    def _bring_all(
        self, store: Writing, experiments: Iterable[str], only_removed: Container[str]
    ) -> dict[str, Opened | None]:
        """Experiments, locked, without those that are held. One that is only removed is not opened, and may be damaged.

        To open it could mean to replay all of its journal.
        """
        lock = partial(self._lock, store)
        brought: dict[str, Opened | None] = {}
        for experiment in experiments:
            with suppress(_Held):
                if experiment in only_removed:
                    brought[experiment] = _locked(experiment, lock)
                    continue
                found = brought[experiment] = self._bring(store, experiment, lock)
                if isinstance(found, DamagedRecord):  # a transaction may be of no use after that
                    raise _Damaged(experiment, found, jobs_ran=False)
        return brought

    def _remove(self, job: Removal, is_free: bool, store: Writing, now: float) -> Any:
        """Last of all: nothing may be written to it afterwards."""
        if not is_free and job.experiment in self._held:
            return held_by_another(job.experiment)
        try:
            found = job.remove(store, now)
        except (WrongState, UnknownExperiment) as refusal:
            return refusal
        self._forget([job.experiment])
        return found

    def _lock(self, store: Writing, experiment: str) -> int:
        """The head of the experiment, locked, or _Held.

        One that was held the last time is not waited for, nor is any after another was waited for in vain.
        """
        head = store.try_lock(experiment, for_a_moment=self._may_wait and experiment not in self._held)
        if head is None:
            self._held.add(experiment)
            self._may_wait = False
            raise _Held
        self._held.discard(experiment)
        return head

    def _seen(self, job: ReadJob, store: Reading) -> Any:
        """What a look gives, or the error that it ends in."""
        try:
            if isinstance(job, ReadAll):
                return job.run(list(self._open.values()))
            hosted = self._bring(store, job.experiment, store.head)
            return hosted if isinstance(hosted, Exception) else job.run(hosted)
        except StoreUnavailable:
            raise
        except Exception as error:  # the one who looks hears of it, and the others go on
            return error

    def _bring(self, store: Reading, experiment: str, find_head: Callable[[str], int]) -> Opened:
        """The experiment as it is in the store, or why there is none."""
        try:
            hosted = self._brought_up_to(find_head(experiment), store, experiment)
        except (StoreUnavailable, _Held):
            raise
        except Exception as error:  # whatever is wrong with this one, the others of the group do not suffer
            if isinstance(error, UnknownExperiment):
                self._forget([experiment])
            return _why_not(experiment, error)
        self._fresh.discard(experiment)
        self._hold(experiment, hosted)
        return hosted

    def _hold(self, experiment: str, hosted: HostedExperiment) -> None:
        """In memory, as the one used last."""
        with self._open_lock:
            self._open[experiment] = hosted
            self._open.move_to_end(experiment)
            if len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)

    def _brought_up_to(self, head: int, store: Reading, experiment: str) -> HostedExperiment:
        hosted = self._open.get(experiment)
        # What others have written while it was opened is caught up with, however much that is.
        most = inf if experiment in self._fresh else PAGE
        try:
            if hosted is None or not hosted.catch_up(store, head, most):
                if self._background is not None and not self._background.closed:
                    raise _FarBehind
                hosted = HostedExperiment.open(store, store.record(experiment), self._clocks)
                self._on_open(hosted.replayed)
        except BaseException:
            self._forget([experiment])  # it may have come half of the way
            raise
        return hosted

    def _forget(self, experiments: Iterable[str]) -> None:
        """What is in memory may be ahead of the store."""
        self._fresh.difference_update(experiments)
        with self._open_lock:
            for experiment in experiments:
                self._open.pop(experiment, None)


def _why_not(experiment: str, error: Exception) -> Exception:
    """What callers are told of an experiment that cannot be opened; it was never there, or deleted, or is damaged."""
    if isinstance(error, UnknownExperiment | MemoryError) or getattr(error, "reason", None) == "newer_save":
        return error
    damaged = DamagedRecord(damaged_sentence(experiment, error))
    damaged.__cause__ = error
    return damaged


def _locked(experiment: str, lock: Callable[[str], int]) -> Exception | None:
    try:
        lock(experiment)
    except UnknownExperiment as error:
        return error
    return None


def _run(job: Change | Sweep | Errand, opened: Mapping[str, HostedExperiment], store: Writing, now: float) -> Any:
    match job:
        case Change():
            return job.run(opened[job.experiment], store, now)
        case Sweep():
            return sum(hosted.expire(now) for hosted in opened.values())
        case Errand():
            return job.run(store, now)


def _resolve(outcomes: Iterable[Outcome]) -> None:
    for job, outcome in outcomes:
        try:
            if isinstance(outcome, Exception):
                job.future.set_exception(outcome)
            else:
                job.future.set_result(outcome)
        except InvalidStateError:  # one that the desk has answered when something unforeseen came between
            continue
