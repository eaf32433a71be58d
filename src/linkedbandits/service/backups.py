"""Backups: a whole store in one SQLite file, taken while services work, and brought back into either kind of store.

A copy of a SQLite store's file is not a backup: what was committed lately is in the write-ahead log beside it. Here the
file is written by SQLite itself, or from one snapshot of a PostgreSQL database, and has all that was acknowledged
before. It is of the schema that the store had, so that a backup can be taken just before an upgrade; to restore it
brings it to the present one. Which servers run, with the secrets they show each other, is of no use later and left out.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import sys
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from linkedbandits.durable_files import put_in_place
from linkedbandits.errors import CannotRead, CannotWrite, DamagedSave, InvalidParameter, StoreUnavailable, why_not
from linkedbandits.service import sqlite_store
from linkedbandits.service.audit import Actor, AuditEntry, new_entry
from linkedbandits.service.migrations import MIGRATIONS, SCHEMA_VERSION
from linkedbandits.service.postgres_store import PostgresStore, connected
from linkedbandits.service.sqlite_store import SqliteStore
from linkedbandits.service.store import file_of
from linkedbandits.version import __version__

PAGES_A_STEP = 2_000
"""Pages of SQLite that are copied between two signs of progress."""
ROWS_A_STEP = 2_000
FIRST = ("schema_version", "experiments")
"""Tables that the rows of others refer to."""
OF_RUNNING_SERVERS = ("servers", "owners")
"""Tables that are about this moment."""
SECONDS_TO_BE_GONE = 10.0
"""A server that gave a sign of life since then may still be there."""
_IN_USE = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_SHARED_FIRST, _SHARED_SIZE = 0x40000002, 510  # of the file format of SQLite

Advance = Callable[[str, int], None]
"""Told what is being done, and how much more of it, of a total of ``WHOLE``, is done."""
WHOLE = 1_000


@dataclass(frozen=True, slots=True)
class Contents:
    """What is in a backup: experiments by state, how many rows of which table, until when, and how large it is."""

    schema: int
    experiments: dict[str, int]
    journal_entries: int
    tokens: int
    last_entry_at: float | None
    bytes: int

    def to_json(self) -> dict[str, Any]:
        """For scripts."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Restored:
    """What was brought back, and where that is kept which was there before, if anything was."""

    contents: Contents
    kept: Path | None


def back_up(url: str, target: Path, *, overwrite: bool = False, advance: Advance = lambda *_: None) -> Contents:
    """Write all of a store into the file ``target``, which is complete or not there at all, and say what is in it.

    All that was acknowledged before the call is in it. CannotRead if there is no store, CannotWrite if the file cannot
    be written or is there already.
    """
    if os.path.lexists(target) and not overwrite:  # False, too, where the folder does not let us see
        raise CannotWrite(f"{target} is there already; name another file, or add --overwrite")
    source = file_of(url)
    with _written_beside(target) as beside:
        if source is None:
            _copy_from_postgres(url, beside, _part(advance, 0.8))
        else:
            _copy_from_sqlite(source, beside, _part(advance, 0.8))
        advance("checking", 0)
        found = _examine(beside, "the copy" if source is None else f"the store {source}", _LOST)
        advance("checking", WHOLE - int(0.8 * WHOLE))
        _put(beside, target)
    return found


def restore(
    backup: Path,
    url: str,
    by: Actor,
    now: float,
    *,
    replace: bool = False,
    tokens: bool = True,
    advance: Advance = lambda *_: None,
) -> Restored:
    """Bring a backup back into an empty store, which is made where there is none, and say what was brought back.

    A store that is not empty is refused, unless it is to be replaced. What was in a file is then kept beside it, also
    what cannot be read. Without ``tokens`` those of the backup are revoked. ``by`` is who restores it, for the audit.
    """
    examine(backup)
    entry = new_entry("restore", by, now, backup=backup.name)
    target = file_of(url)
    kept = None
    if target is None:
        with TemporaryDirectory(prefix="linkedbandits-") as folder:
            staged = Path(folder) / "staged.sqlite3"
            _make(staged)
            _stage(backup, staged, entry, tokens, lambda *_: None)
            _into_postgres(staged, url, replace, advance)
    else:
        with _written_beside(target) as staged:
            _stage(backup, staged, entry, tokens, advance)
            kept = _into_file(staged, target, replace)
    return Restored(_contents_of_store(url), kept)


