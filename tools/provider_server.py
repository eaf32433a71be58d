"""A provider behind HTTP that replays its column of a table of outcomes, with faults: a process that can be killed.

    python -m tools.provider_server PORT OPTION 1101...

The last argument has an outcome for each row of the table. ``GET /ROW/REQUEST`` is answered with status 200 if the row
has a success, and else with 503. Whether there is a fault follows from the request and the option alone, so that it is
known beforehand on which requests all providers fail.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from typing import Literal, cast

Fault = Literal["slow", "late", "reset"]

SHARES: dict[Fault, float] = {"slow": 0.01, "late": 0.0002, "reset": 0.005}
"""Of all requests to a provider: answers that take a while, those that take too long, and connections that are cut."""
SLOW = 0.05
"""Seconds that a slow answer takes."""
PATIENCE = 5.0
"""Seconds after which a client gives up, which is far above what a busy machine takes for an answer."""
MASK = 0xFFFFFFFF
READY = "ready"


def fault(request: int, option: int) -> Fault | None:
    """What goes wrong with a request at a provider; each has the share stated, in all.

    >>> [fault(request, 3) for request in range(150, 156)]
    [None, None, None, None, None, None]
    >>> found = [fault(request, 3) for request in range(100_000)]
    >>> {kind: round(found.count(kind) / 100_000, 3) for kind in SHARES}
    {'slow': 0.01, 'late': 0.0, 'reset': 0.005}
    """
    drawn = (request * 0x9E3779B1 + (option + 1) * 0x85EBCA6B) & MASK
    for factor in (0x7FEB352D, 0x846CA68B):
        drawn = ((drawn ^ (drawn >> 16)) * factor) & MASK
    share = (drawn ^ (drawn >> 16)) / (MASK + 1)
    for kind, its_share in SHARES.items():
        if share < its_share:
            return kind
        share -= its_share
    return None


def works(outcomes: str | list[bool], row: int, request: int, option: int) -> bool:
    """Does a provider that runs answer this request in time, with a success?"""
    return outcomes[row] in ("1", True) and fault(request, option) not in ("late", "reset")


class Provider(asyncio.Protocol):
    """One connection, with one request at a time."""

    def __init__(self, option: int, outcomes: str) -> None:
        self._option = option
        self._outcomes = outcomes
        self._received = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client is there."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Answer what is whole."""
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            path = self._received[:end].split(b" ", 2)[1]
            self._received = self._received[end + 4 :]
            _, row, request = path.split(b"/")
            self._answer(int(row), int(request))

    def _answer(self, row: int, request: int) -> None:
        assert self._transport is not None
        wrong = fault(request, self._option)
        if wrong == "reset":
            connection = self._transport.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._transport.abort()
            return
        line = b"200 OK" if self._outcomes[row] == "1" else b"503 Service Unavailable"
        body = b"%d" % request
        answer = b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (line, len(body), body)
        if wrong is None:
            self._transport.write(answer)
        else:
            seconds = SLOW if wrong == "slow" else 2 * PATIENCE
            asyncio.get_running_loop().call_later(seconds, self._write, answer)

    def _write(self, answer: bytes) -> None:
        """Send it, if the client is still there."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(answer)


async def serve(port: int, option: int, outcomes: str) -> None:
    """Serve until killed, or until the process that began it is gone."""
    loop = asyncio.get_running_loop()
    await loop.create_server(lambda: Provider(option, outcomes), "127.0.0.1", port, backlog=2048)
    print(READY, flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


def main() -> None:
    """Begin, on uvloop where that is installed."""
    port, option, outcomes = sys.argv[1:]
    with quick_runner() as runner:
        runner.run(serve(int(port), int(option), outcomes))


def quick_runner() -> asyncio.Runner:
    """Event loops of uvloop, where that is installed."""
    try:
        from uvloop import new_event_loop
    except ModuleNotFoundError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=new_event_loop)


if __name__ == "__main__":
    main()
