"""The store in a PostgreSQL database, for several service processes at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from linkedbandits.errors import DamagedRecord, InvalidParameter, StoreUnavailable
from linkedbandits.service.driver_errors import AWAY, DENIED, FULL, HELD, DriverErrors
from linkedbandits.service.lines import Line, Lines
from linkedbandits.service.owner_tables import OwnerTables
from linkedbandits.service.records import Room
from linkedbandits.service.store_address import HOW_TO_MAKE_ONE, DatabaseAddress, secrets_of, settings_of
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
"""The same for those who write, but while they replay an experiment: for so long one that hangs holds what it has."""


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
_TO_WRITE = f"READ WRITE; {_idle_limit(IDLE_WRITING_SECONDS)}"
CONNECTION = {
    "connect_timeout": 10,
    "fallback_application_name": "linkedbandits",
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""What libpq is told where the address of the store says nothing else: a server that is gone is noticed in a minute."""
_SCHEMA_LOCK = 7_165_402_311  # any numbers that are not used for another advisory lock
_USE_LOCK = 7_165_402_312
USED = f"SELECT pg_advisory_lock_shared({_USE_LOCK})"
"""Every connection of those who may write holds this as long as it is open,"""
USED_ALONE = f"SELECT pg_advisory_xact_lock({_USE_LOCK})"
"""so that nobody who waits for this can have it meanwhile: whatever its connections are called."""


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
        first_words = _first_words() if as_it_is else f"{_first_words()}; {USED}"
        self._lines = Lines(self._connect, first_words, self._errors)
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
        with self._transaction(_TO_WRITE, to_write=True) as line:
            yield _tables(line)

    @contextmanager
    def reading(self, at_the_desk: bool = False) -> Iterator[Tables]:
        """What was committed before; the desk does not wait for a connection behind all who look."""
        with self._transaction("ISOLATION LEVEL REPEATABLE READ, READ ONLY", to_write=at_the_desk) as line:
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
        with self._transaction(f"{_TO_WRITE}; SET LOCAL lock_timeout = '{OWNERS_SECONDS}s'", to_write=True) as line:
            yield OwnerTables(line.connection.cursor(), line)

    def close(self) -> None:
        """Let go of all connections."""
        self._lines.close()

    def _check_there(self) -> None:
        with self._transaction("READ ONLY", to_write=False) as line, line:
            found = line.connection.execute("SELECT to_regclass(%s)", (f"{SCHEMA_NAME}.schema_version",)).fetchone()
        if found is None or found[0] is None:
            raise InvalidParameter(f"there is no store in this database; {HOW_TO_MAKE_ONE}")

    def _prepare(self) -> None:
        with self._transaction("", to_write=True) as line:
            with line:
                # Two processes that start at once would otherwise both try to make the schema.
                line.connection.execute("SELECT pg_advisory_xact_lock(%s)", (_SCHEMA_LOCK,))
                line.connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA_NAME}")
            _tables(line).prepare()

    @contextmanager
    def _transaction(self, mode: str, to_write: bool) -> Iterator[Line]:
        """A transaction on a connection of its own, which goes back for the next if it is still sound."""
        line = self._lines.take(to_write)
        connection = line.connection
        try:
            with line:
                connection.execute(f"BEGIN {mode}")
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
def connected(url: str) -> Iterator[psycopg.Connection[Any]]:
    """One connection to a store's tables, closed in the end, for those who copy them as a whole.

    What fails is said as a store says it: without a password.
    """
    settings = settings_of(DatabaseAddress(url))
    import psycopg  # an extra, which the line before has asked for

    def explain(error: Exception) -> StoreUnavailable | DamagedRecord:
        return _explain(error, secrets_of(settings))

    with DriverErrors(psycopg.Error, (), explain), _connect(settings) as connection:
        connection.execute(f"SET search_path = {SCHEMA_NAME}")
        yield connection


def _connect(settings: dict[str, Any]) -> psycopg.Connection[Any]:
    import psycopg

    wanted: dict[str, Any] = CONNECTION | settings
    connection: psycopg.Connection[Any] = psycopg.connect(**wanted, autocommit=True)
    return connection


def _first_words() -> str:
    return (
        f"SET search_path = {SCHEMA_NAME}; SET lock_timeout = '{LOCK_SECONDS}s'; "
        f"SET statement_timeout = '{STATEMENT_SECONDS}s'; "
        f"SET idle_in_transaction_session_timeout = '{IDLE_SECONDS}s'"
    )


def _tables(line: Line) -> Tables:
    return Tables(line.connection.cursor(), DIALECT, line)


def _explain(error: Exception, secrets: Sequence[str] = ()) -> StoreUnavailable | DamagedRecord:
    said = " ".join(str(error).split())
    for secret in secrets:
        said = said.replace(secret, "***")
    state = getattr(error, "sqlstate", None)  # none where the server was not reached at all
    if state in ("XX001", "XX002"):
        return DamagedRecord(f"the PostgreSQL store is damaged ({said}); restore the database from a backup")
    reason = None
    if state == "55P03":
        remedy, reason = "try again, or end the transaction that holds the lock", HELD
    elif state is None or state.startswith(("08", "57")):
        remedy, reason = "is its server up?", AWAY
    elif state.startswith("53"):
        remedy = "has its server room on its disk, memory, and connections left?"
        reason = FULL if state == "53100" else "its server has too little memory, or too many connections"
    else:
        remedy = f"is its schema {SCHEMA_NAME} whole, and may it be written?"
        reason = DENIED if state in ("25006", "42501") else None
    return StoreUnavailable(f"the PostgreSQL store cannot be used now ({said}); {remedy}", reason)
