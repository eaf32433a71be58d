"""Downloads: by a process of their own, few at once, and not for those who do not read."""

from __future__ import annotations

import asyncio
import io
import socket
import threading
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx
import polars as pl
import pytest

import linkedbandits as lb
from linkedbandits.service.desk import Desk
from linkedbandits.service.http import exports
from linkedbandits.service.http.access import Caller
from linkedbandits.service.http.exports import Download, Exports
from linkedbandits.service.http.pools import Pool
from linkedbandits.service.http.unread import UnreadLimit
from tests.support.service_parts import ManualClock, create
from tools.waiting import SECONDS, run_async, until

SOMEBODY, ANOTHER, NO_TOKEN = Caller("a", "viewer"), Caller("b", "viewer"), Caller(None, "admin")


@pytest.fixture
def long_experiment(own_service, monkeypatch):
    """One whose journal is more than what connections keep unread."""
    experiment = own_service.create(arms=[f"{number} " + "x" * 190 for number in range(100)], parallel=50_000)
    for _ in range(2):
        own_service.play(experiment, 40)
    for _ in range(60):
        own_service.post(experiment, "ask", {"count": 40})
    return experiment


@contextmanager
def unread(service, path, token=None):
    """A connection that asks for something and reads nothing of it."""
    where = urlsplit(service.url)
    with socket.create_connection((where.hostname, where.port), timeout=SECONDS) as connection:
        said = f"Authorization: Bearer {token}\r\n" if token else ""
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {where.netloc}\r\n{said}\r\n".encode())
        yield connection


def test_beyond_the_few_at_once_a_download_is_refused_with_when_to_come_back(own_service, long_experiment):
    path = f"/v1/experiments/{long_experiment}/journal"
    running = own_service.server.service.exports
    with unread(own_service, path), unread(own_service, f"{path}?format=parquet"):
        until(lambda: running.running == exports.MOST, "both to begin")
        refused = own_service.http.get(path)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "10")
        assert refused.json()["type"] == "urn:linkedbandits:service-unavailable"
        assert "come back" in refused.json()["detail"]
        # None of those who play waits for it.
        assert own_service.post(long_experiment, "ask", {}).status_code == 200
    until(lambda: running.running == 0, "those who hung up to be noticed")
    table = own_service.http.get(path, params={"format": "parquet"})
    assert pl.read_parquet(io.BytesIO(table.content)).height == own_service.http.get(path).text.count("\n")


def test_one_token_does_not_take_the_place_of_others():
    running = Exports(None, None, ManualClock())
    with running.place(SOMEBODY):
        with pytest.raises(lb.ServiceUnavailable, match="to this token already"), running.place(SOMEBODY):
            pytest.fail("there was a place")
        with running.place(ANOTHER):
            assert running.running == 2
            with pytest.raises(lb.ServiceUnavailable, match="2 journals are being sent"), running.place(NO_TOKEN):
                pytest.fail("there was a place")
    with running.place(NO_TOKEN), running.place(NO_TOKEN):
        assert running.running == 2
    assert running.running == 0


def test_one_user_of_a_proxy_does_not_take_the_place_of_others():
    running = Exports(None, None, ManualClock())
    ann, bob = (Caller(None, "viewer", name, user=True) for name in ("ann", "bob"))
    with running.place(ann):
        with pytest.raises(lb.ServiceUnavailable, match="to this user already"), running.place(ann):
            pytest.fail("there was a place")
        with running.place(bob):
            assert running.running == 2


def test_one_who_reads_nothing_is_cut_off_and_keeps_no_place(own_service, long_experiment, monkeypatch):
    limit = own_service.server.config.app
    while not isinstance(limit, UnreadLimit):
        limit = limit._app
    monkeypatch.setattr(limit, "_seconds", 0.05)
    running, connections = own_service.server.service.exports, own_service.server.server_state.connections
    before = len(connections)
    begun, opened = threading.Event(), running._open
    monkeypatch.setattr(running, "_open", lambda *of: (begun.set(), opened(*of))[1])
    with unread(own_service, f"/v1/experiments/{long_experiment}/journal"):
        assert begun.wait(SECONDS)
        until(lambda: running.running == 0, "it to be given up")
        until(lambda: len(connections) == before, "its connection to be gone, though nothing was read from it")


