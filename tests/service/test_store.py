"""Both stores keep the contract, and the contract is able to fail."""

from __future__ import annotations

from contextlib import closing, contextmanager

import pytest

import linkedbandits as lb
from linkedbandits.service.migrations import SCHEMA_VERSION
from linkedbandits.service.sqlite_store import DIALECT, SqliteStore
from linkedbandits.service.store import open_store
from linkedbandits.service.tables import Tables
from tests.support.connections import check_that_all_were_closed
from tests.support.store_contract import check_store


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
        ("created_with", lambda self, key: None, "found by the key that it was created with"),
        ("heads", lambda self: [], "heads must be those of the records"),
        ("remove_token", lambda self, token: True, "removed once"),
    ],
)
def test_a_store_that_breaks_the_contract_is_told_how(monkeypatch, tmp_path, connections, method, replacement, said):
    monkeypatch.setattr(Tables, method, replacement)
    with pytest.raises(AssertionError, match=said):
        check_store(lambda: SqliteStore(tmp_path / "a.sqlite"))
    check_that_all_were_closed(connections)


def test_a_store_without_transactions_is_found_out(monkeypatch, tmp_path):
    class Careless(SqliteStore):
        @contextmanager
        def _transaction(self, connection, begin):
            yield Tables(connection.cursor(), DIALECT, self._errors)

    with pytest.raises(AssertionError, match="must leave nothing behind"):
        check_store(lambda: Careless(tmp_path / "a.sqlite"))


@pytest.mark.parametrize("url", ["{folder}/a.sqlite", "sqlite:///{folder}/a.sqlite"])
def test_a_file_is_made_where_none_is(tmp_path, url):
    open_store(url.format(folder=tmp_path)).close()
    assert (tmp_path / "a.sqlite").exists()


@pytest.mark.parametrize("url", ["mysql://x", "sqlite://", "sqlite:///", "http://a/b"])
def test_other_addresses_are_refused(url):
    with pytest.raises(lb.InvalidParameter, match="is no store; give a file"):
        open_store(url)


def of_a_later_version(url):
    with closing(open_store(url)) as store, store.writing() as tables:
        tables._run("UPDATE schema_version SET version = ?", SCHEMA_VERSION + 1)


def test_a_store_that_is_refused_leaves_no_connection_open(store_url, connections):
    of_a_later_version(store_url)
    check_that_all_were_closed(connections)
    connections.clear()
    with pytest.raises(lb.DamagedSave):
        open_store(store_url)
    check_that_all_were_closed(connections)


def test_where_none_is_to_be_made_a_store_that_is_there_is_opened(store_url):
    with pytest.raises(lb.InvalidParameter, match=r"there is no store in .* or make one with 'linkedbandits serve'"):
        open_store(store_url, create=False)
    with pytest.raises(lb.InvalidParameter, match="there is no store in"):  # nor was one made meanwhile
        open_store(store_url, create=False)
    open_store(store_url).close()
    with closing(open_store(store_url, create=False)) as store, store.reading() as tables:
        assert tables.tokens() == []
