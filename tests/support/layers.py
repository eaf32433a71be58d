"""Layers of the service (ASGI) without a web server: requests to send through them, and what comes out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tools.waiting import run_async


class Inner:
    """The application inside of a layer: takes messages until the body is whole, then answers, or fails."""

    def __init__(self, *answer: dict[str, Any], error: Exception | None = None) -> None:
        self.answer = answer or (
            {"type": "http.response.start", "status": 200, "headers": []},
            {"type": "http.response.body", "body": b"inner"},
        )
        self.error = error
        self.received: list[dict[str, Any]] = []
        self.scopes: list[dict[str, Any]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scopes.append(scope)
        if scope["type"] == "http":
            self.received.append(await receive())
            while self.received[-1].get("more_body", False):
                self.received.append(await receive())
        for message in self.answer:
            await send(dict(message))
        if self.error is not None:
            raise self.error


def request(method: str = "GET", path: str = "/", **headers: str) -> dict[str, Any]:
    """The scope of a request."""
    encoded = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http", "method": method, "path": path, "headers": encoded}


def pieces(*bodies: bytes) -> list[dict[str, Any]]:
    """A body in pieces."""
    last = len(bodies) - 1
    return [{"type": "http.request", "body": body, "more_body": at < last} for at, body in enumerate(bodies)]


def answer_of(layer: Any, scope: dict[str, Any], messages: Iterable[dict[str, Any]] = ()) -> list[dict[str, Any]]:
    """What a layer sends when these messages come in, and then the end of the connection."""
    waiting = iter(messages)
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return next(waiting, {"type": "http.disconnect"})

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    run_async(layer(scope, receive, send))
    return sent
