"""What a store has to do, and how to open one.

A store keeps every experiment's record, its append-only journal, its latest snapshot with the answers of that moment,
a sparse history, and what chains have told of their expenses. Everything is written in transactions: durable when they
end, or not there at all. The contract in full is :func:`linkedbandits.testing.check_store`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from linkedbandits.errors import InvalidParameter
from linkedbandits.model import IntArray
from linkedbandits.service.postgres_store import PostgresStore
from linkedbandits.service.records import (
    Entry,
    Expenses,
    ExperimentHead,
    ExperimentRecord,
    HistoryPoint,
    RunStatus,
    Snapshot,
    TokenRecord,
)
from linkedbandits.service.sqlite_store import SqliteStore


class Reading(Protocol):
    """A view of the store in which nothing changes while it is open."""

    def ping(self) -> None:
        """Nothing, if the store can be read; else StoreUnavailable."""
        ...

    def heads(self) -> list[ExperimentHead]:
        """How far all experiments are, oldest first; much less to read than their records."""
        ...

    def records(self) -> list[ExperimentRecord]:
        """All experiments, oldest first."""
        ...

    def record(self, experiment: str) -> ExperimentRecord:
        """One experiment, or UnknownExperiment."""
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

    def tokens(self) -> list[TokenRecord]:
        """All tokens, oldest first."""
        ...

    def ever_had_tokens(self) -> bool:
        """Was a token ever made, revoked or not?"""
        ...


class Writing(Reading, Protocol):
    """A transaction: all of it is durable when the context ends, or none of it has happened."""

    def create(self, record: ExperimentRecord, log: dict[str, Any] | None = None) -> None:
        """A new experiment, with the log that it begins with, ready for JSON."""
        ...

    def lock(self, experiment: str, wait: bool = True) -> int:
        """The head as it is now; no other transaction changes the experiment until this one ends.

        StoreUnavailable if another transaction has it locked: after a few seconds, or at once without ``wait``. Nothing
        more can be done in the transaction then.
        """
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

    def save_snapshot(self, experiment: str, snapshot: Snapshot, answers: Mapping[int, bytes]) -> None:
        """Replace the snapshot, and those segments of the answers that have changed since the last."""
        ...

    def save_expenses(self, experiment: str, expenses: Expenses) -> None:
        """Replace those of a source, or add them. The experiment has to be locked."""
        ...

    def forget_expenses(self, experiment: str, most: int) -> None:
        """Of the sources that were added to others, forget all but the last ``most``."""
        ...

    def add_token(self, token: TokenRecord) -> None:
        """A new token."""
        ...

    def remove_token(self, token_id: str) -> bool:
        """Was there one to remove? That there was one is not forgotten."""
        ...


class Store(Protocol):
    """Any number of threads may use a store at once."""

    def reading(self) -> AbstractContextManager[Reading]:
        """Read, without waiting for those who write."""
        ...

    def writing(self) -> AbstractContextManager[Writing]:
        """Write, durably; StoreUnavailable if that cannot be done, or if it cannot be known whether it was."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


def open_store(url: str) -> Store:
    """The store at ``postgresql://...``, ``sqlite:///file`` or in a plain file, made if it is not there yet."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return SqliteStore(Path(url))
    if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        return SqliteStore(Path(rest.removeprefix("/")))
    if scheme in ("postgresql", "postgres"):
        return PostgresStore(url)
    raise InvalidParameter(f"{scheme}:// is no store; give a file, sqlite:///file or postgresql://user@host/database")
