"""Requests that have no answer in time, and those that have one."""

from __future__ import annotations

import asyncio

import pytest
from starlette.responses import PlainTextResponse, StreamingResponse

from linkedbandits.service.http import deadline as module
from linkedbandits.service.http.deadline import Deadline
from tests.support.service_parts import ManualClock
from tools.waiting import run_async


@pytest.fixture(autouse=True)
def often(monkeypatch):
    monkeypatch.setattr(module, "_ROUND_SECONDS", 0.001)


async def call(app, path="/v1/experiments/x/ask"):
    sent = []

    async def send(message):
        sent.append(message)

    await app({"type": "http", "method": "POST", "path": path, "headers": []}, None, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent)


def test_a_request_without_an_answer_is_a_503_that_says_what_to_do_and_others_are_not_touched():
    clock, waiting = ManualClock(), []

    async def never(scope, receive, send):
        if scope["path"] == "/late":
            await asyncio.Event().wait()
        await PlainTextResponse("done")(scope, receive, send)

    async def run():
        app = Deadline(never, clock)
        waiting.append(asyncio.create_task(call(app, "/late")))
        await asyncio.sleep(0)
        clock.now += module.SECONDS_FOR_AN_ANSWER - 1
        assert await call(app, "/soon") == (200, b"done")
        waiting.append(asyncio.create_task(call(app, "/late")))
        await asyncio.sleep(0.01)
        assert not waiting[0].done()
        clock.now += 1
        status, body = await waiting[0]
        assert status == 503
        assert b"urn:linkedbandits:store-unavailable" in body
        assert b"no answer within 15 s" in body
        assert b"tell it again" in body
        assert not waiting[1].done()
        clock.now += module.SECONDS_FOR_AN_ANSWER
        assert (await waiting[1])[0] == 503
        assert not app._open

    run_async(run())


def test_an_answer_that_has_begun_may_take_its_time_and_so_may_a_download():
    clock, begun, go_on = ManualClock(), asyncio.Event(), asyncio.Event()

    async def slow(scope, receive, send):
        async def parts():
            begun.set()
            yield b"first"
            await go_on.wait()
            yield b"second"

        if scope["path"].endswith("/journal"):
            await go_on.wait()
        await StreamingResponse(parts())(scope, receive, send)

    async def receive():
        await asyncio.Event().wait()

    async def run():
        app = Deadline(lambda scope, _, send: slow(scope, receive, send), clock)
        calls = [asyncio.create_task(call(app, path)) for path in ("/events", "/v1/experiments/x/journal")]
        await begun.wait()
        clock.now += 10 * module.SECONDS_FOR_AN_ANSWER
        await asyncio.sleep(0.02)
        go_on.set()
        assert await asyncio.gather(*calls) == [(200, b"firstsecond")] * 2

    run_async(run())


def test_who_is_cancelled_for_another_reason_is_cancelled():
    async def run():
        async def never(*_):
            await asyncio.Event().wait()

        app = Deadline(never)
        task = asyncio.create_task(call(app))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not app._open

    run_async(run())


def test_one_that_is_late_and_told_to_stop_stops():
    async def run():
        request = Deadline(None, ManualClock()).begin()
        request.is_late = True
        request.task.cancel()
        request.task.cancel()
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            with pytest.raises(asyncio.CancelledError):
                request.raise_unless_late()
            request.task.uncancel()
            return "stopped"

    assert run_async(run()) == "stopped"
