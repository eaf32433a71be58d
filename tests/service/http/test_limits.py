"""How much a caller may send, and how often."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.service.http.limits import LARGEST_BODY, SMALL_BODY, BodyLimit, RateLimit, first_then
from tests.support.layers import Inner, answer_of, pieces, request
from tests.support.problem_documents import check_problem
from tests.support.service_parts import ManualClock
from tools.waiting import run_async

NEW = {"name": "directions", "arms": ["north", "east"]}


@pytest.mark.parametrize("per_second", [0.01, 0.1, 0.25, 0.5])
def test_a_rate_of_less_than_one_request_in_two_seconds_still_lets_one_in_at_a_time(per_second):
    """What two seconds are worth is less than a request there, and no caller may need more than they can ever save."""
    clock = ManualClock()
    rate = RateLimit(per_second, clock)
    for _ in range(3):
        rate.spend("somebody")
        with pytest.raises(lb.ServiceUnavailable) as refused:
            rate.spend("somebody")
        assert refused.value.retry_after == pytest.approx(1 / per_second)
        clock.now += 1 / per_second
    clock.now += 100 / per_second  # what is not used is not saved up
    rate.spend("somebody")
    with pytest.raises(lb.ServiceUnavailable):
        rate.spend("somebody")


def test_a_body_that_is_too_large_whether_it_says_so_or_not(service):
    def pieces():
        for _ in range(20):
            yield b" " * (LARGEST_BODY // 10)

    for body in (b" " * (LARGEST_BODY + 1), pieces()):
        response = service.http.post("/v1/experiments", content=body, headers={"Content-Type": "application/json"})
        check_problem(response, 413, "urn:linkedbandits:request-too-large")


def announced(body):
    return body  # httpx sends the length of bytes


def in_chunks(body):
    """Of something that has no length httpx announces none, and sends it in chunks."""
    return (body[start : start + 70_001] for start in range(0, len(body), 70_001))


@pytest.mark.parametrize("sent", [announced, in_chunks])
@pytest.mark.parametrize(
    ("path", "content", "accepted"), [("", NEW, 201), ("/{experiment}/ask", {"count": 2}, 200)], ids=["long", "short"]
)
def test_a_body_may_be_as_large_as_the_limit_and_not_a_byte_larger(service, path, content, accepted, sent):
    """On the long and on the short way, whether the length was announced or not."""
    url = "/v1/experiments" + path.format(experiment=service.create())
    for size, status in ((LARGEST_BODY - 1, accepted), (LARGEST_BODY, accepted), (LARGEST_BODY + 1, 413)):
        body = json.dumps(content).encode().ljust(size)
        response = service.http.post(url, content=sent(body), headers={"Content-Type": "application/json"})
        assert ("content-length" in response.request.headers) == (sent is announced)
        assert response.status_code == status, size


@given(st.lists(st.binary(max_size=4), min_size=1, max_size=6), st.integers(0, 12))
def test_a_body_is_passed_on_in_one_piece_or_refused_by_what_arrived(parts, most):
    inner = Inner()
    start, *_ = answer_of(BodyLimit(inner, most), request("POST", content_length="0"), pieces(*parts))
    whole = b"".join(parts)
    if len(whole) <= most:
        assert inner.received == pieces(whole)
    else:
        assert (inner.received, start["status"]) == ([], 413)


def test_a_body_that_is_too_large_is_not_read_to_its_end():
    taken = []

    def endless():
        while True:
            taken.append(1)
            yield {"type": "http.request", "body": b"12345", "more_body": True}

    start, *_ = answer_of(BodyLimit(Inner(), 12), request("POST"), endless())
    assert (start["status"], len(taken)) == (413, 3)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_what_has_no_body_is_not_waited_for(method):
    inner = Inner()
    answer_of(BodyLimit(inner, 1), request(method), pieces(b"long", b"body"))
    assert inner.received == pieces(b"long", b"body")


def test_who_hangs_up_half_way_is_passed_on_as_such():
    inner = Inner()
    answer_of(BodyLimit(inner, 100), request("POST"), [{"type": "http.request", "body": b"ha", "more_body": True}])
    assert inner.received == [{"type": "http.disconnect"}]


def test_a_message_that_was_taken_comes_first_and_once():
    async def receive():
        return {"type": "http.disconnect"}

    async def take_three():
        again = first_then({"type": "http.request"}, receive)
        return [(await again())["type"] for _ in range(3)]

    assert run_async(take_three()) == ["http.request", "http.disconnect", "http.disconnect"]


@given(
    per_second=st.floats(0.1, 50),
    gaps=st.lists(st.floats(0, 3), min_size=1, max_size=60),
)
def test_no_more_requests_are_let_in_than_the_rate_allows_and_who_waits_as_told_is(per_second, gaps):
    clock = ManualClock()
    rate, begun = RateLimit(per_second, clock), clock.now
    for admitted, gap in enumerate(gaps, start=1):
        clock.now += gap
        try:
            rate.spend("somebody")
        except lb.ServiceUnavailable as refused:
            clock.now += refused.retry_after * (1 + 1e-9) + 1e-9
            rate.spend("somebody")
        most = max(1.0, 2 * per_second) + per_second * (clock.now - begun)
        assert admitted <= most * (1 + 1e-6)


def test_a_large_body_is_read_only_for_those_who_are_let_in():
    taken, asked = [], []

    def long_body():
        for _ in range(3):
            taken.append(1)
            yield {"type": "http.request", "body": b"x" * SMALL_BODY, "more_body": True}

    async def nobody(headers, client):
        asked.append(headers)
        raise lb.AccessDenied("this service wants a token", reason="missing_token")

    inner = Inner()
    layer = BodyLimit(inner, LARGEST_BODY, nobody)
    start, *_ = answer_of(layer, request("POST", authorization="Bearer lb_x"), long_body())
    assert (start["status"], len(taken), inner.scopes, asked) == (401, 1, [], [{"authorization": "Bearer lb_x"}])
    start, *_ = answer_of(layer, request("POST"), pieces(b"x" * (SMALL_BODY + 1)))
    assert (start["status"], len(asked)) == (401, 2)
    answer_of(layer, request("POST"), pieces(b"x" * SMALL_BODY))  # seen to where it is answered
    assert (len(asked), len(inner.scopes)) == (2, 1)


@pytest.mark.parametrize(("announced", "status"), [("13", 413), ("12", 200), ("-1", 200), ("many", 200)])
def test_a_length_that_is_too_large_is_believed(announced, status):
    start, *_ = answer_of(BodyLimit(Inner(), 12), request("POST", content_length=announced), pieces(b"12345", b"6"))
    assert start["status"] == status


def test_all_bodies_together_are_bounded_from_the_first_byte_until_the_answer():
    async def together():
        layer = BodyLimit(waiting, 100, together=250)
        answers = [[] for _ in range(4)]
        tasks = []
        for answer in answers:
            messages = iter(pieces(b"x" * 50, b"x" * 50))
            tasks.append(asyncio.create_task(layer(request("POST"), taking(messages), giving(answer))))
            await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        statuses = [answer[0]["status"] if answer else None for answer in answers]
        done.set()
        await asyncio.gather(*tasks)
        last = []
        await layer(request("POST"), taking(iter(pieces(b"x" * 50, b"x" * 50))), giving(last))
        return statuses, last[0]["status"]

    inner = Inner()
    done = asyncio.Event()

    async def waiting(scope, receive, send):
        await done.wait()
        await inner(scope, receive, send)

    def taking(messages):
        async def receive():
            return next(messages)

        return receive

    def giving(answer):
        async def send(message):
            answer.append(message)

        return send

    assert run_async(together()) == ([None, None, 503, 503], 200)
