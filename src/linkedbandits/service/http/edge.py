"""The outermost layer: security headers on the way out, and a measurement and a log line of every request."""

from __future__ import annotations

import logging
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from linkedbandits.service.http.logs import log_event
from linkedbandits.service.http.metrics import Metrics

_CONTENT_SECURITY = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_HEADERS = [
    (b"content-security-policy", _CONTENT_SECURITY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]


class Edge:
    """Wraps the whole application."""

    def __init__(self, app: ASGIApp, metrics: Metrics, clock: Callable[[], float], log_requests: bool) -> None:
        self._app = app
        self._metrics = metrics
        self._clock = clock
        self._log_requests = log_requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and say how that went."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = self._clock()
        status, answered = 500, False

        async def send_on(message: Message) -> None:
            nonlocal status, answered
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)
            answered = message["type"] == "http.response.body" and not message.get("more_body", False)

        try:
            await self._app(scope, receive, send_on)
        except Exception:
            if not answered:
                raise
            # It is logged, and the answer was a 500; the web server would close the connection on top of that.
        finally:
            seconds = self._clock() - start
            # A path that no route knows may be anything: it must not become a series of its own.
            route = getattr(scope.get("route"), "path", "unknown")
            self._metrics.request(scope["method"], route, status, seconds)
            if self._log_requests or status >= 500:
                level = logging.ERROR if status >= 500 else logging.INFO
                log_event(
                    "request",
                    level=level,
                    method=scope["method"],
                    route=route,
                    status=status,
                    milliseconds=round(1000 * seconds, 2),
                )
