"""Both stores keep the contract, and the contract is able to fail."""

from __future__ import annotations

import sqlite3
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from types import SimpleNamespace

import numpy as np
import psycopg
import pytest

import linkedbandits as lb
from linkedbandits.service.desk import Desk
from linkedbandits.service.migrations import SCHEMA_VERSION
from linkedbandits.service.packing import pack_arms, unpack_arms
from linkedbandits.service.postgres_store import PostgresStore
from linkedbandits.service.sqlite_store import DIALECT, SqliteStore
from linkedbandits.service.store import open_store
from linkedbandits.service.tables import Tables
from linkedbandits.testing import StoreCheckFailed, check_store
from linkedbandits.testing.stores import FIRST
from tests.support.service_parts import SETUP
from tools.waiting import SECONDS


def test_the_contract(store_url):
    check_store(lambda: open_store(store_url))


def write_nothing(self, *arguments):
    pass


@pytest.mark.parametrize(
    ("method", "replacement", "said"),
    [
        ("add_history", write_nothing, "the history must come back"),
        ("add_tuples", write_nothing, "tuples must be found"),
        ("keyed", lambda self, experiment, keys: {}, "found by its key"),
        ("entries", lambda self, experiment, after, limit=None: [], "the journal must come back"),
        ("answers", lambda self, experiment: [b"a", b"b"], "segments must stay"),
        ("heads", lambda self: [], "heads must be those of the records"),
        ("remove_token", lambda self, token: True, "removed once"),
    ],
)
def test_a_store_that_breaks_the_contract_is_told_how(monkeypatch, tmp_path, connections, method, replacement, said):
    monkeypatch.setattr(Tables, method, replacement)
    with pytest.raises(StoreCheckFailed, match=said):
        check_store(lambda: SqliteStore(tmp_path / "a.sqlite"))
    check_that_all_were_closed(connections)


def test_a_store_without_transactions_is_found_out(monkeypatch, tmp_path):
    class Careless(SqliteStore):
        @contextmanager
        def _transaction(self, connection, begin):
            yield Tables(connection.cursor(), DIALECT, self._errors)

    with pytest.raises(StoreCheckFailed, match="must leave nothing behind"):
        check_store(lambda: Careless(tmp_path / "a.sqlite"))


@pytest.mark.parametrize("url", ["{folder}/a.sqlite", "sqlite:///{folder}/a.sqlite"])
def test_a_file_is_made_where_none_is(tmp_path, url):
    open_store(url.format(folder=tmp_path)).close()
    assert (tmp_path / "a.sqlite").exists()


@pytest.mark.parametrize("url", ["mysql://x", "sqlite://", "sqlite:///", "http://a/b"])
def test_other_addresses_are_refused(url):
    with pytest.raises(lb.InvalidParameter, match="is no store; give a file"):
        open_store(url)


def test_every_commit_is_on_the_disk_before_it_is_reported(tmp_path):
    store = SqliteStore(tmp_path / "a.sqlite")
    with store.writing() as tables:
        pragma = {
            name: tables._rows(f"PRAGMA {name}")[0][0] for name in ("journal_mode", "synchronous", "foreign_keys")
        }
    assert pragma == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}
    store.close()


def test_a_file_that_is_no_store_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("no database at all, but long enough to be looked at " * 100)
    with pytest.raises(lb.StoreUnavailable, match=r"notes\.txt cannot be used now"):
        open_store(str(tmp_path / "notes.txt"))
    with pytest.raises(lb.StoreUnavailable, match="unable to open"):
        open_store(str(tmp_path / "no folder" / "a.sqlite"))


def of_a_later_version(url):
    with closing(open_store(url)) as store, store.writing() as tables:
        tables._run("UPDATE schema_version SET version = ?", SCHEMA_VERSION + 1)


def test_a_store_of_a_later_version_is_refused(store_url):
    of_a_later_version(store_url)
    with pytest.raises(lb.NewerSave, match="upgrade linkedbandits"):
        open_store(store_url)


