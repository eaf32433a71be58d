"""The store in a PostgreSQL database, for several service processes at once.

A connection has no state of its own: all that is set is set for one transaction. So a pooler such as PgBouncer may give
every transaction another connection to the server.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from linkedbandits.errors import InvalidParameter, StoreUnavailable
from linkedbandits.service.driver_errors import AWAY, DENIED, FULL, HELD, SLOW, DriverErrors
from linkedbandits.service.lines import Line, Lines
from linkedbandits.service.migrations import SCHEMA_VERSION, TABLES
from linkedbandits.service.owner_tables import OwnerTables
from linkedbandits.service.records import Room
from linkedbandits.service.store_address import HOW_TO_MAKE_ONE, DatabaseAddress, secrets_of, settings_of
from linkedbandits.service.store_errors import DamagedRecord
from linkedbandits.service.tables import Dialect, ForAMoment, Tables

if TYPE_CHECKING:
    import psycopg

SCHEMA_NAME = "linkedbandits"
LOCK_SECONDS = 10.0
"""How long to wait for another process that holds an experiment, or a table."""
MOMENT_SECONDS = 0.05
"""How long to wait for it while others wait, too: processes that share an experiment take turns much faster."""
STATEMENT_SECONDS = 30.0
"""How long a statement may take."""
OWNERS_SECONDS = 1.0
"""How long a server waits for another that is at the tables of owners: it would be taken for gone after a few."""
IDLE_SECONDS = 300.0
"""How long a transaction may do nothing before the server ends it: longer than any experiment takes to be replayed."""
IDLE_WRITING_SECONDS = 30.0
"""Idle timeout of write transactions, in seconds, except while an experiment is replayed."""


def _idle_limit(seconds: float) -> str:
    return f"SET LOCAL idle_in_transaction_session_timeout = '{seconds}s'"


DIALECT = Dialect(
    parameter="%s",
    bytes="BYTEA",
    clustered="",
    lock=" FOR UPDATE",
    lock_if_free=" FOR UPDATE SKIP LOCKED",
    for_a_moment=ForAMoment(
        before=f"SAVEPOINT moment; SET LOCAL lock_timeout = '{MOMENT_SECONDS}s'",
        after=f"RELEASE SAVEPOINT moment; SET LOCAL lock_timeout = '{LOCK_SECONDS}s'",
        in_vain="ROLLBACK TO SAVEPOINT moment",
        held="55P03",
    ),
    reads_on=False,
    at_length=(_idle_limit(IDLE_SECONDS), _idle_limit(IDLE_WRITING_SECONDS)),
    size="SELECT COALESCE(SUM(pg_total_relation_size(oid)), 0) FROM pg_class WHERE relkind = 'r' "
    f"AND relnamespace = '{SCHEMA_NAME}'::regnamespace",
)
READING_DIALECT = replace(DIALECT, at_length=None)
CONNECTION = {
    "connect_timeout": 10,
    "fallback_application_name": "linkedbandits",
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""What libpq is told where the address of the store says nothing else: a server that is gone is noticed in a minute."""
GRANT = (
    f"GRANT USAGE ON SCHEMA {SCHEMA_NAME} TO role; "
    f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {SCHEMA_NAME} TO role"
)
"""What a role needs to serve a store that is there, for its owner to say."""
_SCHEMA_LOCK = 7_165_402_311  # any number that is not used for another advisory lock
_logger = logging.getLogger("linkedbandits.service")


