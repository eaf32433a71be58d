"""The store in a file: SQLite with a write-ahead log, every commit on the disk before it is reported.

Several processes may use one file at once. A transaction that writes locks the whole file from its beginning, and a
desk reads what others have written before it goes on, so they take turns. For many processes PostgreSQL is better.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from linkedbandits.errors import StoreUnavailable
from linkedbandits.service.driver_errors import DriverErrors
from linkedbandits.service.tables import Dialect, Tables

DIALECT = Dialect(parameter="?", bytes="BLOB", clustered="WITHOUT ROWID", lock="", lock_at_once="")
WAIT_SECONDS = 30.0
"""How long to wait for another process that writes."""


class SqliteStore:
    """See :class:`linkedbandits.service.store.Store`."""

    def __init__(self, path: Path) -> None:
        """Open the file, and make the tables where they are not there yet."""
        self._path = path.absolute()
        mistakes = (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.DataError)
        self._errors = DriverErrors(sqlite3.Error, mistakes, self._unavailable)
        self._writer_lock = threading.Lock()
        self._readers_lock = threading.Lock()
        self._idle_readers: list[sqlite3.Connection] = []
        self._writer: sqlite3.Connection | None = self._connect("rwc")
        self._file = self._file_there()
        try:
            with self.writing() as tables:
                tables.prepare()
        except BaseException:
            self.close()  # a caller who gets an error has no store to close
            raise

    @contextmanager
    def writing(self) -> Iterator[Tables]:
        """One transaction at a time, from this process and from all others."""
        with self._writer_lock:
            if self._writer is None:
                raise StoreUnavailable(f"the store {self._path} was closed; open it again")
            with self._transaction(self._writer, "BEGIN IMMEDIATE") as tables:
                self._check_file()
                yield tables

    @contextmanager
    def reading(self) -> Iterator[Tables]:
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
                connection.execute("COMMIT")
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
            except BaseException:
                connection.close()
                raise
            return connection

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

    def _unavailable(self, error: Exception) -> StoreUnavailable:
        return StoreUnavailable(
            f"the store {self._path} cannot be used now ({error}); is it a writable SQLite file, with room on its disk?"
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
