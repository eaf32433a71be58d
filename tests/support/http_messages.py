"""HTTP as it comes over a plain socket: in as many pieces as the network likes."""

from __future__ import annotations

import re
import socket


def whole_message(connection: socket.socket) -> bytes:
    """The next request or answer, head and body, and nothing of what follows it."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += _some(connection, 1, head)
    assert b"\r\ntransfer-encoding:" not in head.lower(), head
    length = re.search(rb"\r\ncontent-length: *(\d+)\r\n", head, re.IGNORECASE)
    missing = int(length[1]) if length else 0
    body = b""
    while len(body) < missing:
        body += _some(connection, missing - len(body), head + body)
    return head + body


def _some(connection: socket.socket, most: int, before: bytes) -> bytes:
    """At least a byte."""
    piece = connection.recv(most)
    if not piece:
        raise ConnectionError(f"the other side has hung up after {before!r}")
    return piece
