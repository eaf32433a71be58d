"""What waits to be read is bounded, and a connection that takes nothing is cut."""

from __future__ import annotations

import asyncio
import json

from linkedbandits.service.http.unread import SMALL, UnreadLimit, note_connection
from tests.support.layers import Inner, answer_of, request
from tools.waiting import run_async


def inner(body: bytes, announced: bool = True, more: bool = False) -> Inner:
    headers = [(b"content-length", str(len(body)).encode())] if announced else []
    return Inner(
        {"type": "http.response.start", "status": 200, "headers": headers},
        {"type": "http.response.body", "body": body, "more_body": more},
    )


def test_a_large_answer_goes_out_in_small_pieces_and_a_small_one_as_it_is():
    for size in (0, 1, SMALL, SMALL + 1, 2 * SMALL, 5 * SMALL + 7):
        body = bytes(number % 251 for number in range(size))
        start, *pieces = answer_of(UnreadLimit(inner(body)), request())
        assert start["status"] == 200
        assert b"".join(piece["body"] for piece in pieces) == body
        assert all(len(piece["body"]) <= SMALL for piece in pieces)
        assert [piece.get("more_body", False) for piece in pieces] == [True] * (len(pieces) - 1) + [False]
        assert len(pieces) == max(1, -(-size // SMALL))


def test_pieces_of_a_stream_stay_pieces():
    (_, *pieces) = answer_of(UnreadLimit(inner(b"x" * (SMALL + 1), announced=False, more=True)), request())
    assert [(len(piece["body"]), piece["more_body"]) for piece in pieces] == [(SMALL, True), (1, True)]


class Stuck:
    """A connection whose other side takes nothing behind the first piece."""

    def __init__(self):
        self.sent, self.cut = [], 0
        self.never = asyncio.Event()

    @property
    def transport(self):
        return self

    def abort(self):
        self.cut += 1

    async def send(self, message):
        self.sent.append(message)
        if len(self.sent) > 2:
            await self.never.wait()


def noted(stuck):
    """A request on this connection."""
    scope = request()
    note_connection(scope, stuck.send)
    return scope


async def nothing():
    return {"type": "http.request"}


def test_what_is_not_taken_in_time_is_dropped_with_its_connection():
    async def run():
        layer = UnreadLimit(inner(b"x" * 10 * SMALL), seconds=0.01)
        stuck = Stuck()
        await layer(noted(stuck), nothing, stuck.send)
        return layer, stuck

    layer, stuck = run_async(run())
    assert (stuck.cut, len(stuck.sent), layer.unread) == (1, 3, 0)


def test_beyond_what_may_wait_a_large_answer_is_refused_and_a_small_one_is_not():
    async def run():
        large, small = inner(b"x" * 4 * SMALL), inner(b"x" * SMALL)
        answers = [large, large, small]

        async def one_after_the_other(*of):
            await answers.pop(0)(*of)

        layer = UnreadLimit(one_after_the_other, most=6 * SMALL)
        stuck = Stuck()
        first = asyncio.ensure_future(layer(request(), nothing, stuck.send))
        while layer.unread == 0:
            await asyncio.sleep(0)
        assert layer.unread == 4 * SMALL
        found = []
        for _ in range(2):
            sent = []

            async def send(message, sent=sent):
                sent.append(message)

            await layer(request(), nothing, send)
            found.append(sent)
        stuck.never.set()
        await first
        assert layer.unread == 0
        return found

    refused, taken = run_async(run())
    assert refused[0]["status"] == 503
    assert (b"retry-after", b"10") in refused[0]["headers"]
    assert json.loads(refused[1]["body"])["type"] == "urn:linkedbandits:service-unavailable"
    assert len(refused) == 2
    assert [message.get("status") for message in taken] == [200, None]


def test_those_who_have_read_nothing_for_longest_make_room_for_the_next_piece_of_a_stream():
    """An event stream cannot be refused when it has begun; who reads has its events all the same."""

    async def run():
        layer = UnreadLimit(inner(b"x" * 4 * SMALL, announced=False, more=True), most=10 * SMALL, grace=0.0)
        stuck = [Stuck() for _ in range(4)]
        waiting = [asyncio.ensure_future(layer(noted(one), nothing, one.send)) for one in stuck]
        while [one.cut for one in stuck] != [1, 1, 0, 0]:
            await asyncio.sleep(0.001)
        assert layer.unread == 8 * SMALL
        sent = []

        async def send(message):
            sent.append(message)

        await layer(request(), nothing, send)
        assert sum(len(message.get("body", b"")) for message in sent) == 4 * SMALL
        while [one.cut for one in stuck] != [1, 1, 1, 0]:
            await asyncio.sleep(0.001)
        assert layer.unread == 4 * SMALL
        for one in stuck:
            one.never.set()
        await asyncio.gather(*waiting)
        assert layer.unread == 0

    run_async(run())


def test_nobody_is_cut_who_has_only_begun_to_read():
    async def run():
        layer = UnreadLimit(inner(b"x" * 4 * SMALL, announced=False, more=True), most=10 * SMALL, grace=60.0)
        stuck = [Stuck() for _ in range(4)]
        waiting = [asyncio.ensure_future(layer(noted(one), nothing, one.send)) for one in stuck]
        while layer.unread < 16 * SMALL:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.01)
        assert not any(one.cut for one in stuck)
        for one in stuck:
            one.never.set()
        await asyncio.gather(*waiting)

    run_async(run())


def test_what_is_no_request_passes():
    layer = UnreadLimit(Inner({"type": "lifespan.startup.complete"}))
    assert answer_of(layer, {"type": "lifespan"}) == [{"type": "lifespan.startup.complete"}]
