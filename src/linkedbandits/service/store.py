"""What a store has to do, and how to open one.

A store keeps every experiment's record, its append-only journal, its latest snapshot with the answers of that moment,
a sparse history, and what chains have told of their expenses. Everything is written in transactions: durable when they
end, or not there at all. The contract in full is ``tests/support/store_contract.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from linkedbandits.model import IntArray
from linkedbandits.service.audit import Action, AuditEntry
from linkedbandits.service.outbox_tables import OutboxCounts
from linkedbandits.service.postgres_store import PostgresStore
from linkedbandits.service.records import (
    CurvePoint,
    DamagedExperiment,
    Entry,
    Expenses,
    ExperimentHead,
    ExperimentRecord,
    HistoryPoint,
    ListedExperiment,
    Room,
    RunStatus,
    Snapshot,
    TokenRecord,
)
from linkedbandits.service.scopes import Scope
from linkedbandits.service.sqlite_store import SqliteStore
from linkedbandits.service.store_address import DatabaseAddress, read_address
from linkedbandits.service.webhooks import Delivery, Happening, Webhook


class Reading(Protocol):
    """A view of the store in which nothing changes while it is open."""

    def ping(self) -> None:
        """Nothing, if the store can be read; else StoreUnavailable."""
        ...

    def at_length(self) -> AbstractContextManager[None]:
        """Inside, much may be computed between two statements: the store is not to end the transaction for that."""
        ...

    def size(self) -> int:
        """About how many bytes the store takes."""
        ...

    def count_by_status(self) -> dict[RunStatus, int]:
        """How many experiments run, are paused, are archived; those of which there are none may be left out."""
        ...

    def heads(self) -> list[ExperimentHead]:
        """How far all experiments are, oldest first; much less to read than their records."""
        ...

    def records(self) -> list[ExperimentRecord]:
        """All experiments whose record can be read, oldest first."""
        ...

    def records_and_damaged(self) -> tuple[list[ExperimentRecord], list[DamagedExperiment]]:
        """The same, and those whose record cannot be read."""
        ...

    def record(self, experiment: str) -> ExperimentRecord:
        """One experiment, or UnknownExperiment; DamagedRecord if it cannot be read."""
        ...

    def damaged(self, experiment: str) -> DamagedExperiment:
        """What can still be said of an experiment that cannot be opened."""
        ...

    def created_with(self, key: str) -> str | None:
        """The experiment that was created with this idempotency key, if there is one."""
        ...

    def listed(self) -> list[ListedExperiment]:
        """What lists need of all experiments, oldest first; much less to read than their records."""
        ...

    def records_among(self, experiments: Iterable[str]) -> Iterator[tuple[str, ExperimentRecord | None]]:
        """Those of these experiments that there are, in no order, by identifier; None for one that cannot be read."""
        ...

    def tags(self, experiment: str) -> tuple[str, ...]:
        """The tags of an experiment, in order; none for an experiment that is not there."""
        ...

    def first_tags(self, experiment: str) -> tuple[str, ...]:
        """The tags that an experiment was created with, whatever they are now."""
        ...

    def log(self, experiment: str) -> dict[str, Any] | None:
        """The log that it was created with."""
        ...

    def head(self, experiment: str) -> int:
        """The number of the experiment's last journal entry, or UnknownExperiment."""
        ...

    def entries(self, experiment: str, after: int, limit: int | None = None) -> list[Entry]:
        """The journal behind entry ``after``, in order, at most ``limit`` of it."""
        ...

    def keyed(self, experiment: str, keys: Iterable[str]) -> dict[str, Entry]:
        """The entries that carry these idempotency keys, as far as there are any."""
        ...

    def tuples(self, experiment: str, numbers: Iterable[int]) -> dict[int, IntArray]:
        """The arms of these tuples, by number."""
        ...

    def snapshot(self, experiment: str) -> Snapshot | None:
        """The latest snapshot."""
        ...

    def answers(self, experiment: str) -> list[bytes]:
        """The segments of the answers at the time of the snapshot, in order."""
        ...

    def history(self, experiment: str, after: int = 0) -> list[HistoryPoint]:
        """The history behind entry ``after``, in order."""
        ...

    def curve(self, experiment: str) -> list[CurvePoint]:
        """What was known of the arms as time went on, in order."""
        ...

    def expenses(self, experiment: str, source: str | None = None) -> list[Expenses]:
        """What every source last told, but those that were added to others, the one told longest ago first.

        With a ``source`` that of this one, added or not.
        """
        ...

    def expenses_sources(self, experiment: str) -> list[str]:
        """The names of the sources that were not added to others, the one told longest ago first."""
        ...

    def expenses_version(self, experiment: str) -> tuple[float, ...]:
        """Numbers that change when expenses do: much less to read."""
        ...

    def name_and_status(self, experiment: str) -> tuple[str, RunStatus]:
        """Of an experiment that may be damaged, or UnknownExperiment."""
        ...

    def going_on_from(self, experiment: str) -> list[str]:
        """The experiments that go on from this one."""
        ...

    def archived_at(self, experiment: str) -> float | None:
        """When it was archived, whatever was written of it since; None if it is not, or UnknownExperiment."""
        ...

    def audit(
        self,
        limit: int,
        before: str | None = None,
        *,
        action: Action | None = None,
        subject: str | None = None,
        since: float = 0.0,
    ) -> list[AuditEntry]:
        """Entries of the audit, the newest first, those older than the one with the identifier ``before``."""
        ...

    def tokens(self) -> list[TokenRecord]:
        """All tokens, oldest first."""
        ...

    def ever_had_tokens(self) -> bool:
        """Was a token ever made, revoked or not?"""
        ...

    def webhooks(self) -> list[Webhook]:
        """All webhooks, oldest first."""
        ...

    def due_deliveries(self, now: float) -> list[tuple[Webhook, Delivery]]:
        """Of each webhook to which something is due, the message that was tried least often, the oldest of these."""
        ...

    def deliveries(self, webhook: str, most: int) -> list[Delivery]:
        """The last messages to a webhook, the latest first."""
        ...

    def outbox_counts(self) -> OutboxCounts:
        """How many messages wait, and since when."""
        ...


