"""The outermost layer: the name of every request, security headers on the way out, a measurement and a log line."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from linkedbandits.service.http.at_once import write_at_once
from linkedbandits.service.http.logs import log_event
from linkedbandits.service.http.metrics import Metrics
from linkedbandits.service.http.problems import stopping_response
from linkedbandits.service.http.request_ids import HEADER, begin_request
from linkedbandits.service.http.unread import note_connection

NO_ANSWER = 499
"""The status, by the habit of others, of a request that was left without one: its caller has hung up before."""
SLOW_SECONDS = 1.0
"""A request that takes longer is logged, unless its answer is a stream, which may."""
_CONTENT_SECURITY = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
SECURITY_HEADERS = [
    (b"content-security-policy", _CONTENT_SECURITY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]

_JSON = (b"content-type", b"application/json")
_HEAD_OF_JSON = b"".join(b"%b: %b\r\n" % header for header in (_JSON, *SECURITY_HEADERS))


def _is_short_json(start: Message) -> bool:
    """Has the answer a length and a type, as is written for ask and tell, and nothing that would have to be checked?"""
    headers = start.get("headers", ())
    return len(headers) == 2 and headers[0][0] == b"content-length" and headers[1] == _JSON


class NamedRoute(NamedTuple):
    """What the metrics and the log call what answers a request, where the framework does not say it."""

    path: str


class Edge:
    """Wraps the whole application."""

    def __init__(
        self, app: ASGIApp, metrics: Metrics, clock: Callable[[], float], log_requests: bool, closing: asyncio.Event
    ) -> None:
        """``closing`` is set when the service stops; the web server cancels requests that take too long after that."""
        self._app = app
        self._closing = closing
        self._metrics = metrics
        self._clock = clock
        self._log_requests = log_requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and say how that went."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        note_connection(scope, send)
        start = self._clock()
        name = (HEADER, begin_request(scope["headers"]).encode())
        status, answered, streamed = NO_ANSWER, False, False
        held: Message | None = None  # the head of an answer of which the body is about to come

        async def send_on(message: Message) -> None:
            nonlocal status, answered, streamed, held
            if message["type"] == "http.response.start":
                status = message["status"]
                if _is_short_json(message):
                    held = message
                    return
                message["headers"] = [*message.get("headers", ()), *SECURITY_HEADERS, name]
            elif held is not None:
                start, held = held, None
                answered = not message.get("more_body", False) and write_at_once(
                    send, status, b"%b%b: %b\r\n" % (_HEAD_OF_JSON, *name), message.get("body", b"")
                )
                if answered:
                    return
                await send({**start, "headers": [*start["headers"], *SECURITY_HEADERS, name]})
            await send(message)
            answered = message["type"] == "http.response.body" and not message.get("more_body", False)
            streamed = streamed or message.get("more_body", False)

        try:
            try:
                await self._app(scope, receive, send_on)
            except asyncio.CancelledError:
                if status != NO_ANSWER or not self._closing.is_set():
                    raise
                await stopping_response(scope["path"])(scope, receive, send_on)
        except Exception:  # the framework raises again what it has answered with a 500
            if not answered:
                status = 500 if status == NO_ANSWER else status
                raise
            # It is logged, and the answer was a 500; the web server would close the connection on top of that.
        finally:
            seconds = self._clock() - start
            # A path that no route knows may be anything: it must not become a series of its own.
            route = getattr(scope.get("route"), "path", "unknown")
            self._metrics.request(scope["method"], route, status, seconds)
            slow = seconds >= SLOW_SECONDS and not streamed
            # Where the store is away every request is a 503: that is said once, and not for each of them.
            broken = status >= 500 and status != 503
            if self._log_requests or broken or slow:
                level = logging.ERROR if broken else logging.WARNING if slow or status >= 500 else logging.INFO
                log_event(
                    "request-slow" if slow and not self._log_requests and not broken else "request",
                    level=level,
                    method=scope["method"],
                    route=route,
                    status=status,
                    milliseconds=round(1000 * seconds, 2),
                )
