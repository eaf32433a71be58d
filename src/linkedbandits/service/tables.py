"""The tables of the store, and every statement on them: the same for SQLite and PostgreSQL.

The two differ in the sign of a parameter, in the type of bytes, and in how a row is locked; see :class:`Dialect`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from linkedbandits.errors import NewerSave, UnknownExperiment
from linkedbandits.model import IntArray
from linkedbandits.service.driver_errors import DriverErrors
from linkedbandits.service.migrations import MIGRATIONS, SCHEMA_VERSION
from linkedbandits.service.packing import pack_arms, pack_json, unpack_arms, unpack_json
from linkedbandits.service.records import (
    Entry,
    Expenses,
    ExperimentHead,
    ExperimentRecord,
    HistoryPoint,
    RunStatus,
    Setup,
    Snapshot,
    TokenRecord,
)
from linkedbandits.version import __version__

_RECORD = "SELECT id, name, setup, status, created_at, head, written_by FROM experiments"
_FEW = 500  # parameters in one statement


@dataclass(frozen=True, slots=True)
class Dialect:
    """Where the two databases differ."""

    parameter: str
    bytes: str
    clustered: str
    lock: str
    lock_at_once: str

    def steps(self, migration: str) -> list[str]:
        """The statements of a migration."""
        return migration.format(bytes=self.bytes, clustered=self.clustered).split(";")

    def say(self, statement: str) -> str:
        """A statement written with ``?`` for each parameter."""
        return statement.replace("?", self.parameter)


class Cursor(Protocol):
    """What both databases' cursors can do."""

    def execute(self, statement: Any, parameters: Sequence[Any] = ..., /) -> Any:
        """Run a statement."""
        ...

    def executemany(self, statement: Any, rows: Iterable[Sequence[Any]], /) -> Any:
        """Run a statement for each row."""
        ...

    def fetchall(self) -> list[Any]:
        """All rows of the last statement."""
        ...

    @property
    def rowcount(self) -> int:
        """How many rows the last statement changed."""
        ...


