"""The store in PostgreSQL: connections that are lost, experiments that are held, and nothing waited for for ever."""

from __future__ import annotations

import sys
from contextlib import closing, contextmanager

import psycopg
import pytest

import linkedbandits as lb
from linkedbandits.service.desk import Desk
from linkedbandits.service.postgres_store import PostgresStore
from linkedbandits.service.store import open_store
from linkedbandits.testing.stores import FIRST
from tests.support.connections import check_that_all_were_closed
from tests.support.service_parts import SETUP
from tools.waiting import SECONDS


def test_a_server_that_does_not_know_a_setting_is_hung_up_on(postgres_url, connections, monkeypatch):
    monkeypatch.setattr("linkedbandits.service.postgres_store.LOCK_SECONDS", "no number of ")
    with pytest.raises(psycopg.DataError, match="lock_timeout"):
        PostgresStore(postgres_url)
    check_that_all_were_closed(connections)


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


def test_nothing_in_postgresql_is_waited_for_for_ever(postgres_url, connections):
    store = PostgresStore(f"{postgres_url}&keepalives_idle=77")
    with store.reading() as tables:
        limits = [
            tables._rows(f"SHOW {name}")[0][0]
            for name in ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")
        ]
    assert limits == ["10s", "30s", "5min"]
    told = connections[0].info.get_parameters()
    assert told["keepalives_count"] == "3"
    assert told["keepalives_idle"] == "77"  # who runs the service may say otherwise
    store.close()


def test_without_psycopg_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(lb.MissingExtra, match=r"linkedbandits\[service\]"):
        open_store("postgresql://nowhere")


def test_a_transaction_that_failed_gives_its_connection_back_and_two_at_once_have_one_each(postgres_url, connections):
    with closing(PostgresStore(postgres_url)) as store:
        for _ in range(2):
            with pytest.raises(ZeroDivisionError), store.writing():
                raise ZeroDivisionError
        assert len(connections) == 1
        with store.reading() as one, store.reading() as other:
            one.ping()
            other.ping()
        assert len(connections) == 2
    check_that_all_were_closed(connections)


def test_who_reads_cannot_write(postgres_url):
    with closing(PostgresStore(postgres_url)) as store:
        with pytest.raises(lb.StoreUnavailable, match="read-only transaction"), store.reading() as tables:
            tables.create(FIRST)
        with store.reading() as tables:
            assert tables.records() == []


def test_a_schema_that_is_not_whole_is_told_from_a_server_that_is_down(postgres_url):
    with closing(PostgresStore(postgres_url)) as store:
        with store.writing() as tables:
            tables._run("DROP TABLE tokens")
        said = "is its schema linkedbandits whole, and may it be written"
        with pytest.raises(lb.StoreUnavailable, match=said), store.reading() as tables:
            tables.tokens()