class Writing(Reading, Protocol):
    """A transaction: all of it is durable when the context ends, or none of it has happened."""

    def create(
        self,
        record: ExperimentRecord,
        log: dict[str, Any] | None = None,
        key: str | None = None,
        tags: Sequence[str] = (),
    ) -> bool:
        """A new experiment, with its tags and the log that it begins with, ready for JSON; was it created?

        It is not where another one was created with the same key. A transaction that did and is not over is waited for.
        """
        ...

    def lock(self, experiment: str) -> int:
        """The head as it is now; no other transaction changes the experiment until this one ends.

        StoreUnavailable if another transaction has it locked for some seconds. Nothing more can be done in this one
        then.
        """
        ...

    def try_lock(self, experiment: str, for_a_moment: bool) -> int | None:
        """The same, or None if another transaction has it: at once, or after a moment if ``for_a_moment``.

        The transaction goes on either way.
        """
        ...

    def write_in_passing(self) -> None:
        """Write something that changes nothing, to find out whether anything can be written; nobody is waited for."""
        ...

    def append(self, experiment: str, entries: Sequence[Entry], status: RunStatus, written_by: str) -> None:
        """Add to the journal; the last entry is the new head. The experiment has to be locked.

        ``written_by`` goes into the experiment's record.
        """
        ...

    def add_tuples(self, experiment: str, tuples: Mapping[int, IntArray]) -> None:
        """New tuples, by number."""
        ...

    def add_history(self, experiment: str, points: Sequence[HistoryPoint]) -> None:
        """New points, behind all that are there."""
        ...

    def add_curve(self, experiment: str, points: Sequence[CurvePoint]) -> None:
        """New points, behind all that are there."""
        ...

    def set_tags(self, experiment: str, tags: Sequence[str]) -> None:
        """Replace the tags. The experiment has to be locked, or new."""
        ...

    def note_standing(self, experiment: str, plays: int, verdict: str) -> None:
        """Plays told, and the status of the verdict or nothing, for lists. The experiment has to be locked, or new."""
        ...

    def save_snapshot(self, experiment: str, snapshot: Snapshot, answers: Mapping[int, bytes]) -> None:
        """Replace the snapshot, and those segments of the answers that have changed since the last."""
        ...

    def save_expenses(self, experiment: str, expenses: Expenses) -> None:
        """Replace those of a source, or add them. The experiment has to be locked."""
        ...

    def forget_expenses(self, experiment: str, most: int) -> None:
        """Of the sources that were added to others, forget all but the last ``most``."""
        ...

    def hide(self, experiment: str) -> None:
        """Delete: from now on it is as if it were not there. The experiment has to be locked."""
        ...

    def next_hidden(self, but: Collection[str] = ()) -> str | None:
        """An experiment that is hidden, locked, but none of these; None if there is none that nobody else is at."""
        ...

    def erase(self, experiment: str, most: int) -> int | None:
        """Remove up to ``most`` rows of one that is hidden, and itself last of all. How many? None: it is held."""
        ...

    def add_audit(self, entry: AuditEntry) -> None:
        """One more entry of the audit."""
        ...

    def forget_audit(self, before: float) -> int:
        """Remove the entries from before a time. How many?"""
        ...

    def forget_refusals(self, most: int) -> None:
        """Of refused sign-ins keep the last ``most`` entries, or some more."""
        ...

    def lock_limited_tokens(self) -> list[TokenRecord]:
        """The limited tokens, oldest first, as they are now and stay until this transaction ends."""
        ...

    def widen_token(self, token: TokenRecord, scope: Scope) -> None:
        """Let a limited token see more."""
        ...

    def add_token(self, token: TokenRecord) -> None:
        """A new token."""
        ...

    def remove_token(self, token_id: str) -> bool:
        """Was there one to remove? That there was one is not forgotten."""
        ...

    def add_webhook(self, webhook: Webhook) -> None:
        """A new webhook."""
        ...

    def remove_webhook(self, webhook: str) -> bool:
        """Was there one to remove? What is on its way to it is forgotten."""
        ...

    def put_out(self, happening: Happening) -> int:
        """A message to every webhook that is to hear of it and was not told before. How many?"""
        ...

    def add_delivery(self, delivery: Delivery) -> bool:
        """A message to a webhook; False if it has one of this id."""
        ...

    def claim_delivery(self, delivery: Delivery, until: float) -> bool:
        """Take a message to send it: nobody else does before ``until``. False if somebody has."""
        ...

    def delivery_sent(self, delivery: Delivery, said: str) -> None:
        """It has arrived."""
        ...

    def delivery_given_up(self, delivery: Delivery, said: str) -> None:
        """It is not tried again."""
        ...

    def delivery_postponed(self, delivery: Delivery, next_at: float, said: str) -> None:
        """It did not arrive. It, and whatever else waits for the same webhook, is not tried before ``next_at``."""
        ...

    def forget_deliveries(self, before: float) -> None:
        """Forget messages from before a time that were sent or given up, but for those that could be found again."""
        ...


