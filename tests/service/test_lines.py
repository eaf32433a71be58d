"""Connections to a server: a few, shared in turn, let go of when unused; and a server that is silent is hung up on."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

import linkedbandits as lb
from linkedbandits.service import lines as module
from linkedbandits.service.driver_errors import DriverErrors
from linkedbandits.service.lines import Line, Lines
from linkedbandits.service.postgres_store import PostgresStore
from tests.support.connections import check_that_all_were_closed, is_open
from tests.support.store_contract import FIRST
from tools.waiting import SECONDS, until


class Wire:
    """A connection to a server that never says anything: whoever waits on it waits until somebody hangs up."""

    def __init__(self):
        self._here, self._there = socket.socketpair()
        self._here.settimeout(SECONDS)
        self.closed = False

    def fileno(self):
        return self._here.fileno()

    def execute(self, statement):
        if statement == "wait":
            assert self._here.recv(1) == b"", "there was an answer"
            raise ConnectionError("hung up")

    def can_talk(self):
        try:
            self._there.send(b"x")
        except BrokenPipeError:
            return False
        return self._here.recv(1) == b"x"

    def close(self):
        self.closed = True
        self._here.close()
        self._there.close()


def explain(error):
    return lb.StoreUnavailable(str(error))


@pytest.fixture
def made():
    return []


@pytest.fixture
def lines(made, monkeypatch):
    monkeypatch.setattr(module, "_ROUND_SECONDS", 0.01)

    def connect():
        made.append(Wire())
        return made[-1]

    lines = Lines(connect, DriverErrors(ConnectionError, (), explain))
    yield lines
    lines.close()


def test_who_waits_for_a_silent_server_is_freed(lines, monkeypatch):
    monkeypatch.setattr(module, "SECONDS_FOR_AN_ANSWER", 0.05)
    line = lines.take(to_write=True)
    with pytest.raises(lb.StoreUnavailable, match=r"within 0\.05 s; is its server up, and not stopped") as raised, line:
        line.connection.execute("wait")
    assert raised.value.detail.startswith("its server does not answer")
    lines.give_back(line, sound=False)
    assert line.connection.closed


def test_a_line_that_nobody_waits_on_is_left_alone(lines):
    line = lines.take(to_write=True)
    with line:
        pass
    line.hang_up_if_silent(float("inf"))
    assert line.connection.can_talk()
    with line:
        line.hang_up_if_silent(float("inf"))
    assert not line.connection.can_talk()


def test_a_line_knows_the_address_that_it_leaves_this_machine_from():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname(), 5) as wire:
        assert Line(wire, DriverErrors(ConnectionError, (), explain)).address_here() == "127.0.0.1"


def test_what_lies_idle_is_let_go_of_but_for_a_few(lines, made, monkeypatch):
    monkeypatch.setattr(module, "SECONDS_UNUSED", SECONDS)
    taken = [lines.take(to_write=True) for _ in range(6)]
    for line in taken:
        lines.give_back(line, sound=True)
    assert not any(wire.closed for wire in made)
    monkeypatch.setattr(module, "SECONDS_UNUSED", 0.0)
    until(lambda: sum(wire.closed for wire in made) == 4, "all but two to be closed")
    assert lines.take(to_write=True) in taken[4:]  # those used last
    assert len(made) == 6


def test_there_are_no_more_than_a_few_and_some_are_for_those_who_write(lines, made, monkeypatch):
    monkeypatch.setattr(module, "SECONDS_FOR_A_TURN", 0.01)
    reading = [lines.take(to_write=False) for _ in range(module.MOST_LINES - module.LINES_TO_WRITE)]
    with pytest.raises(lb.StoreUnavailable, match=r"all 10 connections .* in use for 0\.01 s; try again"):
        lines.take(to_write=False)
    writing = [lines.take(to_write=True) for _ in range(module.LINES_TO_WRITE)]
    with pytest.raises(lb.StoreUnavailable, match="all 14 connections"):
        lines.take(to_write=True)
    monkeypatch.setattr(module, "SECONDS_FOR_A_TURN", SECONDS)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(lines.take, to_write=False)
        for line in (*writing, reading[0]):
            lines.give_back(line, sound=True)
        assert waiting.result() in (*writing, reading[0])
    assert len(made) == module.MOST_LINES


def test_a_connection_that_cannot_be_made_takes_no_place(monkeypatch):
    monkeypatch.setattr(module, "MOST_LINES", 1)
    failures = [ConnectionError("refused")] * 3

    def connect():
        if failures:
            raise failures.pop()
        return Wire()

    lines = Lines(connect, DriverErrors(ConnectionError, (), explain))
    for _ in range(3):
        with pytest.raises(lb.StoreUnavailable, match="refused"):
            lines.take(to_write=True)
    lines.give_back(lines.take(to_write=True), sound=True)
    lines.close()
    with pytest.raises(lb.StoreUnavailable, match="was closed; open it again"):
        lines.take(to_write=True)


def test_who_waits_for_a_turn_is_told_when_the_store_is_closed(made, monkeypatch):
    monkeypatch.setattr(module, "MOST_LINES", 1)
    lines = Lines(lambda: made.append(Wire()) or made[-1], DriverErrors(ConnectionError, (), explain))
    line = lines.take(to_write=True)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(lines.take, to_write=True)
        lines.close()
        assert "was closed" in str(waiting.exception())
    lines.give_back(line, sound=True)
    assert line.connection.closed


def test_many_who_read_postgresql_at_once_share_a_few_connections_and_leave_fewer(
    postgres_url, connections, monkeypatch
):
    """Sixty downloads made more than forty, which stayed."""
    monkeypatch.setattr(module, "_ROUND_SECONDS", 0.01)
    with closing(PostgresStore(postgres_url)) as store:
        with store.writing() as tables:
            tables.create(FIRST)
        together = threading.Barrier(10)

        def read(number):
            with store.reading() as tables:
                if number < 10:
                    together.wait(SECONDS)
                return tables.record(FIRST.id)

        with ThreadPoolExecutor(40) as pool:
            assert set(map(repr, pool.map(read, range(60)))) == {repr(FIRST)}
        assert 10 <= len(connections) <= 12
        monkeypatch.setattr(module, "SECONDS_UNUSED", 0.0)
        until(lambda: sum(map(is_open, connections)) == 2, "the others to be closed")
        with store.reading() as tables:
            assert tables.record(FIRST.id) == FIRST
    check_that_all_were_closed(connections)
