"""Which failures are tried again, which are not, and after how long."""

from __future__ import annotations

import asyncio
import json
import math
import re
import socket
import threading
from contextlib import suppress

import httpx
import pytest

import linkedbandits as lb
from linkedbandits.service import calls
from linkedbandits.service.client import AsyncClient, Client
from linkedbandits.service.http.request_ids import begin_request
from linkedbandits.service.records import check_text
from linkedbandits.service.retries import Retries
from linkedbandits.service.sending import after_answer, after_failure, headers_for, random_key, random_request_id
from tests.support.service_parts import ManualClock
from tests.support.weather import ARMS, Weather, asked, client_in
from tools.waiting import SECONDS, join, run_async, until


def test_a_service_that_says_when_to_come_back_is_listened_to():
    slept = []
    busy = httpx.Response(429, json={"type": "urn:linkedbandits:too-many-requests"}, headers={"Retry-After": "7"})
    odd = httpx.Response(503, text="", headers={"Retry-After": "Fri, 31 Dec 2027 23:59:59 GMT"})
    with client_in(Weather(busy, odd, asked()), slept) as client:
        client.experiment("x").ask()
    assert slept == [7.0, 2.0]


@pytest.mark.parametrize(("wanted", "waited"), [("nan", 1.0), ("-3", 1.0), ("29", 29.0)])
def test_what_a_service_asks_for_is_waited_for_within_reason(wanted, waited):
    slept = []
    busy = httpx.Response(429, json={"type": "urn:linkedbandits:too-many-requests"}, headers={"Retry-After": wanted})
    with client_in(Weather(busy, asked()), slept) as client:
        client.experiment("x").ask()
    assert slept == [waited]


@pytest.mark.parametrize("wanted", ["31", "86400", "inf"])
def test_who_is_to_come_back_later_than_there_is_time_for_does_not_wait_at_all(wanted):
    slept = []
    busy = httpx.Response(429, json={"type": "urn:linkedbandits:too-many-requests"}, headers={"Retry-After": wanted})
    with client_in(Weather(busy), slept) as client, pytest.raises(lb.ServiceUnavailable) as caught:
        client.experiment("x").ask()
    assert (slept, caught.value.retry_after) == ([], float(wanted))


def test_a_service_that_does_not_say_when_to_come_back_has_said_nothing():
    busy = httpx.Response(429, json={"type": "urn:linkedbandits:too-many-requests"})
    with client_in(Weather(*[busy] * 4), []) as client, pytest.raises(lb.ServiceUnavailable) as caught:
        client.experiment("x").ask()
    assert caught.value.retry_after is None


STOPPING = {"type": "urn:linkedbandits:service-unavailable", "detail": "stopping", "status": 503}
CUT_SHORT = {
    "500": lambda: httpx.Response(500, text="Internal Server Error"),
    "503": lambda: httpx.Response(503, json=STOPPING),
    "520": lambda: httpx.Response(520, text="<title>Web server is returning an unknown error</title>"),
    "disconnected": lambda: httpx.RemoteProtocolError("Server disconnected without sending a response."),
    "reset": lambda: httpx.ReadError("reset"),
}


@pytest.mark.parametrize("cut", CUT_SHORT.values(), ids=CUT_SHORT)
def test_what_the_end_of_a_service_cuts_short_is_asked_again_with_the_same_key(cut):
    weather = Weather(cut(), asked())
    with client_in(weather, []) as client:
        assert client.experiment("x").ask().id == 0
    weather_of_others = Weather(cut(), asked())

    async def ask():
        transport = httpx.MockTransport(weather_of_others)
        async with AsyncClient("http://service", retries=Retries(first_seconds=0.0), transport=transport) as client:
            return await client.experiment("x").ask()

    assert run_async(ask()).id == 0
    for seen in (weather, weather_of_others):
        assert len(seen.bodies) == 2
        assert len(set(seen.bodies)) == 1
        assert json.loads(seen.bodies[0])["key"]


def test_a_mistake_that_the_service_speaks_of_is_not_tried_again():
    weather = Weather(httpx.Response(500, json={"type": "about:blank", "detail": "it broke", "status": 500}))
    with client_in(weather, []) as client, pytest.raises(lb.UnexpectedAnswer, match="it broke"):
        client.experiment("x").ask()


