"""The store in a PostgreSQL database, for several service processes at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from linkedbandits.errors import MissingExtra, StoreUnavailable
from linkedbandits.service.tables import Dialect, Tables

if TYPE_CHECKING:
    import psycopg

DIALECT = Dialect(parameter="%s", bytes="BYTEA", clustered="", lock=" FOR UPDATE")
SCHEMA_NAME = "linkedbandits"
_SCHEMA_LOCK = 7_165_402_311  # any number that nobody else uses for an advisory lock


class PostgresStore:
    """See :class:`linkedbandits.service.store.Store`. A connection that was lost is opened again at the next use."""

    def __init__(self, url: str) -> None:
        """Connect, and make the tables where they are not there yet, in a schema of their own."""
        try:
            import psycopg  # an extra
        except ImportError as error:
            raise MissingExtra(
                "a PostgreSQL store needs psycopg; install it with: pip install 'linkedbandits[service]'"
            ) from error
        self._psycopg = psycopg
        self._url = url
        self._lock = threading.Lock()
        self._idle: list[psycopg.Connection[Any]] = []
        self._closed = False
        with self._transaction("") as connection:
            cursor = connection.cursor()
            # Two processes that start at once would otherwise both try to make the schema.
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", (_SCHEMA_LOCK,))
            cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA_NAME}")
            Tables(cursor, DIALECT).prepare()

    @contextmanager
    def writing(self) -> Iterator[Tables]:
        """Transactions on different experiments do not wait for each other."""
        with self._transaction("READ WRITE") as connection:
            yield Tables(connection.cursor(), DIALECT)

    @contextmanager
    def reading(self) -> Iterator[Tables]:
        """What was committed before."""
        with self._transaction("ISOLATION LEVEL REPEATABLE READ, READ ONLY") as connection:
            yield Tables(connection.cursor(), DIALECT)

    def close(self) -> None:
        """Let go of all connections."""
        with self._lock:
            self._closed = True
        self._drop_idle()

    def _drop_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextmanager
    def _transaction(self, mode: str) -> Iterator[psycopg.Connection[Any]]:
        """A transaction on a connection of its own, which goes back for the next if it is still sound."""
        connection = self._take()
        try:
            connection.execute(f"BEGIN {mode}")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if not connection.closed:
                    connection.execute("ROLLBACK")
                raise
        except self._psycopg.OperationalError as error:
            connection.close()
            self._drop_idle()  # they were lost together, most likely
            raise _unavailable(error) from error
        finally:
            self._put_back(connection)

    def _take(self) -> psycopg.Connection[Any]:
        with self._lock:
            if self._closed:
                raise StoreUnavailable("the PostgreSQL store was closed; open it again")
            if self._idle:
                return self._idle.pop()
        try:
            connection = self._psycopg.connect(self._url, autocommit=True, connect_timeout=10)
            connection.execute(f"SET search_path = {SCHEMA_NAME}")
        except self._psycopg.OperationalError as error:
            raise _unavailable(error) from error
        return connection

    def _put_back(self, connection: psycopg.Connection[Any]) -> None:
        if connection.closed:
            return
        with self._lock:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()


def _unavailable(error: Exception) -> StoreUnavailable:
    reason = " ".join(str(error).split())
    return StoreUnavailable(f"the PostgreSQL store cannot be used now ({reason}); is its server up?")
