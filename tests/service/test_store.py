"""Both stores keep the contract, and the contract is able to fail."""

from __future__ import annotations

import sqlite3
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import numpy as np
import psycopg
import pytest
from uninterrupted import SETUP

import linkedbandits as lb
from linkedbandits.service.desk import Desk
from linkedbandits.service.packing import pack_arms, unpack_arms
from linkedbandits.service.postgres_store import PostgresStore
from linkedbandits.service.sqlite_store import DIALECT, SqliteStore
from linkedbandits.service.store import open_store
from linkedbandits.service.tables import SCHEMA_VERSION, Tables
from linkedbandits.testing import StoreCheckFailed, check_store
from linkedbandits.testing.stores import FIRST


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
def test_a_store_that_breaks_the_contract_is_told_how(monkeypatch, tmp_path, method, replacement, said):
    monkeypatch.setattr(Tables, method, replacement)
    with pytest.raises(StoreCheckFailed, match=said):
        check_store(lambda: SqliteStore(tmp_path / "a.sqlite"))


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


def test_a_store_of_a_later_version_is_refused(tmp_path):
    store = SqliteStore(tmp_path / "a.sqlite")
    with store.writing() as tables:
        tables._run("UPDATE schema_version SET version = ?", SCHEMA_VERSION + 1)
    store.close()
    with pytest.raises(lb.NewerSave, match="upgrade linkedbandits"):
        SqliteStore(tmp_path / "a.sqlite")


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


def test_a_new_file_that_another_process_is_preparing_is_waited_for(tmp_path):
    """SQLite itself does not wait where a write-ahead log is switched on."""
    other = sqlite3.connect(tmp_path / "a.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    other.execute("CREATE TABLE something (x)")
    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(SqliteStore, tmp_path / "a.sqlite")
        with pytest.raises(TimeoutError):
            opening.result(timeout=0.2)
        other.execute("COMMIT")
        opening.result(timeout=10).close()
    other.close()


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


def test_who_holds_one_experiment_in_postgresql_does_not_stop_the_others(postgres_url, monkeypatch):
    monkeypatch.setattr("linkedbandits.service.postgres_store.LOCK_SECONDS", 1.0)
    store = open_store(postgres_url)
    with Desk(store) as desk, closing(psycopg.connect(postgres_url)) as other:
        held, free = (desk.create(SETUP, name).result().id for name in ("held", "free"))
        other.execute("SELECT 1 FROM linkedbandits.experiments WHERE id = %s FOR UPDATE", (held,))
        waiting = desk.ask(held)
        assert len(desk.records().result(timeout=0.5)) == 2
        assert not waiting.done()
        assert desk.ask(free).result(timeout=5).plays
        with pytest.raises(lb.StoreUnavailable, match="end the transaction that holds the lock"):
            waiting.result()

        begin = time.monotonic()  # it was waited for in vain, and does not make anybody wait again
        refused, served = desk.ask(held), desk.ask(free)
        assert isinstance(refused.exception(), lb.StoreUnavailable)
        assert served.result().plays
        assert time.monotonic() - begin < 0.5

        other.rollback()
        assert desk.ask(held).result().plays[0].id == 0
        assert not desk._groups._held
    store.close()


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
