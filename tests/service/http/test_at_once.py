"""Short answers that are written at once are those that the web server would have written."""

from __future__ import annotations

import asyncio
import json
import socket

import pytest
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from linkedbandits.service.http.at_once import write_at_once
from linkedbandits.service.http.edge import Edge
from linkedbandits.service.http.metrics import Metrics
from tests.support.http_messages import whole_message
from tests.support.layers import Inner
from tools.waiting import SECONDS, run_async

BODY = b'{"done":true}'
HEADERS = [(b"content-length", b"%d" % len(BODY)), (b"content-type", b"application/json")]


class Transport:
    def __init__(self):
        self.written, self.is_closed = [], False

    def write(self, data):
        self.written.append(data)

    def close(self):
        self.is_closed = True

    def abort(self):
        self.is_closed = True

    def pause_reading(self):
        pass

    def resume_reading(self):
        pass


def a_cycle(method="POST", keep_alive=True):
    """What uvicorn makes of a request, and how often it was told that there is an answer."""
    transport, answered = Transport(), []
    scope = {"type": "http", "method": method, "path": "/", "headers": [(b"x-request-id", b"r1")]}
    cycle = RequestResponseCycle(
        scope=scope,
        transport=transport,
        flow=FlowControl(transport),
        logger=None,
        access_logger=None,
        access_log=False,
        default_headers=[(b"date", b"today")],
        message_event=asyncio.Event(),
        expect_100_continue=False,
        keep_alive=keep_alive,
        on_response=lambda: answered.append(True),
    )
    return cycle, answered


def through_the_edge(cycle, *messages):
    async def run():
        await Edge(Inner(*messages), Metrics(), lambda: 0.0, False, asyncio.Event())(cycle.scope, nothing, cycle.send)

    async def nothing():
        return {"type": "http.request"}

    run_async(run())
    head, _, body = b"".join(cycle.transport.written).partition(b"\r\n\r\n")
    status, *lines = head.split(b"\r\n")
    return status, sorted(lines), body


def start(headers=HEADERS, status=200):
    return {"type": "http.response.start", "status": status, "headers": headers}


def test_it_is_what_the_web_server_writes_and_in_one_piece():
    (quick, told), (slow, told_slowly) = a_cycle(), a_cycle()
    answer = through_the_edge(quick, start(), {"type": "http.response.body", "body": BODY})
    reverse = start(HEADERS[::-1])  # not how the service writes them
    assert answer == through_the_edge(slow, reverse, {"type": "http.response.body", "body": BODY})
    assert (len(quick.transport.written), len(slow.transport.written)) == (1, 2)
    for cycle in (quick, slow):
        assert cycle.response_started
        assert cycle.response_complete
        assert cycle.message_event.is_set()
    assert told == told_slowly == [True]
    assert answer[2] == BODY
    assert b"x-request-id: r1" in answer[1]


@pytest.mark.parametrize(
    ("cycle", "messages"),
    [
        (a_cycle("HEAD"), [start(), {"type": "http.response.body", "body": BODY}]),
        (a_cycle(keep_alive=False), [start(), {"type": "http.response.body", "body": BODY}]),
        (a_cycle(), [start([*HEADERS, (b"location", b"/x")]), {"type": "http.response.body", "body": BODY}]),
        (
            a_cycle(),
            [
                start(),
                {"type": "http.response.body", "body": BODY[:3], "more_body": True},
                {"type": "http.response.body", "body": BODY[3:]},
            ],
        ),
    ],
    ids=["HEAD", "closing", "another header", "in parts"],
)
def test_any_other_answer_is_left_to_the_web_server(cycle, messages):
    _, lines, body = through_the_edge(cycle[0], *messages)
    assert body == (b"" if cycle[0].scope["method"] == "HEAD" else BODY)
    assert b"content-length: %d" % len(BODY) in lines
    assert b"x-content-type-options: nosniff" in lines


@pytest.mark.parametrize("state", ["response_started", "disconnected"])
def test_nothing_is_written_where_nothing_may_be(state):
    cycle, told = a_cycle()
    setattr(cycle, state, True)
    assert not write_at_once(cycle.send, 200, b"", BODY)
    assert (cycle.transport.written, told) == ([], [])


def test_who_does_not_read_is_waited_for():
    cycle, _ = a_cycle()
    cycle.flow.pause_writing()
    assert not write_at_once(cycle.send, 200, b"", BODY)


def test_another_web_server_gets_the_messages_of_the_standard():
    async def send(message):
        raise AssertionError(message)

    assert not write_at_once(send, 200, b"", BODY)


def test_requests_that_follow_each_other_get_their_answers_in_order(service):
    """Sent before the first was answered, on a real connection."""
    experiment = service.create()
    body = b'{"count":1}'
    one = b"POST /v1/experiments/%b/ask HTTP/1.1\r\nHost: %b\r\n" % (
        experiment.encode(),
        service.url.partition("://")[2].encode(),
    )
    one += b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    host, _, port = service.url.partition("://")[2].partition(":")
    with socket.create_connection((host, int(port)), timeout=SECONDS) as connection:
        connection.sendall(one * 5)
        answers = [whole_message(connection).partition(b"\r\n\r\n")[2] for _ in range(5)]
    assert [play["id"] for answer in answers for play in json.loads(answer)["plays"]] == [0, 1, 2, 3, 4]
