"""The short way for ask and tell leads where the long way leads."""

from __future__ import annotations

import json

import pytest

import linkedbandits as lb
from linkedbandits.service.http.fast_lane import FastLane
from tests.support.layers import Inner, answer_of, pieces, request


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

    async def admit(self, headers, needed):
        self.seen.append((headers, needed))
        raise lb.AccessDenied("nobody may")


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
    start, answer = answer_of(FastLane(inner, service), scope, pieces(body))
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
    answer = answer_of(FastLane(inner, service), scope, pieces(body))
    assert answer[-1]["body"] == b"inner"
    assert inner.received == pieces(body)
    assert service.seen == []
    assert "route" not in scope


def test_a_caller_who_hung_up_is_left_to_the_long_way():
    inner = Inner()
    answer_of(FastLane(inner, Refusing()), request("POST", ASK, **AS_JSON))
    assert inner.received == [{"type": "http.disconnect"}]
