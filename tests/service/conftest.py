"""Stores to test with: SQLite in a file, PostgreSQL from a server that the tests start.

Without PostgreSQL its tests are skipped, and say what is missing.
"""

from __future__ import annotations

import itertools
from concurrent.futures import Future

import pytest

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
def postgres_url(postgres):
    """An empty database of one's own."""
    return postgres.new_database(f"test{next(_numbers)}")


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request, tmp_path):
    """An empty store of each kind, by its address."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'experiments.sqlite'}"
    return request.getfixturevalue("postgres_url")