def _stage(backup: Path, staged: Path, entry: AuditEntry, tokens: bool, advance: Advance) -> None:
    """A copy of the backup in the present schema."""
    _copy_from_sqlite(backup, staged, advance)
    with closing(SqliteStore(staged)) as store, store.writing() as writing:
        for token in () if tokens else writing.tokens():
            writing.remove_token(token.id)  # that there were some is not forgotten: the service stays closed
        writing.add_audit(entry)
    _in_one_file(staged)


def examine(backup: Path) -> Contents:
    """What is in a backup; CannotRead if it is none or damaged, DamagedSave if it is of a later version."""
    return _examine(backup, str(backup), "use another backup")


_LOST = (
    "no backup was written. Bring an earlier one back with 'linkedbandits restore FILE --replace', which keeps what is "
    "there"
)


def _examine(backup: Path, called: str, remedy: str) -> Contents:
    with _opened(backup) as file:
        schema, library = _schema_of(file, backup)
        if schema > SCHEMA_VERSION:
            raise DamagedSave(
                f"{called} is in format {schema}, and this library, {__version__}, reads up to {SCHEMA_VERSION}; "
                f"upgrade linkedbandits to {library} or later to restore it",
                reason="newer_save",
            )
        try:
            (verdict,) = file.execute("PRAGMA integrity_check(1)").fetchone()
            strays = file.execute("PRAGMA foreign_key_check").fetchone()
        except sqlite3.DatabaseError as error:
            raise CannotRead(f"{called} is damaged ({error}); {remedy}") from error
        if verdict != "ok" or strays is not None:
            found = " ".join(str(verdict if verdict != "ok" else strays).split())
            raise CannotRead(f"{called} is damaged ({found}); {remedy}")
        return _contents(file, schema, backup)


def _contents_of_store(url: str) -> Contents:
    """Of a store that is up to date."""
    path = file_of(url)
    if path is not None:
        with _opened(path) as file:
            return _contents(file, _schema_of(file, path)[0], path)
    with connected(url, "READ ONLY") as connection:
        tables = ("limited_tokens",)
        return _counted(lambda statement: connection.execute(statement).fetchall(), tables, SCHEMA_VERSION, 0)


def _contents(file: sqlite3.Connection, schema: int, path: Path) -> Contents:
    with _reading(path):
        size = path.stat().st_size
        return _counted(lambda statement: file.execute(statement).fetchall(), _tables_of(file), schema, size)


def _counted(rows: Callable[[str], list[Any]], tables: Container[str], schema: int, size: int) -> Contents:
    tokens = rows("SELECT COUNT(*) FROM tokens")[0][0]
    if "limited_tokens" in tables:  # not in older ones
        tokens += rows("SELECT COUNT(*) FROM limited_tokens")[0][0]
    states = dict(rows("SELECT status, COUNT(*) FROM experiments WHERE status <> 'deleted' GROUP BY status"))
    entries, last = rows("SELECT COUNT(*), MAX(at) FROM journal")[0]
    return Contents(schema, states, entries, tokens, last, size)


# ---- SQLite


def _copy_from_sqlite(source: Path, target: Path, advance: Advance) -> None:
    with _opened(source) as file, closing(sqlite3.connect(target)) as copy:
        _schema_of(file, source)
        done = 0

        def progress(_: int, remaining: int, total: int) -> None:
            nonlocal done
            now = WHOLE * (total - remaining) // max(1, total)
            advance("copying", now - done)
            done = now

        with _reading(source):
            # One snapshot from beginning to end: a copy by pages alone would begin anew after every commit of others.
            file.execute("BEGIN")
            file.execute("SELECT * FROM schema_version").fetchall()
            file.backup(copy, pages=PAGES_A_STEP, progress=progress)
            file.execute("ROLLBACK")
    _in_one_file(target)