def test_a_refusal_is_not_tried_again():
    problem = {"type": "urn:linkedbandits:access-denied", "detail": "a viewer may not", "status": 403}
    weather = Weather(httpx.Response(403, json=problem))
    with client_in(weather, []) as client, pytest.raises(lb.AccessDenied, match="a viewer may not"):
        client.experiment("x").ask()


def test_what_cannot_be_known_again_is_not_sent_twice_by_accident():
    """Clients send a key with it; without one, only what certainly has not been done is sent again."""
    created = httpx.Response(201, json={"id": "x9"})
    away = {"type": "urn:linkedbandits:store-unavailable", "detail": "gone", "status": 503}
    policy = lb.LinkedElimination(delta=0.1)
    call = calls.create("directions", ARMS, policy, "ordered", 0, None, None, 60.0)
    for unclear in (httpx.ReadTimeout("slow"), httpx.Response(502, text=""), httpx.Response(503, json=away)):
        weather = Weather(unclear, created)
        with client_in(weather, []) as client, pytest.raises(lb.LinkedBanditError):
            client.send(call)
        assert len(weather.bodies) == 1
        with client_in(Weather(unclear, created), []) as client:
            assert client.create("directions", ARMS, policy).id == "x9"
    for harmless in (httpx.ConnectError("refused"), httpx.Response(429, text="")):
        with client_in(Weather(harmless, created), []) as client:
            assert client.send(call) == "x9"


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


@pytest.mark.parametrize(
    "url",
    [
        "ftp://service",
        "service",
        "127.0.0.1:8000",
        "localhost:8000",
        "",
        "http://",
        "http://[::1",
        "http://a:b:c",
        "//x",
    ],
)
def test_an_address_that_is_none_is_refused_with_one_that_is(url):
    for kind in (Client, AsyncClient):
        with pytest.raises(lb.InvalidParameter, match=r"as http://127\.0\.0\.1:8000"):
            kind(url)


@pytest.mark.parametrize("token", ["", " ", "lb_a\nb", "lb_\u00fc", "“lb_a”"])
def test_a_token_that_is_none_is_refused_and_not_shown(token):
    with pytest.raises(lb.InvalidParameter, match="the token is none that") as caught:
        Client("http://service", token)
    assert "lb_" not in str(caught.value)


def test_a_token_may_have_been_read_with_its_line():
    assert headers_for("lb_a\n") == {"Authorization": "Bearer lb_a"}


@pytest.mark.parametrize("timeout", [0, -1, math.inf, math.nan, None])
def test_a_time_limit_that_is_none_is_refused(timeout):
    for kind in (Client, AsyncClient):
        with pytest.raises(lb.InvalidParameter, match="timeout="):
            kind("http://service", timeout=timeout)


NGINX = "<html>\r\n<head><title>{}</title></head>\r\n<body><center><h1>{}</h1></center><hr>nginx/1.22</body></html>"


def test_the_error_page_of_a_proxy_is_tried_again_and_then_said_in_our_words():
    page = NGINX.format("502 Bad Gateway", "502 Bad Gateway")
    gone = httpx.Response(502, text=page, headers={"Content-Type": "text/html"})
    with client_in(Weather(gone, gone, asked(3)), []) as client:
        assert client.experiment("x").ask().id == 3
    with client_in(Weather(*[gone] * 4), []) as client, pytest.raises(lb.ServiceUnavailable) as caught:
        client.experiment("x").ask()
    said = str(caught.value)
    assert "answered 502 ('502 Bad Gateway')" in said
    assert "is the service up, behind the proxy that answers for it?" in said
    assert "Tried 4 times" in said
    assert "<" not in said


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (httpx.Response(404, text=NGINX.format("404 Not Found", "")), r"404 \('404 Not Found'\).* pass everything on"),
        (httpx.Response(413, text="<h1>Too &lt; Large</h1>"), r"413 \('Too < Large'\)"),
        (httpx.Response(403, json=["no"]), "answered 403"),
        (httpx.Response(400, json={"message": "\x1b[31m" + "x" * 500}), "answered 400 .{1,120}, which is no"),
        (httpx.Response(301, headers={"Location": "https://s/v1/?t=secret"}), r"301: go to 'https://s/v1/'; give"),
        (httpx.Response(200, text="<title>Welcome!</title>"), r"something else \('Welcome!'\)"),
    ],
    ids=lambda given: given.status_code if isinstance(given, httpx.Response) else "",
)
def test_what_no_service_says_is_unexpected_with_its_first_words_and_its_status(answer, said):
    with client_in(Weather(answer), []) as client, pytest.raises(lb.UnexpectedAnswer, match=said) as caught:
        client.experiment("x").ask()
    assert caught.value.status == answer.status_code


