"""Answers that wait to be read: how many bytes of them there may be, and for how long.

A caller who does not read what it asked for would otherwise have the service keep it, whole, for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from linkedbandits.errors import ServiceUnavailable
from linkedbandits.service.http.logs import log_event
from linkedbandits.service.http.problems import error_response

SMALL = 64 * 1024
"""Bytes that a connection takes at once, whoever reads them: these are not counted."""
MOST_UNREAD = 64_000_000
"""Bytes of larger pieces that may wait to be read, all connections together.

A new answer beyond that is refused. The next piece of one that has begun, such as an event stream, cannot be: for it,
those are cut that have kept theirs waiting for longest.
"""
SECONDS_OF_GRACE = 2.0
"""But none that has just begun to wait: those who read have it by then."""
SECONDS_TO_READ = 30.0
"""After these, a connection whose other side has not taken a piece is cut."""

_CUT = "linkedbandits.cut"


def note_connection(scope: Scope, send: Send) -> None:
    """So that layers inside can cut the connection of a caller who does not read; ``send`` has to be the web server's.

    ASGI has no way to do so, but what uvicorn sends by has the connection.
    """
    transport = getattr(getattr(send, "__self__", None), "transport", None)
    if transport is not None:
        scope[_CUT] = transport.abort


def cut(scope: Scope) -> None:
    """Drop the connection with all that waits in it; nothing where that is not known."""
    found: Callable[[], None] | None = scope.get(_CUT)
    if found is not None:
        found()


class UnreadLimit:
    """A layer that counts what waits to be read, in ``unread``."""

    def __init__(
        self,
        app: ASGIApp,
        most: int = MOST_UNREAD,
        seconds: float = SECONDS_TO_READ,
        grace: float = SECONDS_OF_GRACE,
    ) -> None:
        self._app = app
        self._grace = grace
        self._most = most
        self._seconds = seconds
        self.unread = 0
        self._waiting: dict[asyncio.Timeout, int] = {}  # bytes of each piece, the one that waits longest first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and its answer back as fast as it is read."""
        await self._app(scope, receive, self.bounded(scope, receive, send) if scope["type"] == "http" else send)

    def bounded(self, scope: Scope, receive: Receive, send: Send) -> Send:
        """What to send an answer by that may be larger than ``SMALL``."""
        over = False

        async def send_on(message: Message) -> None:
            nonlocal over
            if over:  # refused or cut: whatever else comes is for nobody
                return
            body = message.get("body", b"")
            if message["type"] == "http.response.start":
                size = _announced(message)
                if size > SMALL and self.unread + size > self._most:
                    over = True
                    refusal = ServiceUnavailable("too much is waiting to be read by others; come back in a while")
                    await error_response(refusal, scope["path"])(scope, receive, send)
                    return
            if len(body) <= SMALL and not message.get("more_body", False):
                await send(message)
                return
            since = monotonic()
            if not await self._in_time(message, body, send):
                over = True
                seconds = round(monotonic() - since, 1)
                log_event("unread", route=getattr(scope.get("route"), "path", "unknown"), seconds=seconds)
                cut(scope)

        return send_on

    async def _in_time(self, message: Message, body: bytes, send: Send) -> bool:
        """Send it in small pieces, each when there is room for it; False if the other side takes too long."""
        more, last = message.get("more_body", False), max(len(body) - SMALL, 0)
        waiting = asyncio.timeout(self._seconds)
        try:
            async with waiting:
                self._count(waiting, len(body))
                for at in range(0, last, SMALL):
                    await send({**message, "body": body[at : at + SMALL], "more_body": True})
                at = -(-last // SMALL) * SMALL
                await send({**message, "body": body[at:], "more_body": more})
        except TimeoutError:
            return False
        finally:
            self.unread -= self._waiting.pop(waiting, 0)
        return True

    def _count(self, waiting: asyncio.Timeout, size: int) -> None:
        """One more that waits; others that have waited for too long make room for it."""
        self.unread += size
        self._waiting[waiting] = size
        now = asyncio.get_running_loop().time()
        while self.unread > self._most:
            longest = next(iter(self._waiting))
            if now - (longest.when() or now) + self._seconds < self._grace:
                return
            self.unread -= self._waiting.pop(longest)
            if not longest.expired():
                longest.reschedule(now)


def _announced(start: Message) -> int:
    """The length that an answer says it will have; 0 if it does not know."""
    return next((int(value) for name, value in start.get("headers", ()) if name == b"content-length"), 0)
