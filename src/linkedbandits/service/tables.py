"""The tables of the store, and every statement on them: the same for SQLite and PostgreSQL.

The two differ in the sign of a parameter, in the type of bytes, and in how a row is locked; see :class:`Dialect`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from secrets import token_hex
from typing import Any, Protocol, TypeVar, get_args

from linkedbandits.errors import CannotRead, DamagedSave, StoreUnavailable
from linkedbandits.model import IntArray
from linkedbandits.service.audit import Action, Actor, AuditEntry
from linkedbandits.service.migrations import MIGRATIONS, SCHEMA_VERSION
from linkedbandits.service.outbox_tables import OutboxTables
from linkedbandits.service.packing import pack_arms, pack_json, unpack_arms, unpack_json
from linkedbandits.service.records import (
    CurvePoint,
    DamagedExperiment,
    Entry,
    Expenses,
    ExperimentHead,
    ExperimentRecord,
    HistoryPoint,
    ListedExperiment,
    RunStatus,
    Setup,
    Snapshot,
    TokenRecord,
    damaged_sentence,
)
from linkedbandits.service.scopes import Scope
from linkedbandits.service.store_errors import DamagedRecord, UnknownExperiment
from linkedbandits.version import __version__

_RECORD = "id, name, setup, status, created_at, head, written_by"
_LISTED = "id, name, status, created_at, head, COALESCE(plays, 0), verdict, COALESCE(tags, '[]')"
_FEW = 500  # parameters in one statement
_logger = logging.getLogger("linkedbandits.service")
_UNLISTED = (  # a process of an earlier version may have created it in a store that a later one has upgraded
    "INSERT INTO listing (experiment, plays, verdict, tags, first_tags) VALUES (?, ?, ?, ?, '[]') "
    "ON CONFLICT (experiment) DO UPDATE"
)
_THERE = "status <> 'deleted'"  # one that was deleted is hidden at once, and erased piece by piece
PARTS = {
    "journal": "seq",
    "tuples": "number",
    "answers": "segment",
    "history": "seq",
    "curves": "seq",
    "listing": "experiment",
    "expenses": "source",
    "snapshots": "seq",
    "deliveries": "id",
    "webhooks": "id",
    "owners": "server",
}
"""The tables with rows of experiments, and what tells the rows of one experiment apart."""
UNKNOWN_HEAD = -1
"""Of an experiment whose row cannot be read."""


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ForAMoment:
    """How to wait for a lock for a moment, and go on with the transaction if it was in vain.

    What to say ``before`` and ``after`` the statement that locks, or after it was ``in_vain``; ``held`` is the state of
    the error that says so.
    """

    before: str
    after: str
    in_vain: str
    held: str


@dataclass(frozen=True, slots=True)
class Dialect:
    """Where the two databases differ.

    Where a transaction has the whole store to itself, nobody waits ``for_a_moment``. One that ``reads_on`` outlives a
    page that cannot be read. ``at_length`` is what to say before and after work that takes long between statements.
    """

    parameter: str
    bytes: str
    clustered: str
    lock: str
    lock_if_free: str
    for_a_moment: ForAMoment | None
    reads_on: bool
    at_length: tuple[str, str] | None
    size: str

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


class Tables(OutboxTables):
    """One transaction's hands on the tables; reading and writing as the store's protocols say."""

    def __init__(self, cursor: Cursor, dialect: Dialect, errors: AbstractContextManager[None]) -> None:
        self._cursor = cursor
        self._dialect = dialect
        self._errors = errors

    def prepare(self) -> None:
        """Bring the tables to the present schema, and refuse those of a later version of the library."""
        self._run("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")
        found = self.schema()
        if found == SCHEMA_VERSION:
            return
        for step, migration in enumerate(MIGRATIONS[found or 0 :], start=(found or 0) + 1):
            if found:
                _logger.info("store-migrating", extra={"fields": {"to": step, "of": SCHEMA_VERSION}})
            for statement in self._dialect.steps(migration):
                self._run(statement)
        if found is None:
            self._run("INSERT INTO schema_version (version) VALUES (0)")
        self._run("UPDATE schema_version SET version = ?, library = ?", SCHEMA_VERSION, __version__)
        if found:
            _logger.info("store-migrated", extra={"fields": {"from": found, "to": SCHEMA_VERSION}})

    def check_schema(self) -> None:
        """Refuse tables that are not of the present schema, for those who only read and must change nothing."""
        found = self.schema()
        if found != SCHEMA_VERSION:
            raise CannotRead(
                f"the store is of an earlier version (schema {found or 0}; this library, {__version__}, reads "
                f"{SCHEMA_VERSION}), and who only looks does not change that; use the version that made it, or back it "
                "up with 'linkedbandits backup' and start 'linkedbandits serve' of this version, which upgrades it"
            )

    def schema(self) -> int | None:
        """The schema of the tables, None of new ones; DamagedSave if it is of a later version of the library."""
        rows = self._rows("SELECT * FROM schema_version")
        if rows and rows[0][0] > SCHEMA_VERSION:
            raise DamagedSave(
                f"the store is in format {rows[0][0]}, and this library, {__version__}, reads up to {SCHEMA_VERSION}; "
                f"upgrade linkedbandits to {rows[0][1]} or later to open it",
                reason="newer_save",
            )
        return int(rows[0][0]) if rows else None

    def ping(self) -> None:
        """Nothing, if the tables can be read."""
        self._rows("SELECT version FROM schema_version")

    def size(self) -> int:
        """Bytes that the tables take."""
        return int(self._rows(self._dialect.size)[0][0])

    def count_by_status(self) -> dict[RunStatus, int]:
        """How many experiments run, are paused, are archived."""
        return dict(self._rows(f"SELECT status, COUNT(*) FROM experiments WHERE {_THERE} GROUP BY status"))

    def heads(self) -> list[ExperimentHead]:
        """How far all experiments are, oldest first."""
        rows, lost = self._row_of_each("id, head, status, created_at")
        found = [ExperimentHead(row[0], row[1] if isinstance(row[1], int) else UNKNOWN_HEAD, row[2]) for row in rows]
        return found + [ExperimentHead(experiment, UNKNOWN_HEAD, "running") for experiment in lost]

    def listed(self) -> list[ListedExperiment]:
        """What lists need of all experiments, oldest first."""
        rows, lost = self._row_of_each(_LISTED, "experiments LEFT JOIN listing ON experiment = id")
        read = cache(_tags)  # many experiments have the same
        found = [_listed(row, read) for row in rows]
        return found + [
            ListedExperiment(one, one, "running", 0.0, UNKNOWN_HEAD, plays=0, verdict="", tags=()) for one in lost
        ]

    def records_among(self, experiments: Iterable[str]) -> Iterator[tuple[str, ExperimentRecord | None]]:
        """The records of these experiments, in no order; None for one that cannot be read."""
        wanted = list(experiments)
        for start in range(0, len(wanted), _FEW):
            for experiment, row in self._record_rows(wanted[start : start + _FEW]):
                try:
                    yield experiment, None if row is None else _record(row)
                except DamagedRecord:
                    yield experiment, None

    def _record_rows(self, experiments: Sequence[str]) -> list[tuple[str, Sequence[Any] | None]]:
        """The rows of those that there are; None for one whose row cannot be read."""
        select = f"SELECT {_RECORD} FROM experiments WHERE {_THERE} AND id"
        try:
            rows = self._rows(f"{select} IN ({', '.join('?' * len(experiments))})", *experiments)
            return [(row[0], row) for row in rows]
        except DamagedRecord:
            if not self._dialect.reads_on:
                raise
        found: list[tuple[str, Sequence[Any] | None]] = []
        for experiment in experiments:
            try:
                found += [(experiment, row) for row in self._rows(f"{select} = ?", experiment)]
            except DamagedRecord:
                found.append((experiment, None))
        return found

    def tags(self, experiment: str) -> tuple[str, ...]:
        """The tags of an experiment, in order."""
        rows = self._rows("SELECT tags FROM listing WHERE experiment = ?", experiment)
        return _tags(rows[0][0]) if rows else ()

    def first_tags(self, experiment: str) -> tuple[str, ...]:
        """The tags that it was created with."""
        rows = self._rows("SELECT first_tags FROM listing WHERE experiment = ?", experiment)
        return _tags(rows[0][0]) if rows else ()

    def set_tags(self, experiment: str, tags: Sequence[str]) -> None:
        """Replace the tags."""
        self._run(f"{_UNLISTED} SET tags = excluded.tags", experiment, 0, None, _dump(list(tags)))

    def note_standing(self, experiment: str, plays: int, verdict: str) -> None:
        """Say what lists show of it until it is looked at."""
        noted = "SET plays = excluded.plays, verdict = excluded.verdict"
        self._run(f"{_UNLISTED} {noted}", experiment, plays, verdict, "[]")

    def records(self) -> list[ExperimentRecord]:
        """All experiments whose record can be read, oldest first."""
        return self.records_and_damaged()[0]

    def records_and_damaged(self) -> tuple[list[ExperimentRecord], list[DamagedExperiment]]:
        """The same, and those whose record cannot be read."""
        rows, lost = self._row_of_each(_RECORD)
        sound, damaged = [], [self.damaged(experiment) for experiment in lost]
        for row in rows:
            try:
                sound.append(_record(row))
            except DamagedRecord:
                damaged.append(self.damaged(row[0]))
        return sound, damaged

    def record(self, experiment: str) -> ExperimentRecord:
        """One experiment, UnknownExperiment, or DamagedRecord."""
        return _record(self._row_of(f"SELECT {_RECORD} FROM experiments WHERE id = ? AND {_THERE}", experiment))

    def damaged(self, experiment: str) -> DamagedExperiment:
        """What can still be said of an experiment that cannot be opened."""
        name, created_at, arms = experiment, 0.0, None
        with suppress(DamagedRecord):
            row = self._row_of(f"SELECT name, created_at, setup FROM experiments WHERE id = ? AND {_THERE}", experiment)
            name, created_at = str(row[0]), float(row[1]) if isinstance(row[1], int | float) else 0.0
            with suppress(ValueError, TypeError, KeyError):
                arms = len(json.loads(row[2])["arms"])
        return DamagedExperiment(experiment, name, created_at, arms)

    def _row_of_each(self, columns: str, tables: str = "experiments") -> tuple[list[Sequence[Any]], list[str]]:
        """A row of every experiment, oldest first, and those whose row cannot be read."""
        select = f"SELECT {columns} FROM {tables} WHERE {_THERE}"
        try:
            return self._rows(f"{select} ORDER BY created_at, id"), []
        except DamagedRecord:
            if not self._dialect.reads_on:
                raise
        rows: list[Sequence[Any]] = []
        lost: list[str] = []
        for (experiment,) in self._rows("SELECT id FROM experiments"):  # from the index, which may be whole
            try:
                rows += self._rows(f"{select} AND id = ?", experiment)
            except DamagedRecord:
                lost.append(experiment)
        at = columns.split(", ").index("created_at")
        # One that has no time there comes last, as in what the database sorts.
        return sorted(rows, key=lambda row: (*_time_or_none(row[at]), row[0])), lost

    def log(self, experiment: str) -> dict[str, Any] | None:
        """The log that it was created with."""
        packed = self._row_of(f"SELECT log FROM experiments WHERE id = ? AND {_THERE}", experiment)[0]
        return None if packed is None else unpack_json(packed)

    def head(self, experiment: str) -> int:
        """The number of the experiment's last journal entry, or UnknownExperiment."""
        return int(self._row_of(f"SELECT head FROM experiments WHERE id = ? AND {_THERE}", experiment)[0])

    def lock(self, experiment: str) -> int:
        """The head as it is now, and stays until this transaction ends."""
        lock = self._dialect.lock
        return int(self._row_of(f"SELECT head FROM experiments WHERE id = ? AND {_THERE}{lock}", experiment)[0])

    def try_lock(self, experiment: str, for_a_moment: bool) -> int | None:
        """The same, or None if another transaction has it; this one goes on then."""
        moment = self._dialect.for_a_moment
        if moment is None:
            return self.lock(experiment)
        select = f"SELECT head FROM experiments WHERE id = ? AND {_THERE}{self._dialect.lock_if_free}"
        free = self._rows(select, experiment) if experiment.isprintable() else []
        if free:
            return int(free[0][0])
        self.head(experiment)  # is there one at all?
        return self._wait_for_a_moment(lambda: self.lock(experiment), moment) if for_a_moment else None

    def _wait_for_a_moment(self, do: Callable[[], T], moment: ForAMoment) -> T | None:
        """Do something that may have to wait for a lock; None if that was in vain, and nothing is done."""
        self._run(moment.before)
        try:
            done = do()
        except StoreUnavailable as error:
            if getattr(error.__cause__, "sqlstate", None) != moment.held:
                raise
            self._run(moment.in_vain)
            return None
        self._run(moment.after)
        return done

    @contextmanager
    def at_length(self) -> Iterator[None]:
        """Between the statements inside, much is computed: the transaction is not to be taken for one that hangs."""
        if self._dialect.at_length is None:
            yield
            return
        before, after = self._dialect.at_length
        self._run(before)
        yield
        self._run(after)  # not after an error: the transaction ends then, and what was said for it

    def write_in_passing(self) -> None:
        """Write a row and remove it: nothing changes, but it has to get onto the disk. Nobody else knows the row."""
        passing = token_hex(16)
        self._run("INSERT INTO servers (id, url, secret, seen_at) VALUES (?, '', '', 0)", passing)
        self._run("DELETE FROM servers WHERE id = ?", passing)

    def created_with(self, key: str) -> str | None:
        """The experiment that was created with this key."""
        rows = self._rows("SELECT id FROM experiments WHERE creation_key = ?", key)
        return str(rows[0][0]) if rows else None

    def create(
        self,
        record: ExperimentRecord,
        log: dict[str, Any] | None = None,
        key: str | None = None,
        tags: Sequence[str] = (),
    ) -> bool:
        """A new experiment, with its tags and the log that it begins with; False if another one has its key."""
        self._run(
            "INSERT INTO experiments (id, name, setup, status, created_at, head, written_by, log, creation_key) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (creation_key) DO NOTHING",
            record.id,
            record.name,
            record.setup.to_json(),
            record.status,
            record.created_at,
            record.head,
            record.written_by,
            None if log is None else pack_json(log),
            key,
        )
        if self._cursor.rowcount < 1:
            return False
        self._run(
            "INSERT INTO listing (experiment, plays, verdict, tags, first_tags) VALUES (?, 0, '', ?, ?)",
            record.id,
            *[_dump(list(tags))] * 2,
        )
        return True

    def hide(self, experiment: str) -> None:
        """As if it were not there any more."""
        self._run("UPDATE experiments SET status = 'deleted', log = NULL, creation_key = NULL WHERE id = ?", experiment)

    def next_hidden(self, but: Collection[str] = ()) -> str | None:
        """One that is hidden, locked, but none of these; nobody else is waited for."""
        others = f" AND id NOT IN ({', '.join('?' * len(but))})" if but else ""
        select = f"SELECT id FROM experiments WHERE status = 'deleted'{others} ORDER BY id LIMIT 1"
        try:
            rows = self._rows(f"{select}{self._dialect.lock_if_free}", *but)
        except DamagedRecord:
            if not self._dialect.reads_on:
                raise
            return next(self._hidden_among_damaged(but), None)
        return str(rows[0][0]) if rows else None

    def _hidden_among_damaged(self, but: Collection[str]) -> Iterator[str]:
        for (experiment,) in self._rows("SELECT id FROM experiments"):  # from the index, which may be whole
            with suppress(DamagedRecord):
                select = "SELECT id FROM experiments WHERE status = 'deleted' AND id = ?"
                if experiment not in but and self._rows(select, experiment):
                    yield str(experiment)

    def erase(self, experiment: str, most: int) -> int | None:
        """Remove up to ``most`` rows of one that is hidden. How many? None if somebody holds some of them."""
        moment = self._dialect.for_a_moment
        if moment is None:
            return self._erase(experiment, most)
        return self._wait_for_a_moment(lambda: self._erase(experiment, most), moment)

    def _erase(self, hidden: str, most: int) -> int:
        for table, key in PARTS.items():
            self._run(
                f"DELETE FROM {table} WHERE experiment = ? AND {key} IN "
                f"(SELECT {key} FROM {table} WHERE experiment = ? ORDER BY {key} LIMIT {int(most)})",
                hidden,
                hidden,
            )
            if self._cursor.rowcount > 0:
                return self._cursor.rowcount
        self._run("DELETE FROM experiments WHERE id = ?", hidden)
        return 1

    def name_and_status(self, experiment: str) -> tuple[str, RunStatus]:
        """Of an experiment that may be damaged, or UnknownExperiment."""
        row = self._row_of(f"SELECT name, status FROM experiments WHERE id = ? AND {_THERE}", experiment)
        return row[0], row[1]

    def going_on_from(self, experiment: str) -> list[str]:
        """The experiments that go on from this one."""
        rows = self._rows(f"SELECT id, setup FROM experiments WHERE {_THERE} AND setup LIKE ?", f"%{experiment}%")
        return [found for found, setup in rows if _goes_on_from(setup) == experiment]

    def archived_at(self, experiment: str) -> float | None:
        """When it was archived; None if it is not."""
        seq, found = self.head(experiment) + 1, None
        while True:  # from the end: after it, there is hardly anything
            rows = self._rows(
                "SELECT seq, at, kind, body FROM journal WHERE experiment = ? AND seq < ? "
                f"ORDER BY seq DESC LIMIT {_FEW}",
                experiment,
                seq,
            )
            for entry in map(_entry, rows):
                if entry.kind == "status" and entry.body["to"] != "archived":
                    return found
                if entry.kind == "status":
                    found = entry.at
                elif entry.kind != "upgrade":
                    return found
                seq = entry.seq
            if not rows:
                return found

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

    def curve(self, experiment: str) -> list[CurvePoint]:
        """What was known of the arms as time went on, in order."""
        rows = self._rows("SELECT seq, at, plays, body FROM curves WHERE experiment = ? ORDER BY seq", experiment)
        return [CurvePoint(seq, at, plays, unpack_json(body)) for seq, at, plays, body in rows]

    def add_curve(self, experiment: str, points: Sequence[CurvePoint]) -> None:
        """New points, behind all that are there."""
        self._run_many(
            "INSERT INTO curves (experiment, seq, at, plays, body) VALUES (?, ?, ?, ?, ?)",
            [(experiment, point.seq, point.at, point.plays, pack_json(point.body)) for point in points],
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
        rows = self._rows(
            "SELECT id, name, role, digest, created_at, NULL AS scope FROM tokens UNION ALL "
            "SELECT id, name, role, digest, created_at, scope FROM limited_tokens ORDER BY created_at, id"
        )
        return [_token(row) for row in rows]

    def lock_limited_tokens(self) -> list[TokenRecord]:
        """The limited tokens, oldest first, as they are now and stay until this transaction ends."""
        rows = self._rows(
            "SELECT id, name, role, digest, created_at, scope FROM limited_tokens "
            f"ORDER BY created_at, id{self._dialect.lock}"
        )
        return [_token(row) for row in rows]

    def ever_had_tokens(self) -> bool:
        """Was a token ever made, revoked or not?"""
        tables = ("tokens", "limited_tokens", "revoked_tokens")
        return any(self._rows(f"SELECT id FROM {table} LIMIT 1") for table in tables)

    def add_token(self, token: TokenRecord) -> None:
        """A new token."""
        known = [token.id, token.name, token.role, token.digest, token.created_at]
        scope = token.scope.to_text()
        if scope is None:
            self._run("INSERT INTO tokens (id, name, role, digest, created_at) VALUES (?, ?, ?, ?, ?)", *known)
        else:
            self._run(
                "INSERT INTO limited_tokens (id, name, role, digest, created_at, scope) VALUES (?, ?, ?, ?, ?, ?)",
                *known,
                scope,
            )

    def widen_token(self, token: TokenRecord, scope: Scope) -> None:
        """Let a limited token see more."""
        self._run("UPDATE limited_tokens SET scope = ? WHERE id = ?", scope.to_text(), token.id)

    def remove_token(self, token_id: str) -> bool:
        """Was there one to remove?"""
        removed = 0
        for table in ("tokens", "limited_tokens"):
            self._run(f"INSERT INTO revoked_tokens (id) SELECT id FROM {table} WHERE id = ?", token_id)
            self._run(f"DELETE FROM {table} WHERE id = ?", token_id)
            removed += self._cursor.rowcount
        return removed > 0

    def add_audit(self, entry: AuditEntry) -> None:
        """One more entry of the audit."""
        self._run(
            "INSERT INTO audit (id, at, action, actor, subject, details) VALUES (?, ?, ?, ?, ?, ?)",
            entry.id,
            entry.at,
            entry.action,
            _dump(entry.by.to_json()),
            entry.subject,
            _dump(entry.details),
        )

    def audit(
        self,
        limit: int,
        before: str | None = None,
        *,
        action: Action | None = None,
        subject: str | None = None,
        since: float = 0.0,
    ) -> list[AuditEntry]:
        """The newest entries first, those older than the one with the identifier ``before``."""
        wanted = {"id < ?": before, "action = ?": action, "subject = ?": subject, "at >= ?": since}
        given = {clause: value for clause, value in wanted.items() if value is not None}
        rows = self._rows(
            f"SELECT id, at, action, actor, subject, details FROM audit WHERE {' AND '.join(given)} "
            f"ORDER BY id DESC LIMIT {int(limit)}",
            *given.values(),
        )
        return [
            AuditEntry(number, at, done, Actor(**json.loads(actor)), about, json.loads(details))
            for number, at, done, actor, about, details in rows
        ]

    def forget_audit(self, before: float) -> int:
        """Remove the entries from before a time. How many?"""
        self._run("DELETE FROM audit WHERE at < ?", before)
        return self._cursor.rowcount

    def forget_refusals(self, most: int) -> None:
        """Of refused sign-ins keep the last ``most`` entries, or some more: not one at a time."""
        refused = "action = 'sign-in-refused'"
        if self._rows(f"SELECT COUNT(*) FROM audit WHERE {refused}")[0][0] <= most + most // 10:
            return
        self._run(
            f"DELETE FROM audit WHERE {refused} AND id NOT IN "
            f"(SELECT id FROM audit WHERE {refused} ORDER BY id DESC LIMIT {int(most)})"
        )

    def _row_of(self, statement: str, experiment: str) -> Sequence[Any]:
        # Not every database can even look for a text with a zero byte or half a character in it.
        rows: list[Sequence[Any]] = self._rows(statement, experiment) if experiment.isprintable() else []
        if not rows:
            raise UnknownExperiment(f"there is no experiment {experiment!r}; list those that are, or create it")
        return rows[0]

    def _run(self, statement: str, *parameters: object) -> None:
        with self._errors:
            self._cursor.execute(self._dialect.say(statement), parameters)

    def _changed(self, statement: str, *parameters: object) -> int:
        self._run(statement, *parameters)
        return self._cursor.rowcount

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


def _goes_on_from(setup: str) -> str | None:
    try:
        before: dict[str, Any] | None = json.loads(setup).get("before")
        return None if before is None else str(before["experiment"])
    except (ValueError, TypeError, KeyError, AttributeError):  # damaged
        return None


def _time_or_none(found: object) -> tuple[bool, float]:
    return (False, float(found)) if isinstance(found, int | float) else (True, 0.0)


def _record(row: Sequence[Any]) -> ExperimentRecord:
    experiment, name, setup, status, created_at, head, written_by = row
    try:
        read = Setup.from_json(setup)
        if status not in get_args(RunStatus) or not isinstance(head, int) or not isinstance(created_at, int | float):
            raise ValueError("no status, number or time")
    except Exception as error:  # whatever is wrong with it: only what was changed from outside cannot be read
        raise DamagedRecord(damaged_sentence(experiment)) from error
    return ExperimentRecord(experiment, str(name), read, status, created_at, head, written_by)


def _listed(row: Sequence[Any], read_tags: Callable[[str], tuple[str, ...]]) -> ListedExperiment:
    """With what can be read of it: one that is damaged must not hide the others."""
    experiment, name, status, created_at, head, plays, verdict, tags = row
    words: tuple[str, ...] = ()
    with suppress(ValueError, TypeError):
        words = read_tags(tags)
    return ListedExperiment(
        experiment,
        str(name),
        status,
        created_at if isinstance(created_at, int | float) else 0.0,
        head if isinstance(head, int) else UNKNOWN_HEAD,
        plays if isinstance(plays, int) else 0,
        verdict,
        words,
    )


def _token(row: Sequence[Any]) -> TokenRecord:
    number, name, role, digest, created_at, scope = row
    return TokenRecord(number, name, role, digest, created_at, Scope.from_text(scope))


def _tags(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


def _entry(row: Sequence[Any]) -> Entry:
    seq, at, kind, body = row
    return Entry(seq, at, kind, json.loads(body))