def _in_one_file(path: Path) -> None:
    """No write-ahead log beside it, and no trace of running servers."""
    with closing(sqlite3.connect(path, isolation_level=None)) as copy:
        try:
            copy.execute("PRAGMA journal_mode = DELETE")
            copy.execute("PRAGMA secure_delete = ON")
            for table in OF_RUNNING_SERVERS:
                if copy.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
                    copy.execute(f"DELETE FROM {table}")
        except sqlite3.DatabaseError as error:
            if _plain_code(error) not in _DAMAGE:  # that is found when it is examined
                raise _cannot_read(path, error) from error


def _into_file(staged: Path, target: Path, replace: bool) -> Path | None:
    """Where that is kept which was there before."""
    if not target.exists():
        log = target.with_name(f"{target.name}-wal")
        if log.exists():  # SQLite would take it for a part of the file that comes
            raise InvalidParameter(f"{log} is there without {target.name}; is that all right? Move it away first")
        _put(staged, target)
        return None
    kept = _free_name_beside(target)
    owner = target.stat()
    if os.geteuid() == 0:  # who restores it for a service may be somebody else
        os.chown(staged, owner.st_uid, owner.st_gid)
    try:
        with _held_alone(target) as empty:
            if not empty and not replace:
                raise InvalidParameter(_not_empty(str(target)))
            if not empty:
                os.link(target, kept)
            _put(staged, target)
            return None if empty else kept
    except _Unreadable as error:
        if not replace:
            raise CannotRead(
                f"{target} is damaged, or no store ({error.__cause__}); --replace moves it aside"
            ) from error
    _refuse_if_locked(target)
    for end in ("-wal", "-shm", ""):  # what could not be read might yet be mended with all of them
        with suppress(FileNotFoundError):
            target.with_name(f"{target.name}{end}").rename(kept.with_name(f"{kept.name}{end}"))
    _put(staged, target)
    return kept


def _free_name_beside(target: Path) -> Path:
    """Where a store that is replaced is kept: nothing that was kept before is lost for it."""
    names = (f"{target.name}.before-restore{f'-{number}' if number > 1 else ''}" for number in count(1))
    return next(path for path in map(target.with_name, names) if not os.path.lexists(path))


class _Unreadable(CannotRead):
    """A file that is damaged, or no SQLite file."""


@contextmanager
def _held_alone(target: Path) -> Iterator[bool]:
    """Within this nobody else has the store in use; is it empty? StoreUnavailable if somebody has."""
    with _opened(target) as file:
        try:
            tables = _tables_of(file)
            if tables and "experiments" not in tables:
                raise InvalidParameter(f"{target} is there and is no store; name another --store, or move it away")
            empty = _is_empty(tables, lambda statement: file.execute(statement).fetchall())
            # To leave the write-ahead log takes the file for oneself, and empties the log: else what is in it would be
            # taken for a part of the file that comes in its place.
            file.execute("PRAGMA busy_timeout = 0")
            (mode,) = file.execute("PRAGMA journal_mode = DELETE").fetchone()
            file.execute("BEGIN EXCLUSIVE")
        except sqlite3.DatabaseError as error:
            raise (
                _in_use(target, str(error)) if _plain_code(error) in _IN_USE else _cannot_read(target, error)
            ) from error
        if mode != "delete":
            raise _in_use(target, "its log cannot be closed")
        yield empty


def _in_use(target: Path, why: str) -> StoreUnavailable:
    return StoreUnavailable(f"{target} is in use ({why}); stop the services that use it first")


def _refuse_if_locked(target: Path) -> None:
    """Of a file that SQLite cannot read: has somebody it open? Whoever has, keeps a lock on these bytes of it."""
    if sys.platform == "win32":
        return  # nobody can move a file there that somebody has open
    import fcntl

    with target.open("r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, _SHARED_SIZE, _SHARED_FIRST)
        except OSError as error:
            raise _in_use(target, "somebody has it open") from error


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    if not os.path.isfile(path):  # noqa: PTH113 - the other raises where it may not look
        raise CannotRead(f"there is no file {path}, or it may not be read; name one with a store or a backup in it")
    with _reading(path):
        file = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=sqlite_store.WAIT_SECONDS
        )
    with closing(file):
        yield file


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _cannot_read(path, error) from error