def test_of_who_did_not_answer_the_address_is_named_without_its_password():
    def refuse(request):
        raise httpx.ConnectError("refused", request=request)

    url = "http://user:secret@service:81/below"
    with (
        Client(url, retries=Retries(times=0), transport=httpx.MockTransport(refuse)) as client,
        pytest.raises(lb.ServiceUnavailable, match=r"by http://service:81 .*is the service running") as caught,
    ):
        client.experiment("x").ask()
    assert "secret" not in str(caught.value)
    assert isinstance(caught.value.__cause__, httpx.ConnectError)


@pytest.mark.parametrize("hit", [math.nan, b"east", {"east"}], ids=ascii)
def test_what_cannot_be_sent_is_refused_in_our_words(hit):
    weather = Weather()
    with client_in(weather, []) as client:
        with pytest.raises(lb.InvalidParameter, match=r"tell cannot be sent .*; labels and hits are text"):
            client.experiment("x").tell(0, hit)
        with pytest.raises(lb.InvalidParameter, match="cannot be sent"):
            client.create("directions", ARMS, lb.LinkedElimination(delta=0.1), key="schlüssel")
    assert weather.bodies == []


def test_errors_carry_the_number_of_the_request():
    denied = {"type": "urn:linkedbandits:access-denied", "detail": "a viewer may not", "status": 403}
    play = {"type": "urn:linkedbandits:unknown-play", "detail": "no play 1", "status": 404}
    named = {"X-Request-Id": "4f1c"}
    for answer in (
        httpx.Response(403, json=denied, headers=named),
        httpx.Response(403, json=denied | {"request_id": "4f1c"}),
        httpx.Response(403, json=denied | {"request_id": "4f1c"}, headers={"X-Request-Id": "of a proxy"}),
        httpx.Response(404, text="nginx", headers=named),
        httpx.Response(200, text="no answer", headers=named),
    ):
        with client_in(Weather(answer), []) as client, pytest.raises(lb.LinkedBanditError) as caught:
            client.experiment("x").ask()
        assert caught.value.request_id == "4f1c"
        assert str(caught.value).endswith(" (request 4f1c)")
    told = httpx.Response(
        200, json={"receipts": ["late", play, play | {"request_id": "b"}], "done": False}, headers=named
    )
    with client_in(Weather(told), []) as client:
        receipts = client.experiment("x").tell_many([(0, None), (1, None), (2, None)]).receipts
    assert [str(receipt) for receipt in receipts] == ["late", "no play 1 (request 4f1c)", "no play 1 (request b)"]


@pytest.mark.parametrize("named", [{}, {"X-Request-Id": ""}, {"X-Request-Id": "x" * 300}])
def test_where_the_answer_has_no_number_of_the_request_it_is_the_one_that_was_sent(named):
    denied = {"type": "urn:linkedbandits:access-denied", "detail": "a viewer may not", "request_id": ["?"]}
    weather = Weather(httpx.Response(403, json=denied, headers=named))
    with client_in(weather, []) as client, pytest.raises(lb.AccessDenied) as caught:
        client.experiment("x").ask()
    assert (caught.value.request_id, str(caught.value)) == ("r0", "a viewer may not (request r0)")


def test_a_call_has_one_number_for_all_its_attempts_also_if_none_was_answered():
    slow, gone = httpx.ReadTimeout("slow"), httpx.ConnectError("gone")
    weather = Weather(asked(), slow, gone, slow, gone, asked())
    with client_in(weather, []) as client:
        exp = client.experiment("x")
        exp.ask()
        with pytest.raises(lb.ServiceUnavailable) as caught:
            exp.ask()
        exp.ask()
    assert weather.request_ids == ["r0", "r1", "r1", "r1", "r1", "r2"]
    assert caught.value.request_id == "r1"
    assert "(request r1) Tried 4 times" in str(caught.value)


def test_the_numbers_of_calls_differ_and_the_service_takes_them_as_they_are():
    numbers = {random_request_id() for _ in range(100)}
    assert len(numbers) == 100
    assert {begin_request([(b"x-request-id", number.encode())]) for number in numbers} == numbers


