"""Connections of a real server, with sockets that do what no client should."""

from __future__ import annotations

import json
import socket
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace

import pytest

from linkedbandits.service.http.limits import LARGEST_BODY
from linkedbandits.service.http.service import Settings
from tests.support.http_messages import whole_message
from tests.support.running_service import running_service
from tools.waiting import SECONDS, until


@contextmanager
def connected(service):
    host, port = service.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=SECONDS) as connection:
        yield connection


def received(connection) -> bytes:
    """All that comes until the other side closes."""
    found = b""
    try:
        while piece := connection.recv(65_536):
            found += piece
    except ConnectionResetError:
        pass
    return found


def send(connection, data) -> None:
    """As far as the other side takes it."""
    with suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(data)


def problem_in(answer: bytes) -> dict:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head
    assert b"connection: close" in head
    assert b"content-security-policy: " in head
    problem = json.loads(body)
    assert f"x-request-id: {problem['request_id']}".encode() in head
    assert head.startswith(f"HTTP/1.1 {problem['status']} {problem['title']}".encode())
    return problem


HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST /v1/experiments HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def set_limits(service, **limits):
    service.server.door.limits = replace(service.server.door.limits, **limits)


def is_served(service) -> bool:
    return service.http.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (HEAD + b"X-Long: " + b"a" * 300_000, 431),
        (HEAD + b"X-Long: " + b"a" * 40_000 + b"\r\n\r\n", 431),
        (HEAD + b"X-Many: a\r\n" * 101 + b"\r\n", 431),
        (b"GET /" + b"a" * 300_000, 414),
        (b"GET /" + b"a" * 9_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
        (b"\r\n" * 20_000, 431),
        (b"\x16\x03\x01 this is TLS", 400),
        (b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
    ],
    ids=["endless header", "long header", "many headers", "endless address", "long address", "lines", "TLS", "lengths"],
)
def test_a_head_that_is_too_large_or_none_is_refused_with_a_problem(service, sent, status):
    with connected(service) as connection:
        half = len(sent) // 2
        send(connection, sent[:half])
        send(connection, sent[half:])
        answer = received(connection)
    if answer:  # what was sent behind the refusal may have undone it on its way
        assert problem_in(answer)["status"] == status
    else:
        assert len(sent) > 40_000
    assert is_served(service)


CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("beginning", "piece"),
    [
        (CHUNKED + b"0\r\n", b"a: b\r\n" * 10_000),
        (CHUNKED + b"0\r\nX-Long: ", b"a" * 60_000),
        (CHUNKED + b"1;x=", b"a" * 60_000),
    ],
    ids=["many trailers", "endless trailer", "endless extension"],
)
def test_what_comes_around_the_chunks_of_a_body_is_bounded_like_a_head(own_service, beginning, piece):
    with connected(own_service) as connection:
        send(connection, beginning)
        for _ in range(100):
            send(connection, piece)
        answer = received(connection)
    if answer:  # what was sent behind the refusal may have undone it on its way
        assert problem_in(answer)["status"] == 431
    assert own_service.server.door.turned_away == {"large": 1}
    assert is_served(own_service)


def test_trailers_are_taken_and_are_no_headers(service):
    body = json.dumps({"name": "directions", "arms": ["north", "east"]}).encode()
    chunk = b"%x;why=not\r\n%b\r\n" % (len(body), body)
    with connected(service) as connection:
        connection.sendall(CHUNKED + chunk)
        connection.sendall(b"0\r\n" + b"X-Behind: a\r\n" * 150 + b"\r\n" + HEAD + b"Connection: close\r\n\r\n")
        answer = received(connection)
    assert b" 201 Created" in answer
    assert answer.count(b"HTTP/1.1 200 OK") == 1


def test_a_token_behind_the_body_is_none(tmp_path):
    body = json.dumps({"name": "directions", "arms": ["north", "east"]}).encode()
    with running_service(str(tmp_path / "a.sqlite3"), Settings(open_without_tokens=False)) as service:
        token = service.make_token("admin")[0].encode()
        with connected(service) as connection:
            sent = CHUNKED + b"%x\r\n%b\r\n0\r\nAuthorization: Bearer %b\r\n\r\n" % (len(body), body, token)
            connection.sendall(sent + HEAD + b"Connection: close\r\n\r\n")  # all there before anybody looks at it
            assert b" 401 Unauthorized" in received(connection)


