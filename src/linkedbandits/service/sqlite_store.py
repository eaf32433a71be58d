"""The store in a file: SQLite with a write-ahead log, every commit on the disk before it is reported.

Several processes may use one file at once. A transaction that writes locks the whole file from its beginning, and a
desk reads what others have written before it goes on, so they take turns. For many processes PostgreSQL is better.
"""

from __future__ import annotations

import logging
import os
import shlex
import shutil
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from linkedbandits.errors import InvalidParameter, StoreUnavailable
from linkedbandits.service.driver_errors import DENIED, FULL, HELD, DriverErrors
from linkedbandits.service.records import Room
from linkedbandits.service.store_address import HOW_TO_MAKE_ONE
from linkedbandits.service.store_errors import DamagedRecord
from linkedbandits.service.tables import Dialect, Tables

DIALECT = Dialect(
    parameter="?",
    bytes="BLOB",
    clustered="WITHOUT ROWID",
    lock="",
    lock_if_free="",
    for_a_moment=None,
    reads_on=True,
    at_length=None,
    size="SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
)
WAIT_SECONDS = 10.0
"""How long to wait for another process that writes."""
LEAST_ROOM = 16_000_000
"""Bytes: room for the write-ahead log, for what it brings into the file, and for somebody to notice."""
_TO_WRITE = "BEGIN IMMEDIATE"
_REASONS = {
    sqlite3.SQLITE_BUSY: HELD,
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_READONLY: DENIED,
    sqlite3.SQLITE_PERM: DENIED,
    sqlite3.SQLITE_IOERR: "its disk cannot be written; is it full, or failing?",
    sqlite3.SQLITE_CANTOPEN: "its file cannot be opened; is it there, and may it be written?",
}

_logger = logging.getLogger("linkedbandits.service")