class PostgresStore:
    """See :class:`linkedbandits.service.store.Store`. A connection that was lost is opened again at the next use."""

    def __init__(self, url: str, create: bool = True, *, as_it_is: bool = False) -> None:
        """Connect, and make the tables where they are not there yet, in a schema of their own; or refuse.

        A database that is opened ``as_it_is`` has to have them, in the present schema: for those who only read.
        """
        self._url = url
        self._settings = settings_of(DatabaseAddress(url))
        import psycopg  # an extra, which the line before has asked for

        self._psycopg = psycopg
        self._errors = DriverErrors(psycopg.Error, (psycopg.IntegrityError, psycopg.DataError), self._explain)
        self._lines = Lines(self._connect, self._errors)
        try:
            if as_it_is or not create:
                self._check_there()
            if as_it_is:
                with self.reading() as tables:
                    tables.check_schema()
            else:
                self._prepare()
        except BaseException:
            self.close()  # a caller who gets an error has no store to close
            raise

    @property
    def address(self) -> str:
        """What another process opens it by. It may have a password in it."""
        return self._url

    @contextmanager
    def writing(self) -> Iterator[Tables]:
        """Transactions on different experiments do not wait for each other."""
        with self._transaction(_begin("READ WRITE"), to_write=True) as line:
            yield Tables(line.connection.cursor(), DIALECT, line)

    @contextmanager
    def reading(self, at_the_desk: bool = False) -> Iterator[Tables]:
        """What was committed before; the desk does not wait for a connection behind all who look."""
        begin = _begin("ISOLATION LEVEL REPEATABLE READ, READ ONLY", idle=IDLE_SECONDS)
        with self._transaction(begin, to_write=at_the_desk) as line:
            yield Tables(line.connection.cursor(), READING_DIALECT, line)

    def probe(self) -> None:
        """Write something durable that changes nothing."""
        with self.writing() as tables:
            tables.write_in_passing()

    def room(self) -> Room | None:
        """The disk is the server's, and not seen from here."""
        return None

    @contextmanager
    def owning(self) -> Iterator[OwnerTables]:
        """A transaction on who shares the store, and who owns what."""
        with self._transaction(_begin("READ WRITE", lock=OWNERS_SECONDS), to_write=True) as line:
            yield OwnerTables(line.connection.cursor(), line, line.address_here())

    def close(self) -> None:
        """Let go of all connections."""
        self._lines.close()

    def _check_there(self) -> None:
        with self._transaction(_begin("READ ONLY"), to_write=False) as line, line:
            if not _is_there(line.connection):
                raise InvalidParameter(f"there is no store in this database; {HOW_TO_MAKE_ONE}")

    def _prepare(self) -> None:
        """Bring the tables to the present schema; where they are, a role without the right to change them will do.

        Migrations take as long as they take: there is no statement timeout, and no watch over the line. Processes that
        start together do this one after the other.
        """
        with self._transaction(_begin("READ WRITE", statement=0.0), to_write=True) as line:
            connection, tables = line.connection, Tables(line.connection.cursor(), DIALECT, self._errors)
            with self._errors:
                _wait_for_others_to_migrate(connection)
                there = _is_there(connection)
            found = tables.schema() if there else None
            if found == SCHEMA_VERSION:
                with self._errors:
                    _check_grants(connection)
                return
            try:
                if not there:
                    with self._errors:
                        _make_schema(connection)
                tables.prepare()
            except StoreUnavailable as error:
                if error.detail == DENIED:
                    said = _said(error.__cause__, secrets_of(self._settings))
                    raise _may_not_migrate(found, said) from error
                raise

    @contextmanager
    def _transaction(self, begin: str, to_write: bool) -> Iterator[Line]:
        """A transaction on a connection of its own, which goes back for the next if it is still sound."""
        line = self._lines.take(to_write)
        connection = line.connection
        try:
            with line:
                connection.execute(begin)
                if not line.unused_since:  # it is new
                    _prepare_statements_if_alone(connection)
            try:
                yield line
                with line:
                    connection.execute("COMMIT")
            except BaseException:
                if not connection.closed:
                    with line:
                        connection.execute("ROLLBACK")
                raise
        finally:
            sound = connection.info.transaction_status == self._psycopg.pq.TransactionStatus.IDLE
            self._lines.give_back(line, sound)

    def _connect(self) -> psycopg.Connection[Any]:
        return _connect(self._settings)

    def _explain(self, error: Exception) -> StoreUnavailable | DamagedRecord:
        return _explain(error, secrets_of(self._settings))


@contextmanager
def connected(url: str, mode: str) -> Iterator[psycopg.Connection[Any]]:
    """One transaction on a store's tables, on a connection of its own, to copy them as a whole: no statement timeout.

    What fails is said as a store says it: without a password.
    """
    settings = settings_of(DatabaseAddress(url))
    import psycopg  # an extra, which the line before has asked for

    def explain(error: Exception) -> StoreUnavailable | DamagedRecord:
        return _explain(error, secrets_of(settings))

    with DriverErrors(psycopg.Error, (), explain), _connect(settings) as connection:
        connection.execute(_begin(mode, statement=0.0, idle=0.0))
        yield connection
        connection.execute("COMMIT")


def _connect(settings: dict[str, Any]) -> psycopg.Connection[Any]:
    import psycopg

    wanted: dict[str, Any] = CONNECTION | settings
    connection: psycopg.Connection[Any] = psycopg.connect(**wanted, autocommit=True, prepare_threshold=None)
    return connection


def _prepare_statements_if_alone(connection: psycopg.Connection[Any]) -> None:
    """Have the server keep plans, which halves its work, unless a pooler is between.

    A plan is known to one process of the server, and a pooler has several; the process that it names is none of them.
    """
    if connection.execute("SELECT pg_backend_pid()").fetchone() == (connection.info.backend_pid,):
        connection.prepare_threshold = 5  # the driver's own choice


