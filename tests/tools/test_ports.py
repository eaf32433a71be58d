"""Ports that stay free until a server has taken them."""

from __future__ import annotations

import itertools
import socket

from tools import ports
from tools.ports import free_port


def test_no_port_is_given_twice_and_none_that_is_taken(monkeypatch):
    given = {free_port() for _ in range(50)}
    assert len(given) == 50
    with socket.create_server(("127.0.0.1", free_port())) as server:
        taken = server.getsockname()[1]
        monkeypatch.setattr(ports, "_numbers", itertools.count(taken % ports.OF_A_WORKER))
        assert free_port() != taken


def test_processes_of_one_run_have_ports_of_their_own(monkeypatch):
    found = []
    for worker in ("gw0", "gw1"):
        monkeypatch.setenv("PYTEST_XDIST_WORKER", worker)
        found.append(free_port())
    assert [port // ports.OF_A_WORKER for port in found] == [20, 21]
