"""Event streams are counted, limited in number, and end with the token that opened them."""

from __future__ import annotations

from functools import partial

import httpx
import pytest

import linkedbandits as lb
from linkedbandits.service.http import access, stream
from linkedbandits.service.http.access import Caller
from linkedbandits.service.http.metrics import Metrics
from linkedbandits.service.http.open_streams import OpenStreams
from linkedbandits.service.http.service import Settings
from tests.support.figures import figures_in
from tests.support.running_service import running_service
from tools.waiting import SECONDS, run_async, until, within

CALLER = Caller(None, "viewer")


@pytest.fixture
def room_for_one(monkeypatch):
    """A service that starts after this has room for one event stream."""
    monkeypatch.setattr("linkedbandits.service.http.service.OpenStreams", partial(OpenStreams, most=1))


def test_no_more_streams_than_fit(room_for_one, own_service):
    with httpx.stream("GET", f"{own_service.url}/v1/events", timeout=SECONDS) as response:
        lines = response.iter_lines()  # letting go of it hangs up
        next(lines)
        refused = own_service.http.get("/v1/events")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "10")
        assert refused.json()["type"] == "urn:linkedbandits:service-unavailable"

    def is_admitted():
        with own_service.http.stream("GET", "/v1/events") as response:
            return response.status_code == 200

    until(is_admitted, "room for a viewer, after one has left")


def test_a_revoked_token_ends_the_stream_it_opened(tmp_path, monkeypatch):
    monkeypatch.setattr(access, "REFRESH_SECONDS", 0.05)
    monkeypatch.setattr(stream, "HEARTBEAT_SECONDS", 0.05)
    with running_service(str(tmp_path / "experiments.sqlite3"), Settings(open_without_tokens=False)) as service:
        kept, _ = service.make_token("viewer")
        revoked, token_id = service.make_token("viewer")

        def watch(token):
            signed = {"Authorization": f"Bearer {token}"}
            return httpx.stream("GET", f"{service.url}/v1/events", headers=signed, timeout=SECONDS)

        with watch(kept) as staying, watch(revoked) as going:
            going_on = going.iter_lines()
            next(going_on)
            with service.store.writing() as writing:
                writing.remove_token(token_id)
            for _ in within(going_on, "the end of a stream without its token"):
                pass
            after = staying.iter_lines()
            assert all(next(after) is not None for _ in range(20))


def test_a_service_without_tokens_ends_its_streams_when_one_is_made(own_service, monkeypatch):
    monkeypatch.setattr(access, "REFRESH_SECONDS", 0.05)
    monkeypatch.setattr(stream, "HEARTBEAT_SECONDS", 0.05)
    with own_service.http.stream("GET", "/v1/events") as response:
        lines = response.iter_lines()
        next(lines)
        own_service.make_token("admin")
        for _ in within(lines, "the end of a stream without a token"):
            pass


class Guard:
    """Admits as often as it was told to."""

    def __init__(self, times=100):
        self.times = times

    async def still_admits(self, caller):
        self.times -= 1
        return self.times >= 0


async def numbers(closed, error=None):
    try:
        for number in range(1, 4):
            yield b"%d" % number
        if error is not None:
            raise error
    finally:
        closed.append(True)


def viewers(metrics):
    return figures_in(metrics.text().decode())["linkedbandits_viewers",]


def test_a_stream_is_counted_while_it_lasts_and_its_events_are_closed_in_the_end():
    async def watch():
        metrics, closed = Metrics(), []
        body = OpenStreams(Guard(), metrics).stream(numbers(closed), CALLER).body_iterator
        seen = [(event, viewers(metrics)) async for event in body]
        return seen, viewers(metrics), closed

    assert run_async(watch()) == ([(b"1", 1), (b"2", 1), (b"3", 1)], 0, [True])


def test_nothing_is_sent_to_a_caller_who_is_no_longer_admitted():
    async def watch():
        closed = []
        body = OpenStreams(Guard(times=1), Metrics()).stream(numbers(closed), CALLER).body_iterator
        return [event async for event in body], closed

    assert run_async(watch()) == ([b"1"], [True])


def test_a_stream_that_breaks_leaves_its_place_to_another():
    async def watch():
        metrics = Metrics()
        streams = OpenStreams(Guard(), metrics, most=1)
        broken = streams.stream(numbers([], ZeroDivisionError()), CALLER).body_iterator
        await anext(broken)
        with pytest.raises(lb.ServiceUnavailable, match="1 event streams are open"):
            streams.stream(numbers([]), CALLER)
        with pytest.raises(ZeroDivisionError):
            [event async for event in broken]
        assert viewers(metrics) == 0
        return [event async for event in streams.stream(numbers([]), CALLER).body_iterator]

    assert len(run_async(watch())) == 3


def test_one_caller_does_not_take_the_places_of_all():
    async def watch():
        streams = OpenStreams(Guard(), Metrics(), most=10)
        one, other, user = Caller("a", "viewer"), Caller("b", "viewer"), Caller(None, "viewer", "ada", user=True)
        bodies = []
        for caller, whose in ((one, "token"), (user, "user")):
            bodies += [streams.stream(numbers([]), caller).body_iterator for _ in range(3)]
            for body in bodies[-3:-1]:
                await anext(body)
            with pytest.raises(lb.ServiceUnavailable, match=f"this {whose} has 2 event streams open, as many as one"):
                streams.stream(numbers([]), caller)
            assert [event async for event in bodies[-1]] == []  # it was let in before the others had begun
        await anext(streams.stream(numbers([]), other).body_iterator)
        for body in bodies[:2]:
            await body.aclose()
        assert len([event async for event in streams.stream(numbers([]), one).body_iterator]) == 3
        open_to_all = [streams.stream(numbers([]), CALLER).body_iterator for _ in range(5)]
        return [await anext(body) for body in open_to_all]

    assert run_async(watch()) == [b"1"] * 5


def test_an_answer_that_never_begins_takes_no_place():
    async def watch():
        streams = OpenStreams(Guard(), Metrics(), most=1)
        for _ in range(3):
            streams.stream(numbers([]), CALLER)

    run_async(watch())


def test_no_proxy_may_keep_a_stream_or_hold_it_back():
    async def watch():
        return OpenStreams(Guard(), Metrics()).stream(numbers([]), CALLER)

    headers = run_async(watch()).headers
    assert headers["content-type"].startswith("text/event-stream")
    assert (headers["cache-control"], headers["x-accel-buffering"]) == ("no-store", "no")