@pytest.mark.parametrize("how", ["trailers", "nonsense", "time", "stop"])
def test_who_was_refused_before_the_body_was_there_gets_one_answer(tmp_path, how):
    with running_service(str(tmp_path / "a.sqlite3"), Settings(open_without_tokens=False)) as service:
        service.make_token("viewer")
        with connected(service) as connection:
            connection.sendall(CHUNKED + b"1388\r\n" + b" " * 5_000 + b"\r\n")
            answer = whole_message(connection)
            assert b"HTTP/1.1 401 " in answer
            if how == "trailers":
                send(connection, b"0\r\n")
                for _ in range(10):
                    send(connection, b"a: b\r\n" * 10_000)
            elif how == "nonsense":
                send(connection, b"no chunk\r\n")
            elif how == "time":
                set_limits(service, request_seconds=0.2)
            else:
                service.server.should_exit = True
            answer += received(connection)
    assert answer.count(b"HTTP/1.1 ") == 1


def test_what_is_just_small_enough_is_served(service):
    head = HEAD + b"X-Many: a\r\n" * 98 + b"X-Long: " + b"a" * 31_000 + b"\r\n"
    with connected(service) as connection:
        for piece in (
            head[:100],
            head[100:20_000],
            head[20_000:] + b"\r\n",
            b"\r\n" + HEAD + b"Connection: close\r\n\r\n",
        ):
            connection.sendall(piece)
        assert received(connection).count(b"HTTP/1.1 200") == 2


def test_a_large_body_with_its_head_in_one_piece_is_no_large_head(service):
    body = json.dumps({"name": "directions", "arms": ["north", "east"]}).encode().ljust(200_000)
    with connected(service) as connection:
        connection.sendall(POST + b"Connection: close\r\nContent-Length: 200000\r\n\r\n" + body)
        assert b" 201 Created" in received(connection)


def test_others_are_answered_however_many_only_hold_a_place(own_service):
    """All connections that fit are taken by those that send a byte, nothing, or half a body; each new one has room."""
    set_limits(own_service, connections=12)
    with ExitStack() as held:
        sockets = [held.enter_context(connected(own_service)) for _ in range(40)]
        for number, one in enumerate(sockets):
            send(one, (b"", b"G", POST + b"Content-Length: 9\r\n\r\n{")[number % 3])
        for _ in range(5):
            assert is_served(own_service)
        until(lambda: own_service.server.door.turned_away["pushed-out"] >= 28, "the first to be pushed out")
        assert own_service.server.door.present <= 12
        assert received(sockets[0]) == b""


