"""Which failures are tried again, which are not, and after how long."""

from __future__ import annotations

import httpx
import pytest

import linkedbandits as lb
from linkedbandits.service import calls
from linkedbandits.service.client import Client
from linkedbandits.service.records import check_text
from linkedbandits.service.sending import after_answer, after_failure, random_key
from tests.support.weather import ARMS, QUICK, Weather, asked, client_in


def test_a_service_that_says_when_to_come_back_is_listened_to():
    slept = []
    busy = httpx.Response(429, json={"type": "urn:linkedbandits:too-many-requests"}, headers={"Retry-After": "7"})
    odd = httpx.Response(503, text="", headers={"Retry-After": "Fri, 31 Dec 2027 23:59:59 GMT"})
    with client_in(Weather(busy, odd, asked()), slept) as client:
        client.experiment("x").ask()
    assert slept == [7.0, 2.0]


@pytest.mark.parametrize(("wanted", "waited"), [("86400", 60.0), ("inf", 60.0), ("nan", 1.0), ("-3", 1.0)])
def test_nobody_waits_for_ever(wanted, waited):
    slept = []
    busy = httpx.Response(429, json={"type": "urn:linkedbandits:too-many-requests"}, headers={"Retry-After": wanted})
    with client_in(Weather(busy, asked()), slept) as client:
        client.experiment("x").ask()
    assert slept == [waited]


def test_a_refusal_is_not_tried_again():
    problem = {"type": "urn:linkedbandits:access-denied", "detail": "a viewer may not", "status": 403}
    weather = Weather(httpx.Response(403, json=problem))
    with client_in(weather, []) as client, pytest.raises(lb.AccessDenied, match="a viewer may not"):
        client.experiment("x").ask()


def test_an_experiment_is_not_created_twice_by_accident():
    created = httpx.Response(201, json={"id": "x9"})
    away = {"type": "urn:linkedbandits:store-unavailable", "detail": "gone", "status": 503}
    for unclear in (httpx.ReadTimeout("slow"), httpx.Response(502, text=""), httpx.Response(503, json=away)):
        weather = Weather(unclear, created)
        with client_in(weather, []) as client, pytest.raises(lb.LinkedBanditError):
            client.create("directions", ARMS, lb.LinkedElimination(delta=0.1))
        assert len(weather.bodies) == 1
    for harmless in (httpx.ConnectError("refused"), httpx.Response(429, text="")):
        with client_in(Weather(harmless, created), []) as client:
            assert client.create("directions", ARMS, lb.LinkedElimination(delta=0.1)).id == "x9"


def test_the_token_goes_along():
    seen = []

    def service(request):
        seen.append(request.headers.get("authorization"))
        return asked()

    for token in ("lb_secret", None):
        with Client("http://service", token, transport=httpx.MockTransport(service)) as client:
            client.experiment("x").ask()
    assert seen == ["Bearer lb_secret", None]


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, text="<html>"),
        httpx.Response(200, json={"other": 1}),
        httpx.Response(404, text="nginx"),
        httpx.Response(418, json={"type": "about:blank", "detail": "teapot"}),
    ],
    ids=repr,
)
def test_an_address_that_is_something_else_is_noticed(answer):
    with client_in(Weather(answer), []) as client, pytest.raises(lb.UnexpectedAnswer):
        client.experiment("x").ask()


def test_a_url_that_is_none_is_not_tried_again():
    slept = []
    with Client("ftp://service", retries=QUICK, sleep=slept.append) as client, pytest.raises(lb.ServiceUnavailable):
        client.experiment("x").ask()
    assert slept == []


@pytest.mark.parametrize(
    ("call", "content"),
    [
        (calls.ask("x", 1, "k"), {"plays": []}),
        (calls.ask("x", 1, "k"), {"plays": [{"id": 0, "arms": 3}]}),
        (calls.tell("x", [(0, None)]), {"receipts": [], "done": False}),
        (calls.tell("x", [(0, None)]), {"receipts": ["counted", "counted"], "done": False}),
        (calls.abandon("x", [0]), {"abandoned": "some"}),
        (calls.experiments(), {"experiments": [{"id": "x"}]}),
        (calls.recommend("x"), {"done": True, "verdict": None}),
        (calls.estimates("x"), {"plays": 1, "estimates": [{"arm": "a", "luck": 1}]}),
        (calls.set_status("x", "pause"), ["status"]),
    ],
    ids=lambda value: value.path if isinstance(value, calls.Call) else str(value),
)
def test_a_success_that_is_no_answer_to_the_call_is_noticed(call, content):
    with pytest.raises(lb.UnexpectedAnswer, match=f"{call.method} {call.path} was answered with something else"):
        after_answer(call, httpx.Response(200, json=content))


def test_a_refusal_with_a_type_of_another_kind_is_noticed():
    with pytest.raises(lb.UnexpectedAnswer):
        after_answer(calls.experiments(), httpx.Response(400, json={"type": ["about:blank"]}))


def test_keys_are_never_the_same_and_every_store_can_keep_them():
    keys = {random_key() for _ in range(100)}
    assert len(keys) == 100
    for key in keys:
        check_text("key", key)


@pytest.mark.parametrize(
    ("header", "pause"), [(None, 0.0), ("0.5", 0.5), ("soon", 0.0), ("", 0.0), ("-1", 0.0), ("61", 60.0)], ids=str
)
def test_another_try_waits_no_longer_than_was_asked_for(header, pause):
    headers = {} if header is None else {"Retry-After": header}
    again = after_answer(calls.experiments(), httpx.Response(503, headers=headers))
    assert (type(again.error), again.least_pause) == (lb.ServiceUnavailable, pause)
    assert after_failure(calls.experiments(), httpx.ReadTimeout("slow")).least_pause == 0.0
