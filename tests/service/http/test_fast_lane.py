"""The short way for ask and tell leads where the long way leads."""

from __future__ import annotations

import asyncio
import json
import time

import pytest
from starlette.responses import Response

import linkedbandits as lb
from linkedbandits.service.http import deadline, playing
from linkedbandits.service.http.access import Caller
from linkedbandits.service.http.deadline import Deadline
from linkedbandits.service.http.fast_lane import FastLane
from linkedbandits.service.http.unread import SMALL, UnreadLimit
from tests.support.layers import Inner, answer_of, pieces, request
from tests.support.service_parts import ManualClock


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("ask", {"count": 2}),
        ("ask", {"count": 0}),
        ("ask", {"count": 2, "more": 1}),
        ("tell", {"answers": [{"play": 0, "hit": "east"}]}),
        ("tell", {"answers": [{"play": 0, "hit": "west"}]}),
        ("tell", {"answers": [{"play": 5, "hit": None}, {"play": 1, "hit": "south"}]}),
        ("tell", {"answers": []}),
    ],
    ids=str,
)
def test_the_short_and_the_long_way_lead_to_the_same_answer(service, verb, body):
    answers = []
    for content_type in ("application/json", "application/json; charset=utf-8"):
        experiment = service.create()
        service.post(experiment, "ask", {"count": 2})
        response = service.post(experiment, verb, body, **{"Content-Type": content_type})
        content = response.json()
        content.pop("expires_at", None)
        content.pop("request_id", None)
        told = json.dumps(content).replace(experiment, "ID")
        answers.append((response.status_code, response.headers["content-type"], told))
    assert answers[0] == answers[1]


ASK = "/v1/experiments/x/ask"
AS_JSON = {"content_type": "application/json"}


class Refusing:
    """Refuses every caller: enough to see that a request took the short way."""

    def __init__(self):
        self.seen = []

    @property
    def guard(self):
        return self

    async def admit(self, headers, needed, client=None):
        self.seen.append((headers, needed))
        raise lb.AccessDenied("nobody may")


def lane(inner, service, clock=time.monotonic, **unread):
    return FastLane(inner, service, Deadline(inner, clock), UnreadLimit(inner, **unread))


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (ASK, b"{}"),
        (ASK, b'{"count": 3, "key": "k"}'),
        ("/v1/experiments/A-b_9/tell", b'{"answers": [{"play": 0, "hit": null}]}'),
    ],
)
def test_a_request_as_it_should_be_is_answered_here(path, body):
    inner, service = Inner(), Refusing()
    scope = request("POST", path, **AS_JSON, authorization="Bearer lb_x")
    start, answer = answer_of(lane(inner, service), scope, pieces(body))
    assert inner.scopes == []
    assert service.seen == [({"content-type": "application/json", "authorization": "Bearer lb_x"}, "player")]
    assert (start["status"], json.loads(answer["body"])["instance"]) == (403, path)
    assert scope["route"].path == f"/v1/experiments/{{experiment}}/{path.rpartition('/')[2]}"


@pytest.mark.parametrize(
    ("scope", "body"),
    [
        (request("GET", ASK, **AS_JSON), b"{}"),
        (request("POST", "/v1/experiments", **AS_JSON), b"{}"),
        (request("POST", "/v1/experiments/x/abandon", **AS_JSON), b"{}"),
        (request("POST", "/v1/experiments/x%/ask", **AS_JSON), b"{}"),
        (request("POST", f"/v1/experiments/{'x' * 65}/ask", **AS_JSON), b"{}"),
        (request("POST", f"{ASK}/", **AS_JSON), b"{}"),
        (request("POST", ASK), b"{}"),
        (request("POST", ASK, content_type="application/json; charset=utf-8"), b"{}"),
        (request("POST", ASK, **AS_JSON, idempotency_key="k"), b"{}"),
        (request("POST", ASK, **AS_JSON), b""),
        (request("POST", ASK, **AS_JSON), b"{"),
        (request("POST", ASK, **AS_JSON), b'{"count": 0}'),
        (request("POST", ASK, **AS_JSON), b'{"counts": 1}'),
        (request("POST", "/v1/experiments/x/tell", **AS_JSON), b'{"answers": []}'),
    ],
    ids=str,
)
def test_any_other_request_goes_the_long_way_with_its_body_as_it_came(scope, body):
    inner, service = Inner(), Refusing()
    answer = answer_of(lane(inner, service), scope, pieces(body))
    assert answer[-1]["body"] == b"inner"
    assert inner.received == pieces(body)
    assert service.seen == []
    assert "route" not in scope


def test_a_caller_who_hung_up_is_left_to_the_long_way():
    inner = Inner()
    answer_of(lane(inner, Refusing()), request("POST", ASK, **AS_JSON))
    assert inner.received == [{"type": "http.disconnect"}]


class Admitting:
    """Admits everybody."""

    @property
    def guard(self):
        return self

    async def admit(self, headers, needed, client=None):
        return Caller(None, "admin")


def test_who_has_no_answer_in_time_is_told_so(monkeypatch):
    monkeypatch.setattr(deadline, "_ROUND_SECONDS", 0.001)
    clock = ManualClock()

    async def never(*_, **__):
        clock.now += deadline.SECONDS_FOR_AN_ANSWER
        await asyncio.Event().wait()

    monkeypatch.setattr(playing, "ask", never)
    start, answer = answer_of(lane(Inner(), Admitting(), clock), request("POST", ASK, **AS_JSON), pieces(b"{}"))
    assert start["status"] == 503
    assert b"no answer within 15 s" in answer["body"]


def test_who_hangs_up_is_no_late_caller(monkeypatch):
    async def cancelled(*_, **__):
        raise asyncio.CancelledError

    monkeypatch.setattr(playing, "ask", cancelled)
    with pytest.raises(asyncio.CancelledError):
        answer_of(lane(Inner(), Admitting()), request("POST", ASK, **AS_JSON), pieces(b"{}"))


def test_large_answers_are_counted_until_they_are_read(monkeypatch):
    async def large(*_, **__):
        return Response(b"x" * (SMALL + 1))

    monkeypatch.setattr(playing, "ask", large)
    scope = request("POST", ASK, **AS_JSON)
    _, *parts = answer_of(lane(Inner(), Admitting()), scope, pieces(b"{}"))
    assert [len(part["body"]) for part in parts] == [SMALL, 1]
    start, _ = answer_of(lane(Inner(), Admitting(), most=SMALL), scope, pieces(b"{}"))
    assert start["status"] == 503