def test_who_is_being_served_stays(own_service):
    """An event stream has its place, and so has a client that was let in, while strangers come and go."""
    own_service.create()
    set_limits(own_service, connections=6)
    with own_service.http.stream("GET", "/v1/events") as stream, ExitStack() as held:
        lines = stream.iter_lines()
        next(lines)
        with connected(own_service) as worker:
            worker.sendall(b"GET /v1/me HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"200 OK" in whole_message(worker)
            for _ in range(30):
                send(held.enter_context(connected(own_service)), b"G")
            until(lambda: own_service.server.door.turned_away["pushed-out"] >= 20, "strangers to be pushed out")
            worker.sendall(HEAD + b"\r\n")
            assert b"200 OK" in whole_message(worker)
        own_service.create(name="seen")
        assert any("seen" in line for line in lines)


def test_where_all_are_being_served_a_new_one_is_told_so(own_service):
    set_limits(own_service, connections=1)
    with own_service.http.stream("GET", "/v1/events") as stream:
        lines = stream.iter_lines()  # letting go of it hangs up
        next(lines)
        with connected(own_service) as connection:
            assert problem_in(received(connection))["status"] == 503


@pytest.mark.parametrize(
    ("sent", "status"),
    [(b"G", 408), (HEAD, 408), (POST + b"Content-Length: 9\r\n\r\n{", 408), (b"", None), (b"\r\n", None)],
    ids=["byte", "half a head", "half a body", "nothing", "lines"],
)
def test_a_request_that_does_not_come_to_its_end_is_given_up(own_service, sent, status):
    with connected(own_service) as connection:
        connection.sendall(sent)
        assert is_served(own_service)  # so what was sent before is there
        set_limits(own_service, head_seconds=0.2, request_seconds=0.2, idle_seconds=0.2)
        answer = received(connection)
    if status is None:
        assert answer == b"" or problem_in(answer)["status"] == 408
    else:
        assert problem_in(answer)["status"] == status
    until(lambda: own_service.server.door.present == 0, "the connection to leave")


def test_a_connection_that_sends_empty_lines_between_requests_is_idle_all_the_same(own_service):
    set_limits(own_service, idle_seconds=0.2)
    with connected(own_service) as connection:
        connection.sendall(HEAD + b"\r\n\r\n")
        assert b"200 OK" in received(connection)


def test_no_more_requests_are_taken_ahead_than_a_few(service):
    with connected(service) as connection:
        send(connection, (HEAD + b"\r\n") * 200)
        answer = received(connection)
    assert answer.count(b"HTTP/1.1 200") < 200
    with connected(service) as connection:
        connection.sendall((HEAD + b"\r\n") * 9 + HEAD + b"Connection: close\r\n\r\n")
        assert received(connection).count(b"HTTP/1.1 200") == 10


def test_without_a_token_no_large_body_is_waited_for_and_little_of_it_thrown_away(tmp_path):
    with running_service(str(tmp_path / "a.sqlite3"), Settings(open_without_tokens=False)) as service:
        viewer, _ = service.make_token("viewer")
        with connected(service) as connection:
            connection.sendall(POST + b"Content-Length: 1000000\r\n\r\n" + b" " * 5_000)
            assert b"HTTP/1.1 401 " in whole_message(connection)  # long before all of it is there
            send(connection, b" " * 900_000)
        signed = b"Authorization: Bearer " + viewer.encode() + b"\r\n"
        with connected(service) as connection:
            connection.sendall(POST + signed + b"Transfer-Encoding: chunked\r\n\r\n1388\r\n" + b" " * 5_000)
            assert b"HTTP/1.1 403 " in whole_message(connection)
            for _ in range(100):
                send(connection, b"\r\nffff\r\n" + b" " * 65_535)
            assert received(connection) == b""  # the other side has hung up long since
        assert is_served(service)


def test_a_body_that_is_announced_too_large_is_refused_before_it_comes(service):
    with connected(service) as connection:
        connection.sendall(POST + b"Content-Length: %d\r\n\r\n" % (LARGEST_BODY + 1))
        connection.sendall(b" ")
        assert b"HTTP/1.1 413 " in whole_message(connection)


def test_who_waits_to_be_told_to_go_on_is_told(service):
    body = json.dumps({"name": "directions", "arms": ["north", "east"]}).encode()
    with connected(service) as connection:
        connection.sendall(POST + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body))
        assert whole_message(connection) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        assert b" 201 Created" in whole_message(connection)


def test_a_stop_does_not_wait_for_half_a_request(own_service, caplog):
    with connected(own_service) as half, connected(own_service) as nothing:
        half.sendall(POST + b"Content-Length: 9\r\n\r\n{")
        until(lambda: own_service.server.door.present >= 2, "both to come in")
        assert is_served(own_service)
        own_service.server.should_exit = True
        assert problem_in(received(half))["status"] == 503
        assert received(nothing) == b""
    assert "timeout graceful shutdown exceeded" not in caplog.text


def test_what_strangers_get_wrong_is_counted_and_not_logged(own_service, caplog):
    with connected(own_service) as connection:
        connection.sendall(b"nonsense\r\n\r\n")
        received(connection)
    assert own_service.server.door.turned_away == {"wrong": 1}
    assert caplog.records == []
