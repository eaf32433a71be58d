"""The store in a PostgreSQL database, for several service processes at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from linkedbandits.errors import MissingExtra, StoreUnavailable
from linkedbandits.service.driver_errors import DriverErrors
from linkedbandits.service.tables import Dialect, Tables

if TYPE_CHECKING:
    import psycopg

DIALECT = Dialect(parameter="%s", bytes="BYTEA", clustered="", lock=" FOR UPDATE", lock_at_once=" FOR UPDATE NOWAIT")
SCHEMA_NAME = "linkedbandits"
LOCK_SECONDS = 10.0
"""How long to wait for another process that holds an experiment."""
STATEMENT_SECONDS = 30.0
"""How long a statement may take."""
IDLE_SECONDS = 300.0
"""How long a transaction may do nothing before the server ends it: longer than any experiment takes to be replayed."""
CONNECTION = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""What libpq is told where the address of the store says nothing else: a server that is gone is noticed in a minute."""
_SCHEMA_LOCK = 7_165_402_311  # any number that is not used for another advisory lock


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
        self._errors = DriverErrors(psycopg.Error, (psycopg.IntegrityError, psycopg.DataError), _unavailable)
        self._url = url
        self._lock = threading.Lock()
        self._idle: list[psycopg.Connection[Any]] = []
        self._closed = False
        try:
            self._prepare()
        except BaseException:
            self.close()  # a caller who gets an error has no store to close
            raise

    @contextmanager
    def writing(self) -> Iterator[Tables]:
        """Transactions on different experiments do not wait for each other."""
        with self._transaction("READ WRITE") as connection:
            yield self._tables(connection)

    @contextmanager
    def reading(self) -> Iterator[Tables]:
        """What was committed before."""
        with self._transaction("ISOLATION LEVEL REPEATABLE READ, READ ONLY") as connection:
            yield self._tables(connection)

    def close(self) -> None:
        """Let go of all connections."""
        with self._lock:
            self._closed = True
        self._drop_idle()

    def _prepare(self) -> None:
        with self._transaction("") as connection:
            with self._errors:
                # Two processes that start at once would otherwise both try to make the schema.
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_SCHEMA_LOCK,))
                connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA_NAME}")
            self._tables(connection).prepare()

    def _drop_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _tables(self, connection: psycopg.Connection[Any]) -> Tables:
        return Tables(connection.cursor(), DIALECT, self._errors)

    @contextmanager
    def _transaction(self, mode: str) -> Iterator[psycopg.Connection[Any]]:
        """A transaction on a connection of its own, which goes back for the next if it is still sound."""
        connection = self._take()
        try:
            with self._errors:
                connection.execute(f"BEGIN {mode}")
            try:
                yield connection
                with self._errors:
                    connection.execute("COMMIT")
            except BaseException:
                if not connection.closed:
                    with self._errors:
                        connection.execute("ROLLBACK")
                raise
        finally:
            if connection.closed:
                self._drop_idle()  # they were lost together, most likely
            self._put_back(connection)

    def _take(self) -> psycopg.Connection[Any]:
        with self._lock:
            if self._closed:
                raise StoreUnavailable("the PostgreSQL store was closed; open it again")
            if self._idle:
                return self._idle.pop()
        with self._errors:
            wanted: dict[str, Any] = CONNECTION | self._psycopg.conninfo.conninfo_to_dict(self._url)
            connection = self._psycopg.connect(**wanted, autocommit=True)
            try:
                connection.execute(
                    f"SET search_path = {SCHEMA_NAME}; SET lock_timeout = '{LOCK_SECONDS}s'; "
                    f"SET statement_timeout = '{STATEMENT_SECONDS}s'; "
                    f"SET idle_in_transaction_session_timeout = '{IDLE_SECONDS}s'"
                )
            except BaseException:
                connection.close()
                raise
            return connection

    def _put_back(self, connection: psycopg.Connection[Any]) -> None:
        idle = self._psycopg.pq.TransactionStatus.IDLE
        with self._lock:
            if connection.info.transaction_status == idle and not self._closed:
                self._idle.append(connection)
                return
        connection.close()


def _unavailable(error: Exception) -> StoreUnavailable:
    reason = " ".join(str(error).split())
    state = getattr(error, "sqlstate", None)  # none where the server was not reached at all
    if state == "55P03":
        remedy = "try again, or end the transaction that holds the lock"
    elif state is None or state.startswith(("08", "57")):
        remedy = "is its server up?"
    else:
        remedy = f"is its schema {SCHEMA_NAME} whole, and may it be written?"
    return StoreUnavailable(f"the PostgreSQL store cannot be used now ({reason}); {remedy}")