@pytest.fixture
def connections(monkeypatch):
    """All connections that are made, in order; they are kept, so that none is closed by being forgotten."""
    made = []
    for driver in (sqlite3, psycopg):
        monkeypatch.setattr(driver, "connect", noting(driver.connect, made))
    return made


def noting(connect, made):
    def connect_and_note(*arguments, **options):
        made.append(connect(*arguments, **options))
        return made[-1]

    return connect_and_note


def is_open(connection):
    if isinstance(connection, psycopg.Connection):
        return not connection.closed
    try:
        connection.execute("SELECT 1")
    except sqlite3.ProgrammingError:  # "Cannot operate on a closed database."
        return False
    return True


def check_that_all_were_closed(connections):
    assert connections  # else there was nothing to close
    assert not any(is_open(connection) for connection in connections)


def test_a_store_that_is_refused_leaves_no_connection_open(store_url, connections):
    of_a_later_version(store_url)
    check_that_all_were_closed(connections)
    connections.clear()
    with pytest.raises(lb.NewerSave):
        open_store(store_url)
    check_that_all_were_closed(connections)


def test_a_file_that_is_no_store_is_not_kept_open(tmp_path, connections):
    (tmp_path / "notes.txt").write_text("no database at all, but long enough to be looked at " * 100)
    with pytest.raises(lb.StoreUnavailable):
        open_store(str(tmp_path / "notes.txt"))
    check_that_all_were_closed(connections)


def test_a_reader_that_cannot_be_prepared_is_not_kept_open(tmp_path, connections, monkeypatch):
    def fail(connection):
        raise sqlite3.OperationalError("disk I/O error")

    with closing(SqliteStore(tmp_path / "a.sqlite")) as store:
        monkeypatch.setattr("linkedbandits.service.sqlite_store._keep_a_log", fail)
        with pytest.raises(lb.StoreUnavailable, match="disk I/O error"), store.reading():
            pass
        assert [is_open(connection) for connection in connections] == [True, False]


def test_a_server_that_does_not_know_a_setting_is_hung_up_on(postgres_url, connections, monkeypatch):
    monkeypatch.setattr("linkedbandits.service.postgres_store.LOCK_SECONDS", "no number of ")
    with pytest.raises(psycopg.DataError, match="lock_timeout"):
        PostgresStore(postgres_url)
    check_that_all_were_closed(connections)


def replace_by_another(path):
    SqliteStore(path.with_name("other.sqlite")).close()
    path.with_name("other.sqlite").rename(path)


@pytest.mark.parametrize("change", [lambda path: None, replace_by_another], ids=["removed", "replaced"])
def test_a_file_that_is_not_the_one_opened_is_neither_written_nor_read(tmp_path, change):
    """SQLite would go on with a file that nobody will ever find again."""
    path = tmp_path / "a.sqlite"
    store = SqliteStore(path)
    with store.writing() as tables:
        tables.create(FIRST)
    path.rename(tmp_path / "away.sqlite")
    change(path)
    there = sorted(tmp_path.iterdir())
    for use in (store.reading, store.writing):
        with pytest.raises(lb.StoreUnavailable, match=r"removed or replaced .* restart the service"), use():
            pass
    assert sorted(tmp_path.iterdir()) == there
    (tmp_path / "away.sqlite").rename(path)
    with store.reading() as tables:
        assert tables.records() == [FIRST]
    store.close()


def test_no_connection_but_the_first_makes_a_file(tmp_path, monkeypatch):
    """A file may be removed just after it was looked for."""
    store = SqliteStore(tmp_path / "a.sqlite")
    monkeypatch.setattr(SqliteStore, "_check_file", lambda self: None)
    for path in tmp_path.iterdir():
        path.unlink()
    with pytest.raises(lb.StoreUnavailable, match="unable to open"), store.reading():
        pass
    assert list(tmp_path.iterdir()) == []
    store.close()