def _begin(
    mode: str, *, lock: float | None = None, statement: float | None = None, idle: float = IDLE_WRITING_SECONDS
) -> str:
    """Begin a transaction on the store's tables, with its limits in seconds; 0 is none."""
    lock = LOCK_SECONDS if lock is None else lock
    statement = STATEMENT_SECONDS if statement is None else statement
    return (
        f"BEGIN {mode}; SET LOCAL search_path = {SCHEMA_NAME}; SET LOCAL lock_timeout = '{lock}s'; "
        f"SET LOCAL statement_timeout = '{statement}s'; {_idle_limit(idle)}"
    )


def _is_there(connection: psycopg.Connection[Any]) -> bool:
    found = connection.execute("SELECT to_regclass(%s)", (f"{SCHEMA_NAME}.schema_version",)).fetchone()
    return found is not None and found[0] is not None


def _wait_for_others_to_migrate(connection: psycopg.Connection[Any]) -> None:
    """Until this transaction ends, no other process makes or changes the tables."""
    free = connection.execute(f"SELECT pg_try_advisory_xact_lock({_SCHEMA_LOCK})").fetchone()
    if free != (True,):
        _logger.info("store-migration-awaited")
        connection.execute(f"SET LOCAL lock_timeout = 0; SELECT pg_advisory_xact_lock({_SCHEMA_LOCK})")
        connection.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")


def _make_schema(connection: psycopg.Connection[Any]) -> None:
    """Also ``IF NOT EXISTS`` takes the right to make one."""
    if connection.execute("SELECT to_regnamespace(%s)", (SCHEMA_NAME,)).fetchone() == (None,):
        connection.execute(f"CREATE SCHEMA {SCHEMA_NAME}")


def _check_grants(connection: psycopg.Connection[Any]) -> None:
    """A table that this role may not use is found now, and not by the first request that needs it."""
    needed = " AND ".join(f"has_table_privilege(oid, '{right}')" for right in ("SELECT", "INSERT", "UPDATE", "DELETE"))
    rows = connection.execute(
        f"SELECT relname FROM pg_class WHERE relname = ANY(%s) AND relnamespace = '{SCHEMA_NAME}'::regnamespace "
        f"AND NOT ({needed}) ORDER BY relname",
        (list(TABLES),),
    ).fetchall()
    if rows:
        raise StoreUnavailable(
            f"the role that opens the PostgreSQL store may not select, insert, update and delete in "
            f"{', '.join(name for (name,) in rows)}; as the owner of the tables run: {GRANT}",
            DENIED,
        )


def _may_not_migrate(found: int | None, said: str) -> StoreUnavailable:
    there, needed = (
        (f"of schema {found}, and this version needs {SCHEMA_VERSION}", "owns the tables")
        if found
        else ("not there yet", f"has CREATE on the database, or owns the schema {SCHEMA_NAME}")
    )
    return StoreUnavailable(
        f"the tables of the PostgreSQL store are {there}, and this role may not change that ({said}); start "
        f"'linkedbandits serve' once with the address of a role that {needed}, and then as that role run: {GRANT}",
        DENIED,
    )


def _said(error: BaseException | None, secrets: Sequence[str]) -> str:
    """What the driver says, without a password."""
    said = " ".join(str(error).split())
    for secret in secrets:
        said = said.replace(secret, "***")
    return said


def _explain(error: Exception, secrets: Sequence[str]) -> StoreUnavailable | DamagedRecord:
    said = _said(error, secrets)
    state = getattr(error, "sqlstate", None)  # none where the server was not reached at all
    if state in ("XX001", "XX002"):
        return DamagedRecord(f"the PostgreSQL store is damaged ({said}); restore the database from a backup")
    reason = None
    if state in ("55P03", "40P01"):
        remedy, reason = "try again, or end the transaction that holds the lock", HELD
    elif state in ("57014", "25P03"):
        remedy, reason = (
            f"that is a timeout (a statement has {STATEMENT_SECONDS:g} s, a transaction that writes may pause for "
            f"{IDLE_WRITING_SECONDS:g} s): try again, and look in pg_stat_activity for what keeps the server busy",
            SLOW,
        )
    elif state is None or state.startswith(("08", "57")):
        pooler = ", and a pooler before it in transaction or session mode" if state == "08P01" else ""
        remedy, reason = f"is its server up{pooler}?", AWAY
    elif state.startswith("53"):
        remedy = "has its server room on its disk, memory, and connections left?"
        reason = FULL if state == "53100" else "its server has too little memory, or too many connections"
    elif state == "42501":
        remedy, reason = f"as the owner of the tables run: {GRANT}", DENIED
    else:
        remedy = f"is its schema {SCHEMA_NAME} whole, and may it be written?"
        reason = DENIED if state == "25006" else None
    return StoreUnavailable(f"the PostgreSQL store cannot be used now ({said}); {remedy}", reason)
