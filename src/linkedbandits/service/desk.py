"""The desk: the one thread of a process that changes experiments.

Whatever has come in while the last group was being written is run as the next group, in one transaction, and answered
when that is on the disk. So a single caller waits for one commit, and a thousand share it.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Self, TypeVar

from linkedbandits.errors import StoreUnavailable
from linkedbandits.live import HANDS_OUT_BY, WarmStart
from linkedbandits.model import Label
from linkedbandits.option_estimates import FirstAttempts
from linkedbandits.service import expenses
from linkedbandits.service.groups import Groups
from linkedbandits.service.hosted import HostedExperiment
from linkedbandits.service.jobs import Change, Changing, Errand, ReadAll, ReadJob, ReadOne, Sweep
from linkedbandits.service.records import ExperimentRecord, LogInSetup, RunStatus, Setup, Writer, check_text
from linkedbandits.service.replies import AskReply, TellReply
from linkedbandits.service.store import Reading, Store, Writing
from linkedbandits.version import __version__

T = TypeVar("T")

SNAPSHOT_EVERY = 20_000
"""Plays handed out, told or given up between two snapshots of an experiment."""
MOST_GROUPED = 1_000
"""Jobs that share a commit."""
READERS = 4
"""Threads that look at the store, so that those who only look do not wait for those who change."""
SECONDS_TO_FINISH = 300.0
"""How long a desk that stops is waited for: longer than a store waits for anything before it gives up."""


class Desk:
    """Create, ask, tell: every method returns a future, which has its result when it is durable.

    Any number of threads may use a desk, and any number of desks, in as many processes, one store.

    >>> import tempfile, pathlib
    >>> from linkedbandits.service.store import open_store
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = open_store(str(pathlib.Path(folder.name) / "experiments.sqlite"))
    >>> with Desk(store) as desk:
    ...     setup = Setup(("north", "east"), {"name": "linked-elimination", "parameters": {"delta": 0.05}})
    ...     experiment = desk.create(setup, "directions").result()
    ...     asked = desk.ask(experiment.id).result()
    ...     told = desk.tell(experiment.id, [(asked.plays[0].id, "east")]).result()
    >>> asked.plays, told.receipts
    ((Play(id=0, arms=('north', 'east'), rest=()),), ('counted',))
    >>> store.close(); folder.cleanup()
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Callable[[], float] = time.time,
        snapshot_every: int = SNAPSHOT_EVERY,
        on_group: Callable[[int, float], None] | None = None,
    ) -> None:
        """``on_group`` is told, after every group, how many jobs it had and how many seconds it took."""
        self._clock = clock
        self._on_group = on_group
        self._store = store
        self._groups = Groups(store, snapshot_every)
        self._queue: SimpleQueue[Changing | ReadJob | None] = SimpleQueue()
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="desk-reader")
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="desk", daemon=True)
        self._open = False

    def start(self) -> None:
        """Begin to work; once."""
        with self._lock:
            self._thread.start()
            self._open = True

    def stop(self) -> None:
        """Finish what was submitted, with a snapshot of all that was played, and stop for good.

        StoreUnavailable if the store does not let it.
        """
        with self._lock:
            if self._open:
                self._queue.put(None)
            self._open = False
        if self._thread.ident is not None:
            self._thread.join(SECONDS_TO_FINISH)
            if self._thread.is_alive():
                raise StoreUnavailable(
                    f"the desk did not finish within {SECONDS_TO_FINISH:g} s; does the store answer? What was not "
                    "acknowledged may or may not be on record: ask or tell it again"
                )
        self._readers.shutdown()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def create(self, setup: Setup, name: str, warm: WarmStart | None = None) -> Future[ExperimentRecord]:
        """A new experiment, running; with a log that it begins with, if one is given."""

        def create(store: Writing, now: float) -> ExperimentRecord:
            check_text("name", name)
            begun = setup.begin()  # says what is wrong with it
            said = setup if warm is None else replace(setup, log=LogInSetup.of(warm))
            writer = str(Writer(__version__, begun.run.asks(), HANDS_OUT_BY))
            record = ExperimentRecord(secrets.token_hex(8), name, said, "running", now, head=0, written_by=writer)
            hosted = None if warm is None else HostedExperiment(record, warm)
            store.create(record, None if warm is None else warm.to_json())
            if hosted is not None:
                # A verdict that the log gave at once stands, whatever a later version would have made of it.
                hosted.save_snapshot(store)
            return record

        return self._submit(Errand(create))

    def records(self) -> Future[list[ExperimentRecord]]:
        """All experiments, oldest first."""
        return self._query(lambda store: store.records())

    def record(self, experiment: str) -> Future[ExperimentRecord]:
        """One experiment's record."""
        return self._query(lambda store: store.record(experiment))

    def set_status(self, experiment: str, status: RunStatus) -> Future[ExperimentRecord]:
        """Pause, resume (``"running"``) or archive; archived is for good."""
        return self._submit(Change(experiment, lambda hosted, _, now: hosted.set_status(status, now)))

    def give_way(self, experiment: str, successor: str, why: str) -> Future[str]:
        """Pause an experiment for another one that goes on from it; which one does, if there was one before."""
        return self._submit(Change(experiment, lambda hosted, _, now: hosted.give_way(successor, why, now)))

    def ask(self, experiment: str, count: int = 1, key: str | None = None) -> Future[AskReply]:
        """Up to ``count`` plays. With a ``key`` that was used before, the same plays as then."""
        return self._submit(Change(experiment, lambda hosted, store, now: hosted.ask(store, count, key, now)))

    def tell(self, experiment: str, answers: Sequence[tuple[int, Label | None]]) -> Future[TellReply]:
        """Say how plays ended: play id and the label of the arm that succeeded, or None."""
        return self._submit(Change(experiment, lambda hosted, _, now: hosted.tell(answers, now)))

    def abandon(self, experiment: str, plays: Iterable[int]) -> Future[int]:
        """Give plays up; how many of them were out?"""
        return self._submit(Change(experiment, lambda hosted, _, now: hosted.abandon(plays, now)))

    def keep_expenses(
        self, experiment: str, source: str, firsts: Sequence[tuple[Label, FirstAttempts]]
    ) -> Future[bool]:
        """Keep what a source tells of its first attempts; False if it has to begin anew, under another name."""

        def keep(hosted: HostedExperiment, store: Writing, now: float) -> bool:
            hosted.check_not_archived()
            return expenses.keep(store, experiment, hosted.record.setup.arms, source, firsts, now)

        return self._submit(Change(experiment, keep))

    def spendings(self, experiment: str) -> Future[expenses.Spendings | None]:
        """What all sources have told; None if none has."""
        return self._query(lambda store: expenses.spendings_of(store, experiment, store.record(experiment).setup))

    def expire(self) -> Future[int]:
        """Give up the plays whose lease has run out, in all experiments in memory. How many?"""
        return self._submit(Sweep())

    def in_flight(self) -> Future[int]:
        """How many plays are out, in all experiments in memory?"""
        return self._submit(ReadAll(lambda opened: sum(len(hosted.leases) for hosted in opened)))

    def read(self, experiment: str, function: Callable[[HostedExperiment], T]) -> Future[T]:
        """What the function says of the experiment as it is in the store. It must not change it."""
        return self._submit(ReadOne(experiment, function))

    def _submit(self, job: Changing | ReadJob) -> Future[Any]:
        with self._lock:
            if not self._open:
                return _closed()
            self._queue.put(job)
        return job.future

    def _query(self, look: Callable[[Reading], T]) -> Future[T]:
        """Look at the store, apart from what is changing."""

        def query() -> T:
            with self._store.reading() as store:
                return look(store)

        with self._lock:
            return self._readers.submit(query) if self._open else _closed()

    def _work(self) -> None:
        working = True
        while working:
            waiting = [self._queue.get()]
            try:
                while len(waiting) < MOST_GROUPED:
                    waiting.append(self._queue.get_nowait())
            except Empty:
                pass
            working = None not in waiting
            jobs = [job for job in waiting if job is not None and job.future.set_running_or_notify_cancel()]
            self._change([job for job in jobs if isinstance(job, Changing)])
            self._groups.look([job for job in jobs if isinstance(job, ReadJob)])
        self._groups.finish()

    def _change(self, jobs: list[Changing]) -> None:
        if not jobs:
            return
        start = time.perf_counter()
        self._groups.change(jobs, self._clock())
        if self._on_group is not None:
            self._on_group(len(jobs), time.perf_counter() - start)


def _closed() -> Future[Any]:
    refused: Future[Any] = Future()
    refused.set_exception(StoreUnavailable("the desk is closed; start() it, or another if it was stopped"))
    return refused