@pytest.mark.parametrize("name", ["a b.sqlite", "50%.sqlite", "what?mode=memory#x", "ü.sqlite"])
def test_a_file_may_have_any_name(tmp_path, name):
    store = SqliteStore(tmp_path / name)
    with store.reading() as tables:
        assert tables.records() == []
    assert (tmp_path / name).exists()
    store.close()


def test_a_file_locked_for_too_long_is_unavailable(tmp_path, monkeypatch):
    monkeypatch.setattr("linkedbandits.service.sqlite_store.WAIT_SECONDS", 0.05)
    store = SqliteStore(tmp_path / "a.sqlite")
    other = sqlite3.connect(tmp_path / "a.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(lb.StoreUnavailable, match="database is locked"), store.writing():
        pass
    other.execute("ROLLBACK")
    other.close()
    with store.writing() as tables:
        assert tables.records() == []
    store.close()


def test_a_new_file_that_another_process_is_preparing_is_waited_for(tmp_path, monkeypatch):
    """SQLite itself does not wait where a write-ahead log is switched on."""
    found_busy, may_go_on = threading.Event(), threading.Event()

    def sleep(_):
        found_busy.set()
        assert may_go_on.wait(SECONDS)

    waiting = SimpleNamespace(sleep=sleep, monotonic=lambda: 0.0)
    monkeypatch.setattr("linkedbandits.service.sqlite_store.time", waiting)
    with closing(sqlite3.connect(tmp_path / "a.sqlite", isolation_level=None)) as other, ThreadPoolExecutor(1) as pool:
        other.execute("BEGIN IMMEDIATE")
        other.execute("CREATE TABLE something (x)")
        opening = pool.submit(SqliteStore, tmp_path / "a.sqlite")
        assert found_busy.wait(SECONDS)
        other.execute("COMMIT")
        may_go_on.set()
        opening.result().close()


def test_a_new_file_that_another_process_never_leaves_alone_is_given_up(tmp_path, monkeypatch):
    now = [0.0]

    def sleep(seconds):
        assert now[-1] < 100, "it goes on for ever"
        now.append(now[-1] + 10 * seconds)

    waiting = SimpleNamespace(sleep=sleep, monotonic=lambda: now[-1])
    monkeypatch.setattr("linkedbandits.service.sqlite_store.time", waiting)
    with closing(sqlite3.connect(tmp_path / "a.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("CREATE TABLE something (x)")
        with pytest.raises(lb.StoreUnavailable, match="database is locked"):
            SqliteStore(tmp_path / "a.sqlite")
    assert now[-1] == pytest.approx(30, abs=0.2)  # on a clock of its own, that the test moves


def test_a_connection_that_was_lost_is_opened_again(postgres, postgres_url):
    store = PostgresStore(postgres_url)
    with store.reading() as tables:
        assert tables.records() == []
    postgres.stop("immediate")
    with pytest.raises(lb.StoreUnavailable, match="is its server up"), store.reading():
        pass
    with pytest.raises(lb.StoreUnavailable, match="is its server up"):
        PostgresStore(postgres_url)
    postgres.start()
    with store.reading() as tables:
        assert tables.records() == []
    store.close()


@pytest.mark.parametrize(
    ("table", "use"),
    [
        ("snapshots", lambda desk, experiment: desk.ask(experiment)),  # it is missed when the experiment is opened,
        ("journal", lambda desk, experiment: desk.ask(experiment, key="k")),  # in the middle of a command,
        ("tuples", lambda desk, experiment: desk.ask(experiment)),  # when everything is written down,
        ("snapshots", lambda desk, experiment: desk.read(experiment, lambda hosted: hosted)),  # and by those who look
    ],
    ids=["open", "command", "write", "look"],
)
def test_a_store_that_has_lost_a_table_is_unavailable_whoever_misses_it(store_url, table, use):
    store = open_store(store_url)
    with Desk(store) as desk:
        experiment = desk.create(SETUP, "x").result().id
        with store.writing() as tables:
            tables._run(f"DROP TABLE {table}")
        with pytest.raises(lb.StoreUnavailable, match=f"cannot be used now .*{table}"):
            use(desk, experiment).result()
    store.close()


def test_a_store_that_lost_its_tables_answers_no_ping(store_url):
    store = open_store(store_url)
    with store.writing() as tables:
        tables.ping()
        tables._run("DROP TABLE schema_version")
    with pytest.raises(lb.StoreUnavailable), store.reading() as tables:
        tables.ping()
    store.close()


def test_a_mistake_of_ours_is_not_the_stores(store_url):
    store = open_store(store_url)
    with store.writing() as tables:
        tables.create(FIRST)
    with pytest.raises((sqlite3.IntegrityError, psycopg.IntegrityError)), store.writing() as tables:
        tables.create(FIRST)
    with store.reading() as tables:
        assert tables.records() == [FIRST]
    store.close()


@contextmanager
def holding(url, experiment):
    """Another process that has an experiment locked."""
    with closing(psycopg.connect(url)) as other:
        other.execute("SELECT 1 FROM linkedbandits.experiments WHERE id = %s FOR UPDATE", (experiment,))
        yield
        other.rollback()  # the server may take a while to notice that somebody has hung up


def test_who_only_looks_does_not_wait_for_an_experiment_that_is_held(postgres_url, monkeypatch):
    monkeypatch.setattr("linkedbandits.service.postgres_store.LOCK_SECONDS", SECONDS)
    monkeypatch.setattr("linkedbandits.service.postgres_store.STATEMENT_SECONDS", SECONDS)
    with closing(open_store(postgres_url)) as store, Desk(store) as desk:
        held = desk.create(SETUP, "held").result().id
        with holding(postgres_url, held):
            waiting = desk.ask(held)
            assert len(desk.records().result(SECONDS / 2)) == 1
            assert not waiting.done()
        assert waiting.result().plays


def test_who_holds_one_experiment_in_postgresql_does_not_stop_the_others(postgres_url, monkeypatch):
    """The two errors are PostgreSQL's: one of somebody who waited, one of somebody who did not."""
    monkeypatch.setattr("linkedbandits.service.postgres_store.LOCK_SECONDS", 0.1)
    waited, refused_at_once = "canceling statement due to lock timeout", "could not obtain lock on row"
    with closing(open_store(postgres_url)) as store, Desk(store) as desk:
        held, free = (desk.create(SETUP, name).result().id for name in ("held", "free"))
        with holding(postgres_url, held):
            waiting, served = desk.ask(held), desk.ask(free)
            assert served.result().plays
            with pytest.raises(lb.StoreUnavailable, match=f"{waited}.*end the transaction that holds the lock"):
                waiting.result()
            for _ in range(2):  # it was waited for in vain, and does not make anybody wait again
                refused, served = desk.ask(held), desk.ask(free)
                assert served.result().plays
                with pytest.raises(lb.StoreUnavailable, match=f"{refused_at_once}.*end the transaction"):
                    refused.result()
        assert desk.ask(held).result().plays[0].id == 0
        with holding(postgres_url, held), pytest.raises(lb.StoreUnavailable, match=waited):
            desk.ask(held).result()  # it was free again, and may be waited for again


def test_nothing_in_postgresql_is_waited_for_for_ever(postgres_url):
    store = PostgresStore(f"{postgres_url}&keepalives_idle=77")
    with store.reading() as tables:
        limits = [
            tables._rows(f"SHOW {name}")[0][0]
            for name in ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")
        ]
    assert limits == ["10s", "30s", "5min"]
    told = store._idle[0].info.get_parameters()
    assert told["keepalives_count"] == "3"
    assert told["keepalives_idle"] == "77"  # who runs the service may say otherwise
    store.close()


def test_without_psycopg_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(lb.MissingExtra, match=r"linkedbandits\[service\]"):
        open_store("postgresql://nowhere")


@pytest.mark.parametrize("arms", [[0], [7], [0, 1, 2], [5, 3, 900], list(range(0, 1000, 7)), [2, 1]])
def test_packed_arms_come_back(arms):
    assert unpack_arms(pack_arms(np.array(arms))).tolist() == arms