def gone():
    return httpx.Response(404, json={"type": "urn:linkedbandits:unknown-experiment", "detail": "there is none"})


@pytest.mark.parametrize("lost", [httpx.ReadTimeout("slow"), httpx.ReadError("reset"), httpx.Response(504, text="")])
def test_what_was_deleted_by_an_attempt_without_an_answer_is_deleted(lost):
    weather = Weather(lost, httpx.ConnectError("restarting"), gone())
    with client_in(weather, []) as client:
        client.experiment("x").delete()
    assert weather.outcomes == []

    async def delete():
        transport = httpx.MockTransport(Weather(httpx.ReadTimeout("slow"), gone()))
        async with AsyncClient("http://service", sleep=lambda _: asyncio.sleep(0), transport=transport) as client:
            await client.experiment("x").delete()

    run_async(delete())


@pytest.mark.parametrize("before", [[], [httpx.ConnectError("down")], [httpx.Response(429, json={})]], ids=str)
def test_what_no_attempt_can_have_deleted_was_not_there(before):
    with client_in(Weather(*before, gone()), []) as client, pytest.raises(lb.UnknownName):
        client.experiment("x").delete()


def test_what_is_not_there_is_only_good_news_for_those_who_delete():
    weather = Weather(httpx.ReadTimeout("slow"), gone())
    with client_in(weather, []) as client, pytest.raises(lb.UnknownName):
        client.experiment("x").pause()


@pytest.mark.parametrize("kind", ["accepts", "answers half"])
def test_a_service_that_hangs_is_given_up(kind):
    """Real sockets: the time limit of an attempt is that of all its steps together, the body of an answer included."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(SECONDS)
        taken = []

        def accept():
            with suppress(OSError):
                while True:
                    taken.append(listening.accept()[0])
                    if kind == "answers half":
                        with suppress(OSError):  # who was kept waiting for it may have hung up
                            taken[-1].sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")

        thread = threading.Thread(target=accept)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        retries = Retries(times=3, first_seconds=0.01, longest_seconds=0.02, seconds=SECONDS)
        with Client(url, timeout=0.1, retries=retries) as client, pytest.raises(lb.ServiceUnavailable, match="Tried"):
            client.experiment("x").ask()

        async def ask():
            async with AsyncClient(url, timeout=0.1, retries=retries) as client:
                await client.experiment("x").ask()

        with pytest.raises(lb.ServiceUnavailable, match="Tried"):
            run_async(ask())
        until(lambda: len(taken) >= 4, "the attempts to be seen")
        listening.shutdown(socket.SHUT_RDWR)
        join(thread)
        for connection in taken:
            connection.close()


@pytest.mark.parametrize(("timeout", "seconds", "longest"), [(15.0, 30.0, 30.0), (40.0, 30.0, 40.0), (5.0, 0.0, 5.0)])
def test_a_call_ends_in_its_time_if_every_attempt_hangs(timeout, seconds, longest):
    """Before, each of seven attempts had the whole time limit, and each step of it."""
    clock = ManualClock(0.0)

    def hang(request):
        clock.now += request.extensions["timeout"].get("connect") - 0.5
        clock.now += request.extensions["timeout"].get("read")  # what is left
        raise httpx.ReadTimeout("slow", request=request)

    def sleep(pause):
        clock.now += pause

    client = Client(
        "http://service",
        timeout=timeout,
        retries=Retries(seconds=seconds, draw=lambda: 1.0),
        sleep=sleep,
        clock=clock,
        transport=httpx.MockTransport(hang),
    )
    with client, pytest.raises(lb.ServiceUnavailable):
        client.experiment("x").ask()
    assert clock.now == pytest.approx(longest)


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
    with pytest.raises(
        lb.UnexpectedAnswer, match=re.escape(f"{call.method} {call.path} was answered with something else")
    ):
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
    ("header", "pause"), [(None, 0.0), ("0.5", 0.5), ("soon", 0.0), ("", 0.0), ("-1", 0.0), ("61", 61.0)], ids=str
)
def test_another_try_waits_no_longer_than_was_asked_for(header, pause):
    headers = {} if header is None else {"Retry-After": header}
    again = after_answer(calls.experiments(), httpx.Response(503, headers=headers))
    assert (type(again.error), again.least_pause) == (lb.ServiceUnavailable, pause)
    assert after_failure(calls.experiments(), httpx.ReadTimeout("slow")).least_pause == 0.0
