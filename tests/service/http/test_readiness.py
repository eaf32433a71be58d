"""Readiness: the store is written to, once however many ask, and a store that hangs is waited for for a moment."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing

import pytest

import linkedbandits as lb
from linkedbandits.service.http import readiness as module
from linkedbandits.service.http.readiness import Readiness
from linkedbandits.service.store_errors import DamagedRecord
from tests.support.problem_documents import check_problem
from tests.support.service_parts import ManualClock
from tools.waiting import SECONDS, run_async, until


class Store:
    """Says how often it was tried, and fails if it is told to."""

    def __init__(self):
        self.tries = 0
        self.error = None
        self.goes_on = threading.Event()
        self.goes_on.set()

    def probe(self):
        self.tries += 1
        assert self.goes_on.wait(SECONDS)
        if self.error is not None:
            raise self.error


@pytest.fixture
def probed():
    store = Store()
    yield store
    store.goes_on.set()


def test_the_store_is_tried_once_however_many_ask_and_again_after_a_while(probed):
    clock = ManualClock()

    async def run():
        readiness = Readiness(probed, clock)
        await asyncio.gather(*(readiness.check() for _ in range(50)))
        await readiness.check()
        assert probed.tries == 1
        probed.error = lb.StoreUnavailable("no room in /srv/x.sqlite", "its disk is full")
        clock.now += module.SECONDS_BELIEVED + 0.1
        for _ in range(2):
            with pytest.raises(lb.StoreUnavailable, match="/srv") as raised:
                await readiness.check()
            assert raised.value.detail == "its disk is full"
        assert probed.tries == 2
        probed.error = DamagedRecord("bad page")
        clock.now += module.SECONDS_BELIEVED + 0.1
        with pytest.raises(lb.StoreUnavailable, match="bad page") as raised:
            await readiness.check()
        assert "restore it from a backup" in raised.value.detail
        readiness.close()

    run_async(run())


def test_a_store_that_hangs_is_not_ready_and_is_tried_by_one_thread_alone(probed, monkeypatch):
    monkeypatch.setattr(module, "SECONDS_TO_WRITE", 0.05)

    async def run():
        readiness = Readiness(probed)
        probed.goes_on.clear()
        for _ in range(5):
            with pytest.raises(lb.StoreUnavailable, match=r"within 0\.05 s"):
                await readiness.check()
        while not probed.tries:
            await asyncio.sleep(0.001)
        assert probed.tries == 1
        probed.goes_on.set()
        while True:
            try:
                await readiness.check()
            except lb.StoreUnavailable:
                await asyncio.sleep(0.01)
            else:
                break
        readiness.close()

    run_async(run())


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(module, "SECONDS_BELIEVED", 0.0)


def is_ready(service):
    return service.http.get("/readyz").status_code == 200


def test_a_store_whose_write_lock_is_held_elsewhere_is_not_ready(impatient, own_service, tmp_path, monkeypatch):
    assert is_ready(own_service)
    monkeypatch.setattr(module, "SECONDS_TO_WRITE", 0.2)
    with closing(sqlite3.connect(tmp_path / "experiments.sqlite3", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        problem = check_problem(own_service.http.get("/readyz"), 503, "urn:linkedbandits:store-unavailable")
        assert "somebody else holds it" in problem["detail"]
        assert own_service.http.get("/healthz").status_code == 200
        other.execute("ROLLBACK")
    until(lambda: is_ready(own_service), "the service to be ready again")


def test_a_store_whose_disk_is_full_is_not_ready(impatient, own_service, monkeypatch):
    assert is_ready(own_service)
    with monkeypatch.context() as full:
        full.setattr("linkedbandits.service.sqlite_store.LEAST_ROOM", 10**18)
        problem = check_problem(own_service.http.get("/readyz"), 503, "urn:linkedbandits:store-unavailable")
        assert "its disk is full; make room on it" in problem["detail"]
        assert "sqlite" not in problem["detail"]
    assert is_ready(own_service)


def test_what_is_tried_is_on_the_disk_and_changes_nothing(each_store):
    with each_store.reading() as tables:
        before = tables._rows("SELECT * FROM schema_version")
    each_store.probe()
    with each_store.reading() as tables:
        assert tables._rows("SELECT * FROM schema_version") == before
    each_store.close()
    with pytest.raises(lb.StoreUnavailable, match="was closed"):
        each_store.probe()
