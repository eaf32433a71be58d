"""Both stores keep the contract, and the contract is able to fail."""

from __future__ import annotations

import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.service.packing import pack_arms, unpack_arms
from linkedbandits.service.postgres_store import PostgresStore
from linkedbandits.service.sqlite_store import DIALECT, SqliteStore
from linkedbandits.service.store import open_store
from linkedbandits.service.tables import SCHEMA_VERSION, Tables
from linkedbandits.testing import StoreCheckFailed, check_store


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
            yield Tables(connection.cursor(), DIALECT)

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


def test_without_psycopg_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(lb.MissingExtra, match=r"linkedbandits\[service\]"):
        open_store("postgresql://nowhere")


@pytest.mark.parametrize("arms", [[0], [7], [0, 1, 2], [5, 3, 900], list(range(0, 1000, 7)), [2, 1]])
def test_packed_arms_come_back(arms):
    assert unpack_arms(pack_arms(np.array(arms))).tolist() == arms