class Store(Protocol):
    """Any number of threads may use a store at once.

    One that has an ``address`` which :func:`open_store` knows can be opened by other processes; journals are exported
    by one then.
    """

    def reading(self, at_the_desk: bool = False) -> AbstractContextManager[Reading]:
        """Read, without waiting for those who write; ``at_the_desk`` not behind many others who read, either."""
        ...

    def writing(self) -> AbstractContextManager[Writing]:
        """Write, durably; StoreUnavailable if that cannot be done, or if it cannot be known whether it was."""
        ...

    def probe(self) -> None:
        """Write something durable that changes nothing; StoreUnavailable or DamagedRecord if that cannot be done."""
        ...

    def room(self) -> Room | None:
        """How much room is on the store's disk; None if that is not seen from here."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


def open_store(url: str, create: bool = True, *, as_it_is: bool = False) -> Store:
    """The store at ``postgresql://...``, ``host=... dbname=...``, ``sqlite:///file`` or in a plain file.

    It is made if it is not there yet, or, without ``create``, refused. With ``as_it_is`` it is not brought to the
    present schema, either, but refused if it is not: for those who only read.
    """
    address = read_address(url)
    if isinstance(address, DatabaseAddress):
        return PostgresStore(address.conninfo, create, as_it_is=as_it_is)
    return SqliteStore(address.path, create, as_it_is=as_it_is)


def file_of(url: str) -> Path | None:
    """The file that a store is in; None for one in PostgreSQL."""
    address = read_address(url)
    return None if isinstance(address, DatabaseAddress) else address.path
