"""Stores, desks and services to test with: SQLite in a file, PostgreSQL from a server that the tests start.

Without PostgreSQL its tests are skipped, and say what is missing.
"""

from __future__ import annotations

import itertools
import sqlite3
from concurrent.futures import Future
from contextlib import closing

import psycopg
import pytest

from linkedbandits.service.desk import Desk
from linkedbandits.service.sqlite_store import SqliteStore
from linkedbandits.service.store import open_store
from tests.support.connections import noting
from tests.support.service_parts import ManualClock
from tools.pgbouncer_server import running_pgbouncer
from tools.postgres_server import running_postgres
from tools.waiting import SECONDS

_numbers = itertools.count()


@pytest.fixture(autouse=True)
def no_future_is_waited_for_for_ever(monkeypatch):
    """A desk that never answers fails the test that asked it, at the line where it asked."""
    result, exception = Future.result, Future.exception
    monkeypatch.setattr(Future, "result", lambda self, timeout=SECONDS: result(self, timeout))
    monkeypatch.setattr(Future, "exception", lambda self, timeout=SECONDS: exception(self, timeout))


@pytest.fixture(scope="session")
def postgres():
    """A running PostgreSQL server."""
    with running_postgres() as server:
        if server is None:
            pytest.skip(
                "PostgreSQL is not installed: no initdb and postgres in /usr/lib/postgresql/*/bin or on the path"
            )
        yield server


@pytest.fixture
def pgbouncer(request, postgres):
    """A pooler before the server, in transaction mode unless a test says otherwise."""
    with running_pgbouncer(postgres, getattr(request, "param", "transaction")) as pooler:
        if pooler is None:
            pytest.skip("PgBouncer is not installed: no pgbouncer on the path or in /usr/sbin")
        yield pooler


@pytest.fixture
def postgres_url(postgres):
    """An empty database of one's own."""
    return postgres.new_database(f"test{next(_numbers)}")


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request, tmp_path):
    """An empty store of each kind, by its address."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'experiments.sqlite'}"
    return request.getfixturevalue("postgres_url")


@pytest.fixture
def each_store(store_url):
    """An empty store of each kind."""
    with closing(open_store(store_url)) as store:
        yield store


@pytest.fixture
def store(tmp_path):
    """An empty store in a file, for what is the same in all stores."""
    store = SqliteStore(tmp_path / "a.sqlite")
    yield store
    store.close()


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def desk(store, clock):
    with Desk(store, clock=clock) as desk:
        yield desk


@pytest.fixture
def connections(monkeypatch):
    """All connections that are made, in order; they are kept, so that none is closed by being forgotten."""
    made = []
    for driver in (sqlite3, psycopg):
        monkeypatch.setattr(driver, "connect", noting(driver.connect, made))
    return made


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A real service for the tests of a module."""
    from tests.support.running_service import running_service  # the web framework takes long to import

    with running_service(str(tmp_path_factory.mktemp("service") / "experiments.sqlite3")) as running:
        yield running


@pytest.fixture
def own_service(tmp_path):
    """A service for a test that changes what others would notice."""
    from tests.support.running_service import running_service

    with running_service(str(tmp_path / "experiments.sqlite3")) as running:
        yield running
