"""What the routes share: a desk that is stopped in the end, and leases that are watched."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future

import pytest

import linkedbandits as lb
from linkedbandits.service.http.service import Service, Settings
from tests.support.figures import figures_in
from tests.support.service_parts import SETUP
from tools.waiting import run_async, until


def test_a_play_that_is_not_answered_in_its_time_goes_back_and_its_answer_is_late(service):
    experiment = service.create(lease_seconds=0.2, parallel=1)
    service.post(experiment, "ask", {})
    assert service.post(experiment, "ask", {}).status_code == 409
    until(lambda: service.http.get(f"/v1/experiments/{experiment}/view").json()["abandoned"], "the play to go back")
    again = service.post(experiment, "ask", {}).json()["plays"][0]
    assert (again["id"], again["arms"]) == (1, ["north", "east", "south"])
    late = service.post(experiment, "tell", {"answers": [{"play": 0, "hit": "north"}]})
    assert late.json()["receipts"] == ["late"]
    view = service.http.get(f"/v1/experiments/{experiment}/view").json()
    assert (view["late"], view["plays"], view["arms"]["successes"]) == (1, 1, [1, 0, 0])


def test_settings_that_are_closed_are_otherwise_the_same():
    chosen = Settings(reopen=True, requests_per_second=7.0, log_requests=True)
    assert chosen.closed() == Settings(False, reopen=True, requests_per_second=7.0, log_requests=True)


def test_leases_are_looked_at_again_after_it_failed(store, monkeypatch, caplog):
    monkeypatch.setattr("linkedbandits.service.http.service.EXPIRY_SECONDS", 0.001)
    outcomes = [lb.StoreUnavailable("gone"), ZeroDivisionError("a mistake"), 3, 4]

    async def run():
        looked = asyncio.Event()
        service = Service(store, Settings())

        def expire():
            outcome = outcomes.pop(0) if outcomes else 0
            if not outcomes:
                looked.set()
            future = Future()
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)
            return future

        monkeypatch.setattr(service.desk, "expire", expire)
        async with service.running():
            await looked.wait()
            while figures_in(service.metrics.text().decode())["linkedbandits_plays_expired_total",] != 7:
                await asyncio.sleep(0)

    run_async(run())
    assert [(record.getMessage(), record.levelname) for record in caplog.records] == [("expiry-failed", "WARNING")] * 2


def test_in_the_end_all_that_was_submitted_is_done_whatever_ended_it(store):
    async def run():
        service = Service(store, Settings())
        created = []

        async def fail():
            async with service.running():
                created.extend(service.desk.create(SETUP, f"{number}") for number in range(20))
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await fail()
        assert service.closing.is_set()
        assert all(future.done() for future in created)
        with pytest.raises(lb.StoreUnavailable, match="the desk is closed"):
            await service.read(created[0].result().id, lambda hosted: hosted.head)

    run_async(run())
    with store.reading() as tables:
        assert len(tables.records()) == 20