def test_one_who_reads_too_slowly_is_given_up(store, monkeypatch):
    monkeypatch.setattr(exports, "PIECE", 100)
    clock, slow = ManualClock(), []
    with Desk(store) as desk:
        experiment = create(desk)
        desk.ask(experiment, 200).result()

    async def read(seconds):
        pool = Pool("exports", 2)
        running = Exports(store, pool, clock)
        pieces = []
        async for piece in running.pieces(experiment, "jsonl", lambda: slow.append(1)):
            pieces.append(piece)
            clock.now += seconds
        pool.close()
        return b"".join(pieces)

    whole = run_async(read(0.001))
    assert (whole.count(b"\n"), slow) == (200, [])
    assert len(run_async(read(exports.PATIENCE / 3))) == 300 + 100
    assert slow == [1]


def test_a_store_that_no_other_process_can_open_is_exported_here(store):
    class Own:
        """Like the store, but of this process alone."""

        reading = store.reading

    with Desk(store) as desk:
        experiment = create(desk)
        desk.ask(experiment, 3).result()

    async def read():
        pool = Pool("exports", 2)
        pieces = [piece async for piece in Exports(Own, pool, ManualClock()).pieces(experiment, "parquet", list)]
        pool.close()
        return b"".join(pieces)

    assert pl.read_parquet(io.BytesIO(run_async(read()))).height == 3


def test_a_process_that_fails_is_said_before_the_first_piece_and_cuts_the_connection_behind_it(
    own_service, long_experiment, monkeypatch, caplog
):
    path = f"/v1/experiments/{long_experiment}/journal"
    read, pieces = exports._Process.read, []

    def fail_later(self):
        if len(pieces) >= after:
            raise lb.StoreUnavailable("the process has failed")
        pieces.append(read(self))
        return pieces[-1]

    monkeypatch.setattr(exports._Process, "read", fail_later)
    after = 0
    failed = own_service.http.get(path)
    assert (failed.status_code, failed.json()["type"]) == (503, "urn:linkedbandits:store-unavailable")
    after = 1
    with pytest.raises(httpx.TransportError):
        own_service.http.get(path)
    until(lambda: own_service.server.service.exports.running == 0, "its place to be free again")


def test_the_process_says_why_it_failed(tmp_path):
    failing = exports._Process(str(tmp_path / "nothing.sqlite3"), "x", "jsonl")
    with pytest.raises(lb.StoreUnavailable, match=r"has failed: InvalidParameter$"):
        failing.read()
    failing.close()
    assert not (tmp_path / "nothing.sqlite3").exists()


@pytest.mark.parametrize("hangs_in", ["read", "_open"])
def test_one_who_hangs_up_before_the_first_piece_keeps_no_place(store, monkeypatch, hangs_in):
    """A table of many plays takes long until its first byte is there."""
    hanging, go_on, closed = threading.Event(), threading.Event(), threading.Event()

    class Slow:
        def read(self):
            hanging.set()
            go_on.wait(SECONDS)
            return b""

        def close(self):
            go_on.set()
            closed.set()

    def slow_open(*_):
        if hangs_in == "_open":
            hanging.set()
            go_on.wait(SECONDS)
        return Slow()

    monkeypatch.setattr(Exports, "_open", slow_open)
    sent = []

    async def run():
        pool, leave = Pool("exports", 2), asyncio.Event()
        running = Exports(store, pool, ManualClock())
        messages = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive():
            if messages:
                return messages.pop()
            await leave.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)

        answer = Download(running, "x", "parquet", SOMEBODY)
        task = asyncio.create_task(answer({"type": "http", "path": "/", "method": "GET"}, receive, send))
        while not hanging.is_set():
            await asyncio.sleep(0.001)
        assert running.running == 1
        leave.set()
        await task
        assert running.running == 0
        go_on.set()
        while not closed.is_set():
            await asyncio.sleep(0.001)
        pool.close()

    run_async(run())
    assert sent == []


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("StoreUnavailable: the disk is full", "StoreUnavailable: the disk is full"),
        ("Traceback\n  line\npsycopg.errors.UndefinedTable: 'SECRETLABEL'", "psycopg.errors.UndefinedTable"),
        ("HitNotInPlay: 'SECRETLABEL' was not tried", "HitNotInPlay"),
        ("'SECRETLABEL", "status 1"),
        ("", "status 1"),
    ],
)
def test_what_a_process_says_in_the_end_names_no_label(monkeypatch, said, reason):
    program = f"import sys; sys.stdin.read(); sys.exit({said!r} or 1)"
    popen = exports.subprocess.Popen
    monkeypatch.setattr(exports.subprocess, "Popen", lambda command, **more: popen([command[0], "-c", program], **more))
    failing = exports._Process("store", "x", "jsonl")
    with pytest.raises(lb.StoreUnavailable) as raised:
        failing.read()
    failing.close()
    assert str(raised.value).endswith(f"has failed: {reason}")