class Tables:
    """One transaction's hands on the tables; reading and writing as the store's protocols say."""

    def __init__(self, cursor: Cursor, dialect: Dialect, errors: DriverErrors) -> None:
        self._cursor = cursor
        self._dialect = dialect
        self._errors = errors

    def prepare(self) -> None:
        """Bring the tables to the present schema, and refuse those of a later version of the library."""
        self._run("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")
        rows = self._rows("SELECT * FROM schema_version")
        found = rows[0][0] if rows else 0
        if found > SCHEMA_VERSION:
            raise NewerSave(
                f"the store is in format {found}, and this library, {__version__}, reads up to {SCHEMA_VERSION}; "
                f"upgrade linkedbandits to {rows[0][1]} or later to open it"
            )
        if found == SCHEMA_VERSION:
            return
        for migration in MIGRATIONS[found:]:
            for statement in self._dialect.steps(migration):
                self._run(statement)
        if not rows:
            self._run("INSERT INTO schema_version (version) VALUES (0)")
        self._run("UPDATE schema_version SET version = ?, library = ?", SCHEMA_VERSION, __version__)

    def ping(self) -> None:
        """Nothing, if the tables can be read."""
        self._rows("SELECT version FROM schema_version")

    def heads(self) -> list[ExperimentHead]:
        """How far all experiments are, oldest first."""
        return [
            ExperimentHead(*row)
            for row in self._rows("SELECT id, head, status FROM experiments ORDER BY created_at, id")
        ]

    def records(self) -> list[ExperimentRecord]:
        """All experiments, oldest first."""
        return [_record(row) for row in self._rows(f"{_RECORD} ORDER BY created_at, id")]

    def record(self, experiment: str) -> ExperimentRecord:
        """One experiment, or UnknownExperiment."""
        return _record(self._row_of(f"{_RECORD} WHERE id = ?", experiment))

    def log(self, experiment: str) -> dict[str, Any] | None:
        """The log that it was created with."""
        packed = self._row_of("SELECT log FROM experiments WHERE id = ?", experiment)[0]
        return None if packed is None else unpack_json(packed)

    def head(self, experiment: str) -> int:
        """The number of the experiment's last journal entry, or UnknownExperiment."""
        return int(self._row_of("SELECT head FROM experiments WHERE id = ?", experiment)[0])

    def lock(self, experiment: str, wait: bool = True) -> int:
        """The head as it is now, and stays until this transaction ends."""
        lock = self._dialect.lock if wait else self._dialect.lock_at_once
        return int(self._row_of(f"SELECT head FROM experiments WHERE id = ?{lock}", experiment)[0])

    def create(self, record: ExperimentRecord, log: dict[str, Any] | None = None) -> None:
        """A new experiment, with the log that it begins with."""
        self._run(
            "INSERT INTO experiments (id, name, setup, status, created_at, head, written_by, log) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            record.id,
            record.name,
            record.setup.to_json(),
            record.status,
            record.created_at,
            record.head,
            record.written_by,
            None if log is None else pack_json(log),
        )

    def entries(self, experiment: str, after: int, limit: int | None = None) -> list[Entry]:
        """The journal behind entry ``after``, in order."""
        some = "" if limit is None else f" LIMIT {int(limit)}"
        statement = f"SELECT seq, at, kind, body FROM journal WHERE experiment = ? AND seq > ? ORDER BY seq{some}"
        return [_entry(row) for row in self._rows(statement, experiment, after)]

    def keyed(self, experiment: str, keys: Iterable[str]) -> dict[str, Entry]:
        """The entries that carry these idempotency keys."""
        rows = self._rows_among("SELECT key, seq, at, kind, body FROM journal", "key", experiment, keys)
        return {key: _entry(entry) for key, *entry in rows}

    def append(self, experiment: str, entries: Sequence[Entry], status: RunStatus, written_by: str) -> None:
        """Add to the journal; the last entry is the new head."""
        self._run_many(
            "INSERT INTO journal (experiment, seq, at, kind, key, body) VALUES (?, ?, ?, ?, ?, ?)",
            [
                (experiment, entry.seq, entry.at, entry.kind, entry.body.get("key"), _dump(entry.body))
                for entry in entries
            ],
        )
        self._run(
            "UPDATE experiments SET head = ?, status = ?, written_by = ? WHERE id = ?",
            entries[-1].seq,
            status,
            written_by,
            experiment,
        )

    def tuples(self, experiment: str, numbers: Iterable[int]) -> dict[int, IntArray]:
        """The arms of these tuples, by number."""
        rows = self._rows_among("SELECT number, arms FROM tuples", "number", experiment, numbers)
        return {number: unpack_arms(arms) for number, arms in rows}

    def add_tuples(self, experiment: str, tuples: Mapping[int, IntArray]) -> None:
        """New tuples, by number."""
        self._run_many(
            "INSERT INTO tuples (experiment, number, arms) VALUES (?, ?, ?)",
            [(experiment, number, pack_arms(arms)) for number, arms in tuples.items()],
        )

    def snapshot(self, experiment: str) -> Snapshot | None:
        """The latest snapshot."""
        rows = self._rows("SELECT seq, body FROM snapshots WHERE experiment = ?", experiment)
        return Snapshot(rows[0][0], unpack_json(rows[0][1])) if rows else None

    def answers(self, experiment: str) -> list[bytes]:
        """The segments of the answers at the time of the snapshot, in order."""
        rows = self._rows("SELECT hits FROM answers WHERE experiment = ? ORDER BY segment", experiment)
        return [bytes(row[0]) for row in rows]

    def save_snapshot(self, experiment: str, snapshot: Snapshot, answers: Mapping[int, bytes]) -> None:
        """Replace the snapshot, and those segments of the answers that have changed since the last."""
        self._run(
            "INSERT INTO snapshots (experiment, seq, body) VALUES (?, ?, ?) "
            "ON CONFLICT (experiment) DO UPDATE SET seq = excluded.seq, body = excluded.body",
            experiment,
            snapshot.seq,
            pack_json(snapshot.body),
        )
        self._run_many(
            "INSERT INTO answers (experiment, segment, hits) VALUES (?, ?, ?) "
            "ON CONFLICT (experiment, segment) DO UPDATE SET hits = excluded.hits",
            [(experiment, segment, hits) for segment, hits in answers.items()],
        )

    def history(self, experiment: str, after: int = 0) -> list[HistoryPoint]:
        """The history behind entry ``after``, in order."""
        statement = "SELECT seq, at, plays FROM history WHERE experiment = ? AND seq > ? ORDER BY seq"
        return [HistoryPoint(*row) for row in self._rows(statement, experiment, after)]

    def add_history(self, experiment: str, points: Sequence[HistoryPoint]) -> None:
        """New points, behind all that are there."""
        self._run_many(
            "INSERT INTO history (experiment, seq, at, plays) VALUES (?, ?, ?, ?)",
            [(experiment, point.seq, point.at, point.plays) for point in points],
        )

    def expenses(self, experiment: str, source: str | None = None) -> list[Expenses]:
        """Those of all sources but the ones added to others, the one told longest ago first; or that of one source."""
        which = "body IS NOT NULL" if source is None else "source = ?"
        rows = self._rows(
            f"SELECT source, at, tries, body FROM expenses WHERE experiment = ? AND {which} ORDER BY at, source",
            experiment,
            *([] if source is None else [source]),
        )
        return [
            Expenses(name, at, tries, None if body is None else unpack_json(body)) for name, at, tries, body in rows
        ]

    def expenses_sources(self, experiment: str) -> list[str]:
        """The names of all sources that are not added to others yet, the one told longest ago first."""
        statement = "SELECT source FROM expenses WHERE experiment = ? AND body IS NOT NULL ORDER BY at, source"
        return [name for (name,) in self._rows(statement, experiment)]

    def expenses_version(self, experiment: str) -> tuple[float, ...]:
        """Numbers that change when expenses do."""
        rows = self._rows(
            "SELECT COUNT(*), COALESCE(SUM(tries), 0), COALESCE(MAX(at), 0) FROM expenses WHERE experiment = ?",
            experiment,
        )
        return tuple(float(number) for number in rows[0])

    def save_expenses(self, experiment: str, expenses: Expenses) -> None:
        """Replace those of a source, or add them."""
        self._run(
            "INSERT INTO expenses (experiment, source, at, tries, body) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (experiment, source) "
            "DO UPDATE SET at = excluded.at, tries = excluded.tries, body = excluded.body",
            experiment,
            expenses.source,
            expenses.at,
            expenses.tries,
            None if expenses.body is None else pack_json(expenses.body),
        )

    def forget_expenses(self, experiment: str, most: int) -> None:
        """Of sources that are added to others keep the names of the last ``most``, or some more: not one at a time."""
        added = "experiment = ? AND body IS NULL"
        if self._rows(f"SELECT COUNT(*) FROM expenses WHERE {added}", experiment)[0][0] <= most + most // 10:
            return
        self._run(
            f"DELETE FROM expenses WHERE {added} AND source NOT IN "
            f"(SELECT source FROM expenses WHERE {added} ORDER BY at DESC, source LIMIT {int(most)})",
            experiment,
            experiment,
        )

    def tokens(self) -> list[TokenRecord]:
        """All tokens, oldest first."""
        rows = self._rows("SELECT id, name, role, digest, created_at FROM tokens ORDER BY created_at, id")
        return [TokenRecord(*row) for row in rows]

    def ever_had_tokens(self) -> bool:
        """Was a token ever made, revoked or not?"""
        return bool(self._rows("SELECT id FROM tokens UNION ALL SELECT id FROM revoked_tokens LIMIT 1"))

    def add_token(self, token: TokenRecord) -> None:
        """A new token."""
        self._run(
            "INSERT INTO tokens (id, name, role, digest, created_at) VALUES (?, ?, ?, ?, ?)",
            token.id,
            token.name,
            token.role,
            token.digest,
            token.created_at,
        )

    def remove_token(self, token_id: str) -> bool:
        """Was there one to remove?"""
        self._run("INSERT INTO revoked_tokens (id) SELECT id FROM tokens WHERE id = ?", token_id)
        self._run("DELETE FROM tokens WHERE id = ?", token_id)
        return self._cursor.rowcount > 0

    def _row_of(self, statement: str, experiment: str) -> Sequence[Any]:
        # Not every database can even look for a text with a zero byte or half a character in it.
        rows: list[Sequence[Any]] = self._rows(statement, experiment) if experiment.isprintable() else []
        if not rows:
            raise UnknownExperiment(f"there is no experiment {experiment!r}; list those that are, or create it")
        return rows[0]

    def _run(self, statement: str, *parameters: object) -> None:
        with self._errors:
            self._cursor.execute(self._dialect.say(statement), parameters)

    def _run_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        if len(rows) == 1:
            self._run(statement, *rows[0])
        elif rows:
            with self._errors:
                self._cursor.executemany(self._dialect.say(statement), rows)

    def _rows(self, statement: str, *parameters: object) -> list[Any]:
        self._run(statement, *parameters)
        with self._errors:
            return self._cursor.fetchall()

    def _rows_among(self, select: str, column: str, experiment: str, values: Iterable[object]) -> list[Any]:
        """Rows of an experiment whose column has one of these values."""
        wanted = list(values)
        rows: list[Any] = []
        for start in range(0, len(wanted), _FEW):
            part = wanted[start : start + _FEW]
            places = ", ".join("?" * len(part))
            rows += self._rows(f"{select} WHERE experiment = ? AND {column} IN ({places})", experiment, *part)
        return rows


_dump = json.JSONEncoder(separators=(",", ":")).encode


def _record(row: Sequence[Any]) -> ExperimentRecord:
    experiment, name, setup, status, created_at, head, written_by = row
    return ExperimentRecord(experiment, name, Setup.from_json(setup), status, created_at, head, written_by)


def _entry(row: Sequence[Any]) -> Entry:
    seq, at, kind, body = row
    return Entry(seq, at, kind, json.loads(body))
