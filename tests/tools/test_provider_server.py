"""Providers that replay a table fail where they are told to, and where it is known beforehand."""

from __future__ import annotations

import socket
import subprocess
import sys
from contextlib import contextmanager

import pytest

from tests.support.command_line import environment_of_scripts
from tests.support.http_messages import whole_message
from tools.ports import free_port
from tools.provider_server import READY, SHARES, fault, works
from tools.waiting import SECONDS, killed_in_the_end


def first_with(kind, option=2):
    """The first request that has this fault."""
    return next(request for request in range(10**6) if fault(request, option) == kind)


@contextmanager
def provider(outcomes, option=2):
    """Its port, while it runs."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "tools.provider_server", str(port), str(option), outcomes],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment_of_scripts(),
    )
    with killed_in_the_end(process), process.stdin, process.stdout:
        assert process.stdout.readline().strip() == READY
        yield port


def ask(connection, row, request):
    connection.sendall(b"GET /%d/%d HTTP/1.1\r\nHost: provider\r\n\r\n" % (row, request))
    head, _, body = whole_message(connection).partition(b"\r\n\r\n")
    return int(head.split()[1]), int(body)


def test_faults_have_their_shares_and_differ_by_provider():
    found = {option: [fault(request, option) for request in range(200_000)] for option in (0, 7)}
    for kinds in found.values():
        for kind, share in SHARES.items():
            assert abs(kinds.count(kind) / 200_000 - share) < 6 * (share / 200_000) ** 0.5
    assert found[0] != found[7]


@pytest.mark.slow
def test_it_answers_by_the_table_and_cuts_connections_where_it_is_said():
    with provider("10") as port:
        good, slow, reset = first_with(None), first_with("slow"), first_with("reset")
        with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection:
            assert ask(connection, 0, good) == (200, good)
            assert ask(connection, 1, good) == (503, good)
            assert ask(connection, 0, slow) == (200, slow)
            with pytest.raises(ConnectionResetError):
                ask(connection, 0, reset)
    assert [works("10", 0, request, 2) for request in (good, slow, reset, first_with("late"))] == [
        True,
        True,
        False,
        False,
    ]
    assert not works("10", 1, good, 2)
    with pytest.raises(ConnectionError):
        socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