def _cannot_read(path: Path, error: sqlite3.DatabaseError) -> CannotRead | CannotWrite:
    code = _plain_code(error)
    if code == sqlite3.SQLITE_FULL:
        return CannotWrite(f"{path} cannot be copied ({error}); make room for it")
    if code in _DAMAGE:
        return _Unreadable(f"{path} is damaged, or no store or backup ({error}); name another one")
    return CannotRead(f"{path} cannot be read ({error}); is it a store or a backup, and whole?")


def _plain_code(error: sqlite3.Error) -> int | None:
    """Without what it says in more detail; None where it is the driver's own."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _has_tables(file: sqlite3.Connection, path: Path) -> bool:
    with _reading(path):
        return bool(file.execute("SELECT 1 FROM sqlite_master WHERE name = 'experiments'").fetchall())


def _schema_of(file: sqlite3.Connection, path: Path) -> tuple[int, str]:
    """The schema of a store and the version that made it so."""
    if not _has_tables(file, path):
        raise CannotRead(
            f"{path} has no experiments in it; a store's file that was copied by hand is like this, for all is in the "
            "log beside it: use 'linkedbandits backup'"
        )
    with _reading(path):
        return _version_in(file.execute("SELECT * FROM schema_version").fetchall())


def _version_in(rows: Sequence[Any]) -> tuple[int, str]:
    return (rows[0][0], rows[0][1] if len(rows[0]) > 1 else "") if rows else (1, "")


# ---- PostgreSQL


def _copy_from_postgres(url: str, target: Path, advance: Advance) -> None:
    with (
        connected(url, "ISOLATION LEVEL REPEATABLE READ, READ ONLY") as connection,
        closing(sqlite3.connect(target, isolation_level=None)) as copy,
    ):
        if connection.execute("SELECT to_regclass('experiments')").fetchone() == (None,):
            raise CannotRead("there are no experiments in this database; is it the one that the service uses?")
        schema, library = _version_in(connection.execute("SELECT * FROM schema_version").fetchall())
        if schema > SCHEMA_VERSION:
            raise DamagedSave(
                f"the store is in format {schema}, and this library, {__version__}, reads up to {SCHEMA_VERSION}; "
                f"upgrade linkedbandits to {library} or later to back it up",
                reason="newer_save",
            )
        copy.execute("PRAGMA synchronous = OFF")  # it is synced as a whole in the end
        copy.execute("BEGIN")
        copy.execute("CREATE TABLE schema_version (version INTEGER NOT NULL)")
        for migration in MIGRATIONS[:schema]:
            for statement in sqlite_store.DIALECT.steps(migration):
                copy.execute(statement)
        with _reading(target):
            tables = _tables_of(copy)
            for number, (table, columns) in enumerate(tables.items()):
                places = ", ".join("?" * len(columns))
                names = ", ".join(columns)
                with connection.cursor(name="backup") as cursor:
                    cursor.itersize = ROWS_A_STEP
                    cursor.execute(f"SELECT {names} FROM {table}")
                    while rows := cursor.fetchmany(ROWS_A_STEP):
                        copy.executemany(f"INSERT INTO {table} ({names}) VALUES ({places})", rows)
                advance(table, WHOLE * (number + 1) // len(tables) - WHOLE * number // len(tables))
            copy.execute("COMMIT")


def _into_postgres(staged: Path, url: str, replace: bool, advance: Advance) -> None:
    _refuse_early(url, replace)
    PostgresStore(url).close()  # makes the tables, or brings them to the present schema
    with _opened(staged) as file, connected(url, "READ WRITE") as connection:
        tables = _tables_of(file)
        every_table = ", ".join((*tables, *OF_RUNNING_SERVERS))
        connection.execute(f"LOCK TABLE {every_table} IN ACCESS EXCLUSIVE MODE")
        _refuse_others(connection)  # none can come meanwhile
        if not replace and not _is_empty(tables, lambda statement: connection.execute(statement).fetchall()):
            raise InvalidParameter(_not_empty("the database"))
        connection.execute(f"TRUNCATE {every_table}")  # also an empty store says of which version it is
        for number, (table, columns) in enumerate(tables.items()):
            names = ", ".join(columns)
            with connection.cursor().copy(f"COPY {table} ({names}) FROM STDIN") as copying:
                for row in file.execute(f"SELECT {names} FROM {table}"):
                    copying.write_row(row)
            advance(table, WHOLE * (number + 1) // len(tables) - WHOLE * number // len(tables))


def _refuse_early(url: str, replace: bool) -> None:
    """What is refused is refused before a store that is there is brought to another schema."""
    with connected(url, "READ WRITE") as connection:
        there = connection.execute("SELECT to_regclass('schema_version')").fetchone()
        if there != (None,):
            _refuse_others(connection)
            if not replace and connection.execute("SELECT EXISTS (SELECT FROM experiments)").fetchone() != (False,):
                raise InvalidParameter(_not_empty("the database"))


def _refuse_others(connection: Any) -> None:
    """Services have experiments in memory, and would write on to what is not there any more."""
    if connection.execute("SELECT to_regclass('servers')").fetchone() == (None,):  # an earlier schema has none
        return
    # One that has lost its connections for a moment, as when PostgreSQL was restarted, comes back.
    seen = connection.execute(
        f"SELECT url FROM servers WHERE seen_at > EXTRACT(EPOCH FROM clock_timestamp()) - {SECONDS_TO_BE_GONE}"
    ).fetchall()
    if seen:
        raise StoreUnavailable(
            f"the service at {', '.join(url for (url,) in seen)} used the database a moment ago; stop the services "
            f"that use it first. Of one that was killed that is known after {SECONDS_TO_BE_GONE:g} s"
        )


# ---- both


def _tables_of(file: sqlite3.Connection) -> dict[str, list[str]]:
    """The tables of a store with their columns, those first that others refer to."""
    names = [name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    kept = [name for name in names if not name.startswith("sqlite_") and name not in OF_RUNNING_SERVERS]
    ordered = sorted(kept, key=lambda name: name not in FIRST)
    return {name: [row[1] for row in file.execute(f"PRAGMA table_info({name})")] for name in ordered}


def _is_empty(tables: Container[str], rows: Callable[[str], list[Any]]) -> bool:
    """``tables`` are those there are."""
    telling = [table for table in ("experiments", "tokens", "limited_tokens", "webhooks", "audit") if table in tables]
    return not any(rows(f"SELECT 1 FROM {table} LIMIT 1") for table in telling)


def _not_empty(where: str) -> str:
    return (
        f"{where} is not empty: experiments, tokens, webhooks or an audit are in it; restore into another --store, or "
        "add --replace to lose what is there"
    )


def _part(advance: Advance, share: float) -> Advance:
    """Progress of a part of the whole."""
    seen = told = 0

    def advance_by_a_part(what: str, amount: int) -> None:
        nonlocal seen, told
        seen += amount
        now = int(share * seen)
        advance(what, now - told)
        told = now

    return advance_by_a_part


@contextmanager
def _written_beside(target: Path) -> Iterator[Path]:
    """A file in the same folder, for its owner alone, to be renamed when it is complete."""
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    _make(beside)
    with _removed_in_the_end(beside):
        yield beside


def _make(path: Path) -> None:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise _cannot_write(path.parent, error) from error


@contextmanager
def _removed_in_the_end(path: Path) -> Iterator[None]:
    try:
        yield
    finally:
        for left in (path, *(path.with_name(path.name + end) for end in ("-journal", "-wal", "-shm"))):
            with suppress(FileNotFoundError):
                left.unlink()


def _put(written: Path, target: Path) -> None:
    try:
        put_in_place(written, target)
    except OSError as error:
        raise _cannot_write(target, error) from error


def _cannot_write(place: Path, error: OSError) -> CannotWrite:
    return CannotWrite(f"{place} cannot be written to: {why_not(error)}; name a file elsewhere")