class SqliteStore:
    """See :class:`linkedbandits.service.store.Store`."""

    def __init__(self, path: Path, create: bool = True, *, as_it_is: bool = False) -> None:
        """Open the file, and make it and its tables where they are not there yet; or refuse, without ``create``.

        A file that is opened ``as_it_is`` has to have them, in the present schema: for those who only read, and lock
        nothing for that.
        """
        self._path = path.absolute()
        mistakes = (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.DataError)
        self._errors = DriverErrors(sqlite3.Error, mistakes, self._explain)
        self._writer_lock = threading.Lock()
        self._readers_lock = threading.Lock()
        self._idle_readers: list[sqlite3.Connection] = []
        if create and not as_it_is:
            self._make_private()
        elif not self._is_store():
            raise InvalidParameter(f"there is no store in {self._path}; {HOW_TO_MAKE_ONE}")
        self._warn_if_others_can_read()
        self._writer: sqlite3.Connection | None = self._connect("rwc" if create and not as_it_is else "rw")
        self._file = self._file_there()
        try:
            if as_it_is:
                with self.reading() as tables:
                    tables.check_schema()
            else:
                with self.writing() as tables:
                    tables.prepare()
        except BaseException:
            self.close()  # a caller who gets an error has no store to close
            raise

    @property
    def address(self) -> str:
        """What another process opens it by."""
        return f"sqlite:///{self._path}"

    @contextmanager
    def writing(self) -> Iterator[Tables]:
        """One transaction at a time, from this process and from all others."""
        with self._writer_lock:
            if self._writer is None:
                raise StoreUnavailable(f"the store {self._path} was closed; open it again")
            with self._transaction(self._writer, _TO_WRITE) as tables:
                self._check_file()
                yield tables

    @contextmanager
    def reading(self, at_the_desk: bool = False) -> Iterator[Tables]:
        """What was committed before; those who write need not wait, nor be waited for."""
        with self._readers_lock:
            if self._writer is None:
                raise StoreUnavailable(f"the store {self._path} was closed; open it again")
            self._check_file()
            connection = self._idle_readers.pop() if self._idle_readers else None
        connection = connection or self._connect("rw")
        try:
            with self._transaction(connection, "BEGIN") as tables:
                yield tables
        finally:
            with self._readers_lock:
                if self._writer is None:
                    connection.close()
                else:
                    self._idle_readers.append(connection)

    def probe(self) -> None:
        """Write something durable that changes nothing. It may fit where nothing else would: so there must be room."""
        with self.writing() as tables:
            tables.write_in_passing()
        room = self.room()
        if room is not None and room.free < LEAST_ROOM:
            raise StoreUnavailable(
                f"the disk of the store {self._path} has {room.free} bytes left; make room on it", FULL
            )

    def compact(self) -> tuple[int, int]:
        """Make the file as small as what is in it; its size before and after. Those who write wait meanwhile."""
        with self._writer_lock, self._errors:
            if self._writer is None:
                raise StoreUnavailable(f"the store {self._path} was closed; open it again")
            self._check_file()
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            before = self._path.stat().st_size
            self._writer.execute("VACUUM")
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return before, self._path.stat().st_size

    def room(self) -> Room | None:
        """Of the disk that the file is on."""
        try:
            found = shutil.disk_usage(self._path.parent)
        except OSError:
            return None
        return Room(found.free, found.total)

    def close(self) -> None:
        """Let go of the file."""
        with self._writer_lock, self._readers_lock:
            for connection in (*self._idle_readers, *([self._writer] if self._writer else [])):
                connection.close()
            self._idle_readers.clear()
            self._writer = None

    @contextmanager
    def _transaction(self, connection: sqlite3.Connection, begin: str) -> Iterator[Tables]:
        with self._errors:
            connection.execute(begin)
        try:
            yield Tables(connection.cursor(), DIALECT, self._errors)
            with self._errors:
                # After a page that could not be read SQLite does not commit, though there is nothing to write.
                connection.execute("COMMIT" if begin == _TO_WRITE else "ROLLBACK")
        except BaseException:
            if connection.in_transaction:
                with self._errors:
                    connection.execute("ROLLBACK")
            raise

    def _connect(self, mode: str) -> sqlite3.Connection:
        """``"rwc"`` makes the file where there is none, ``"rw"`` does not."""
        with self._errors:
            connection = sqlite3.connect(
                f"{self._path.as_uri()}?mode={mode}",
                uri=True,
                timeout=WAIT_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
            try:
                _keep_a_log(connection)
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("PRAGMA foreign_keys = ON")
                connection.execute("PRAGMA secure_delete = ON")  # not every SQLite overwrites what was deleted
            except BaseException:
                connection.close()
                raise
            return connection

    def _make_private(self) -> None:
        """Make the file, where there is none, for its owner alone; SQLite gives those beside it the same rights."""
        with suppress(OSError):  # it is there, or it cannot be made, which SQLite says better
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))

    def _is_store(self) -> bool:
        """Is there a file with the tables of a store? Nothing is written to find out."""
        if not self._path.exists():
            return False
        with self._errors, closing(sqlite3.connect(f"{self._path.as_uri()}?mode=rw", uri=True)) as file:
            return file.execute("SELECT 1 FROM sqlite_master WHERE name = 'schema_version'").fetchone() is not None

    def _warn_if_others_can_read(self) -> None:
        """The rights of a file that is there are somebody's choice, or what earlier versions left."""
        with suppress(OSError):
            rights = stat.S_IMODE(self._path.stat().st_mode)
            if os.name == "posix" and rights & 0o077:
                _logger.warning(
                    f"other users of this machine may use the store {self._path} (its rights are {rights:o}); if they "
                    f"are not to, stop the service and say: chmod 600 {shlex.quote(str(self._path))}*"
                )

    def _check_file(self) -> None:
        """Refuse a file that was removed or replaced: it can still be written, but not be read again."""
        if self._file_there() != self._file:
            raise StoreUnavailable(
                f"the file {self._path} was removed or replaced while it was in use; put it back, or restart the "
                "service to go on with what is there now"
            )

    def _file_there(self) -> tuple[int, int] | None:
        """What tells the file at the path from every other."""
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _explain(self, error: Exception) -> StoreUnavailable | DamagedRecord:
        code = getattr(error, "sqlite_errorcode", None)  # none where it is the driver's own
        plain = None if code is None else code & 0xFF  # without what it says in more detail
        if plain in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return DamagedRecord(
                f"the file {self._path} is damaged, or no SQLite file ({error}); restore it from a backup, or name "
                "another file"
            )
        return StoreUnavailable(
            f"the store {self._path} cannot be used now ({error}); is it a writable SQLite file, with room on its "
            "disk?",
            None if plain is None else _REASONS.get(plain),
        )


def _keep_a_log(connection: sqlite3.Connection) -> None:
    """Switch a new file to a write-ahead log. SQLite does not wait by itself where two processes do that at once."""
    until = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return
