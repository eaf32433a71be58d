"""The desk: the one thread of a process that changes experiments.

Whatever has come in while the last group was being written is run as the next group, in one transaction, and answered
when that is on the disk. So a single caller waits for one commit, and a thousand share it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Self, TypeVar

from linkedbandits.errors import StoreUnavailable
from linkedbandits.live import WarmStart
from linkedbandits.model import Label
from linkedbandits.option_estimates import FirstAttempts
from linkedbandits.service import deletion, expenses
from linkedbandits.service.audit import MOST_REFUSALS, SERVICE, Action, Actor, AuditEntry, new_entry
from linkedbandits.service.background import Background
from linkedbandits.service.clocks import Clocks
from linkedbandits.service.creation import Created, Creation
from linkedbandits.service.groups import Groups
from linkedbandits.service.hosted import HostedExperiment
from linkedbandits.service.jobs import (
    Change,
    Changing,
    Errand,
    Job,
    Prepared,
    ReadAll,
    ReadJob,
    ReadOne,
    Removal,
    Sweep,
)
from linkedbandits.service.pulse import Pulse
from linkedbandits.service.records import (
    DamagedExperiment,
    ExperimentRecord,
    RunStatus,
    Setup,
)
from linkedbandits.service.replies import AskReply, TellReply
from linkedbandits.service.reply_size import ReplyLimit
from linkedbandits.service.store import Reading, Store, Writing
from linkedbandits.service.tags import check_tags
from linkedbandits.service.waiting_room import WaitingRoom
from linkedbandits.service.webhooks import Happening

T = TypeVar("T")
_Incoming = Changing | ReadJob | Prepared | None

_logger = logging.getLogger("linkedbandits.service")

_ACTIONS: dict[RunStatus, Action] = {"paused": "pause", "running": "resume", "archived": "archive"}

SNAPSHOT_EVERY = 20_000
"""Plays handed out, told or given up between two snapshots of an experiment."""
MOST_GROUPED = 1_000
"""Jobs that share a commit."""
READERS = 4
"""Threads that look at the store, so that those who only look do not wait for those who change."""
SECONDS_AFTER_A_FAILURE = 0.1
"""A pause after something unforeseen, so that what fails again and again does not take all of the time."""
SECONDS_TO_FINISH = 300.0
"""How long a desk that stops is waited for: longer than a store waits for anything before it gives up."""


@dataclass(frozen=True, slots=True)
class DeskFigures:
    """How much a desk has to do.

    Plays that are out in the experiments in memory, how many of these there are, how many are held by somebody else,
    jobs that wait for those, and jobs that nobody has looked at yet.
    """

    plays_in_flight: int
    experiments_in_memory: int
    experiments_held: int
    jobs_held: int
    jobs_queued: int


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
        clock: Callable[[], float] | None = None,
        steady: Callable[[], float] | None = None,
        snapshot_every: int = SNAPSHOT_EVERY,
        on_group: Callable[[int, float], None] | None = None,
        on_news: Callable[[list[Happening]], None] = lambda _: None,
        is_elsewhere: Callable[[str], bool] = lambda _: False,
        on_open: Callable[[int], None] = lambda _: None,
    ) -> None:
        """``on_group`` is told, after every group, how many jobs it had and how many seconds it took.

        ``on_open`` is told, in the desk's thread, how many journal entries were replayed to open an experiment.

        ``on_news`` is told, in the desk's thread, what has happened to experiments when that is in the store. Leases of
        experiments that others look after, as ``is_elsewhere`` says, are left to them.
        ``clock`` says what time is put on record, and may jump. ``steady`` may not: leases go by it. A ``clock`` that
        is given alone is taken to be steady, too.
        """
        self.pulse = Pulse()
        self._clock = clock or time.time
        self._on_group = on_group
        self._on_news = on_news
        self._store = store
        self._queue: SimpleQueue[_Incoming] = SimpleQueue()
        background = Background(lambda experiment: self._queue.put(Prepared(experiment)))
        clocks = Clocks(self._clock, steady or clock or time.monotonic)
        self._groups = Groups(store, snapshot_every, clocks, background, on_news, is_elsewhere, on_open)
        self._waiting_room = WaitingRoom()
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

    def create(
        self,
        setup: Setup,
        name: str,
        warm: WarmStart | None = None,
        by: Actor = SERVICE,
        tags: Sequence[str] = (),
    ) -> Future[ExperimentRecord]:
        """A new experiment, running; with a log that it begins with, if one is given.

        ``by`` is who asks for it, here and below: it goes into the audit, together with the change.
        """
        creation = Creation(setup, name, warm, by=by, tags=tuple(tags))
        return self._create(creation, lambda created: created.record)

    def create_once(self, creation: Creation) -> Future[Created]:
        """A new experiment, or the one that was created with the same key before."""
        return self._create(creation, lambda created: created)

    def _create(self, creation: Creation, shown: Callable[[Created], T]) -> Future[T]:
        made: list[Created] = []

        def carry_out(store: Writing, now: float) -> T:
            made[:] = [creation.carry_out(store, now)]
            return shown(made[0])

        def tell_of(done: Future[Any]) -> None:
            if made and made[0].news and not done.cancelled() and done.exception(0) is None:
                self._on_news(list(made[0].news))

        errand = Errand(carry_out)
        errand.future.add_done_callback(tell_of)
        return self._submit(errand)

    def records(self) -> Future[list[ExperimentRecord]]:
        """All experiments whose record can be read, oldest first."""
        return self._query(lambda store: store.records())

    def records_and_damaged(self) -> Future[tuple[list[ExperimentRecord], list[DamagedExperiment]]]:
        """The same, and those whose record cannot be read."""
        return self._query(lambda store: store.records_and_damaged())

    def damaged(self, experiment: str) -> Future[DamagedExperiment]:
        """What can still be said of an experiment that cannot be opened."""
        return self._query(lambda store: store.damaged(experiment))

    def record(self, experiment: str) -> Future[ExperimentRecord]:
        """One experiment's record."""
        return self._query(lambda store: store.record(experiment))

    def tags(self, experiment: str) -> Future[tuple[str, ...]]:
        """The tags of an experiment."""
        return self._query(lambda store: store.tags(experiment))

    def set_status(self, experiment: str, status: RunStatus, by: Actor = SERVICE) -> Future[ExperimentRecord]:
        """Pause, resume (``"running"``) or archive; archived is for good."""

        def change(hosted: HostedExperiment, store: Writing, now: float) -> ExperimentRecord:
            before = hosted.status
            record = hosted.set_status(status, now)
            if status != before:
                store.add_audit(new_entry(_ACTIONS[status], by, now, experiment))
            return record

        return self._submit(Change(experiment, change))

    def set_tags(self, experiment: str, tags: Sequence[str], by: Actor = SERVICE) -> Future[ExperimentRecord]:
        """Replace the tags."""
        check_tags(tags)

        def change(hosted: HostedExperiment, store: Writing, now: float) -> ExperimentRecord:
            before = hosted.tags
            record = hosted.set_tags(store, tags, now)
            if hosted.tags != before:
                store.add_audit(new_entry("tag", by, now, experiment, tags=list(tags)))
            return record

        return self._submit(Change(experiment, change))

    def note_standing(self, experiment: str) -> Future[None]:
        """Write down what lists sort and filter by, of an experiment from before that was kept."""
        return self._submit(Change(experiment, lambda hosted, store, _: hosted.note_standing(store)))

    def give_way(self, experiment: str, successor: str, why: str, by: Actor = SERVICE) -> Future[str]:
        """Pause an experiment for another one that goes on from it; which one does, if there was one before."""

        def change(hosted: HostedExperiment, store: Writing, now: float) -> str:
            known = hosted.successor
            found = hosted.give_way(successor, why, now)
            if known is None:
                store.add_audit(new_entry("succeed", by, now, experiment, successor=found, why=why))
            return found

        return self._submit(Change(experiment, change))

    def delete(self, experiment: str, force: bool = False, by: Actor = SERVICE) -> Future[None]:
        """Delete an experiment that is archived, or any by ``force``; :meth:`erase` removes what is left of it."""
        return self._submit(Removal(experiment, lambda store, now: deletion.hide(store, experiment, force, by, now)))

    def erase(self, erasing: deletion.Erasing | None = None) -> Future[int]:
        """Remove some rows of experiments that were deleted, but of those that are left for later. How many?

        0: nothing is left of the others.
        """
        going_through = deletion.Erasing() if erasing is None else erasing
        return self._submit(Errand(lambda store, _: going_through.step(store)))

    def note_refusals(self, details: dict[str, Any]) -> Future[None]:
        """Keep in the audit how many sign-ins were refused lately."""

        def note(store: Writing, now: float) -> None:
            store.add_audit(new_entry("sign-in-refused", SERVICE, now, **details))
            store.forget_refusals(MOST_REFUSALS)

        return self._submit(Errand(note))

    def audit(
        self, limit: int, before: str | None = None, *, action: Action | None = None, subject: str | None = None
    ) -> Future[list[AuditEntry]]:
        """Entries of the audit, the newest first."""
        return self._query(lambda store: store.audit(limit, before, action=action, subject=subject))

    def ask(
        self, experiment: str, count: int = 1, key: str | None = None, limit: ReplyLimit | None = None
    ) -> Future[AskReply]:
        """Up to ``count`` plays, as many as fit into the limit. With a ``key`` that was used before, those of then."""
        return self._submit(Change(experiment, lambda hosted, store, now: hosted.ask(store, count, key, now, limit)))

    def tell(self, experiment: str, answers: Sequence[tuple[int, Label | None]]) -> Future[TellReply]:
        """Say how plays ended: play id and the label of the arm that succeeded, or None."""
        return self._submit(Change(experiment, lambda hosted, _, now: hosted.tell(answers, now)))

    def abandon(self, experiment: str, plays: Iterable[int], unused: bool = False) -> Future[int]:
        """Give plays up; how many of them were out?"""
        return self._submit(Change(experiment, lambda hosted, _, now: hosted.abandon(plays, now, unused)))

    def keep_expenses(self, experiment: str, source: str, firsts: Sequence[tuple[Label, FirstAttempts]]) -> Future[int]:
        """Keep what a source tells of its first attempts: how many have told by now? 0 if it has to begin anew."""

        def keep(hosted: HostedExperiment, store: Writing, now: float) -> int:
            hosted.check_not_archived()
            return expenses.keep(store, experiment, hosted.record.setup.arms, source, firsts, now)

        return self._submit(Change(experiment, keep))

    def forget_expenses(self, experiment: str, source: str | None, by: Actor = SERVICE) -> Future[int]:
        """Forget what one source has told, or with None all that was told; how many sources were it?"""

        def change(_: HostedExperiment, store: Writing, now: float) -> int:
            forgotten = expenses.forget(store, experiment, source, now)
            store.add_audit(new_entry("forget-expenses", by, now, experiment, source=source, sources=forgotten))
            return forgotten

        return self._submit(Change(experiment, change))

    def expenses_sources(self, experiment: str) -> Future[list[dict[str, Any]]]:
        """What every source that is kept apart has told, all arms together."""

        def look(store: Reading) -> list[dict[str, Any]]:
            store.record(experiment)  # or UnknownExperiment
            return expenses.sources_of(store, experiment)

        return self._query(look)

    def spendings(self, experiment: str) -> Future[expenses.Spendings | None]:
        """What all sources have told; None if none has."""
        return self._query(lambda store: expenses.spendings_of(store, experiment, store.record(experiment).setup))

    def expire(self) -> Future[int]:
        """Give up the plays whose lease has run out, in all experiments in memory. How many?"""
        return self._submit(Sweep())

    def figures(self) -> DeskFigures:
        """How much there is to do. Any thread may ask, at any time: whatever the desk does, it is not waited for."""
        return DeskFigures(
            plays_in_flight=self._groups.plays_in_flight(),
            experiments_in_memory=self._groups.experiments_in_memory(),
            experiments_held=self._waiting_room.experiments,
            jobs_held=self._waiting_room.jobs,
            jobs_queued=self._queue.qsize(),
        )

    def read_all(self, function: Callable[[Iterable[HostedExperiment]], T]) -> Future[T]:
        """What the function says of all experiments in memory. It must not change them."""
        return self._submit(ReadAll(function))

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
        """Whatever happens to a group, its jobs are answered, and the next one has its turn."""
        working = True
        while working or self._waiting_room.experiments:
            in_hand: list[Job] = []
            try:
                waiting = self._next_jobs()
                working = working and None not in waiting
                self._serve(waiting, working, in_hand)
            except Exception as error:  # else the desk would be dead, and everybody would wait for ever
                _logger.exception("desk-failed")
                _answer_all(in_hand, error)
                time.sleep(SECONDS_AFTER_A_FAILURE)
            self.pulse.end()
        _answer_all(self._groups.close(), StoreUnavailable("the desk was stopped; what was asked for was not done"))
        self._groups.finish()

    def _serve(
        self, waiting: Sequence[Changing | ReadJob | Prepared | None], goes_on: bool, in_hand: list[Job]
    ) -> None:
        """Do what has come in. Jobs that have to be answered are put ``in_hand`` before anything is done."""
        jobs = [job for job in waiting if isinstance(job, Job) and job.future.set_running_or_notify_cancel()]
        in_hand += jobs
        prepared = [
            job for done in waiting if isinstance(done, Prepared) for job in self._groups.go_on(done.experiment)
        ]
        if not goes_on:
            prepared += self._groups.close()
        in_hand += prepared
        self.pulse.begin([*prepared, *jobs], self._queue.qsize)
        self.pulse.changed([job for job in prepared if isinstance(job, Change)])  # those that could not be opened
        ready = [*(job for job in prepared if not job.future.done()), *jobs]
        self._change([job for job in ready if isinstance(job, Changing)], in_hand)
        self._groups.look([job for job in ready if isinstance(job, ReadJob)])

    def _next_jobs(self) -> list[_Incoming]:
        """What has come in; nothing, if it is time to try an experiment again that somebody else holds."""
        waiting: list[_Incoming] = []
        with suppress(Empty):
            waiting.append(self._queue.get(timeout=self._waiting_room.seconds_to_next()))
            while len(waiting) < MOST_GROUPED:
                waiting.append(self._queue.get_nowait())
        return waiting

    def _change(self, new: Sequence[Changing], in_hand: list[Job]) -> None:
        """Run these, and those that have waited for long enough, which are ``in_hand`` then, too."""
        jobs = self._waiting_room.next_jobs(new)
        in_hand += jobs
        if not jobs:
            return
        start = time.perf_counter()
        self._waiting_room.take_back(jobs, self._groups.change(jobs, self._clock()))
        self.pulse.changed(jobs)
        if self._on_group is not None:
            self._on_group(len(jobs), time.perf_counter() - start)


def _answer_all(jobs: Iterable[Job], error: Exception) -> None:
    """Those that have no answer yet; what they asked for may or may not be on record."""
    for job in jobs:
        if not job.future.done():
            job.future.set_exception(error)


def _closed() -> Future[Any]:
    refused: Future[Any] = Future()
    refused.set_exception(StoreUnavailable("the desk is closed; start() it, or another if it was stopped"))
    return refused
