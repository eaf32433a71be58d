"""Ports for servers that have to be told theirs, or begin again on the one they had."""

from __future__ import annotations

import itertools
import os
import random
import socket

FIRST = 20_000
OF_A_WORKER = 1_000
"""Below those that systems give to whoever asks for any: none of these can be taken by somebody's connection."""
_numbers = itertools.count(random.SystemRandom().randrange(OF_A_WORKER))


def free_port() -> int:
    """A port of this machine that nobody listens on; other processes of a test run take others."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 12
    for number in itertools.islice(_numbers, OF_A_WORKER):
        port = FIRST + OF_A_WORKER * worker + number % OF_A_WORKER
        with socket.socket() as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError(f"all ports from {FIRST} on are taken")
