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
from linkedbandits.service.tables import Dialect, Tables

DIALECT = Dialect(parameter="?", bytes="BLOB", clustered="WITHOUT ROWID", lock="")
WAIT_SECONDS = 30.0
"""How long to wait for another process that writes."""


class SqliteStore:
    """See :class:`linkedbandits.service.store.Store`."""

    def __init__(self, path: Path) -> None:
        """Open the file, and make the tables where they are not there yet."""
        self._path = path
        self._writer_lock = threading.Lock()
        self._readers_lock = threading.Lock()
        self._idle_readers: list[sqlite3.Connection] = []
        self._writer: sqlite3.Connection | None = self._connect()
        with self.writing() as tables:
            tables.prepare()

    @contextmanager
    def writing(self) -> Iterator[Tables]:
        """One transaction at a time, from this process and from all others."""
        with self._writer_lock:
            if self._writer is None:
                raise StoreUnavailable(f"the store {self._path} was closed; open it again")
            with self._transaction(self._writer, "BEGIN IMMEDIATE") as tables:
                yield tables

    @contextmanager
    def reading(self) -> Iterator[Tables]:
        """What was committed before; those who write need not wait, nor be waited for."""
        with self._readers_lock:
            if self._writer is None:
                raise StoreUnavailable(f"the store {self._path} was closed; open it again")
            connection = self._idle_readers.pop() if self._idle_readers else None
        connection = connection or self._connect()
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
        try:
            connection.execute(begin)
            try:
                yield Tables(connection.cursor(), DIALECT)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
            raise  # a mistake of ours
        except sqlite3.Error as error:
            raise self._unavailable(error) from error

    def _connect(self) -> sqlite3.Connection:
        try:
            connection = sqlite3.connect(
                self._path, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )
            _keep_a_log(connection)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
        except sqlite3.Error as error:
            raise self._unavailable(error) from error
        return connection

    def _unavailable(self, error: sqlite3.Error) -> StoreUnavailable:
        return StoreUnavailable(f"the store {self._path} cannot be used now ({error}); is it a writable SQLite file?")


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
