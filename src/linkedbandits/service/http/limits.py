"""How much a caller may send, and how often."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from linkedbandits.errors import RequestTooLarge, TooManyRequests
from linkedbandits.service.http.problems import error_response

MOST_PLAYS_A_REQUEST = 1_000
"""A batch is one step of the experiment's thread: larger ones would let the others wait."""
MOST_ARMS = 1_000
LONGEST_LABEL = 200
LONGEST_NAME = 200
LONGEST_KEY = 200
LONGEST_LEASE = 7 * 24 * 3600.0
LARGEST_BODY = 1_000_000
"""Bytes: a thousand answers, or a thousand arms, with room to spare."""


class BodyLimit:
    """Read the whole body of a request before it is parsed, and refuse one that is too large.

    The length that a caller announces is not believed: what arrives is counted.
    """

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its body in one piece."""
        if scope["type"] != "http" or scope["method"] in {"GET", "HEAD"}:
            await self._app(scope, receive, send)
            return
        try:
            body = await self._whole_body(receive)
        except RequestTooLarge as error:
            await error_response(error, scope["path"])(scope, receive, send)
            return
        await self._app(scope, first_then(body, receive), send)

    async def _whole_body(self, receive: Receive) -> Message:
        """The body as one message."""
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] != "http.request":  # the caller has hung up
                return message
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._most:
                raise RequestTooLarge(
                    f"the request is larger than {self._most} bytes; send a smaller batch, or the last part of a log"
                )
            if not message.get("more_body", False):
                return {"type": "http.request", "body": b"".join(parts), "more_body": False}


def first_then(message: Message, receive: Receive) -> Receive:
    """A message that was taken already, and then what comes."""
    pending = [message]

    async def again() -> Message:
        return pending.pop() if pending else await receive()

    return again


@dataclass
class _Bucket:
    tokens: float
    at: float


class RateLimit:
    """A token bucket for each caller: ``per_second`` requests in the long run, a few seconds' worth at once."""

    def __init__(self, per_second: float, clock: Callable[[], float], burst_seconds: float = 2.0) -> None:
        self._per_second = per_second
        self._capacity = max(1.0, per_second * burst_seconds)
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}

    def spend(self, caller: str) -> None:
        """Count a request, or refuse it and say when to come back."""
        now = self._clock()
        bucket = self._buckets.get(caller)
        if bucket is None:
            bucket = self._buckets[caller] = _Bucket(self._capacity, now)
        bucket.tokens = min(self._capacity, bucket.tokens + (now - bucket.at) * self._per_second)
        bucket.at = now
        if bucket.tokens < 1.0:
            wait = (1.0 - bucket.tokens) / self._per_second
            raise TooManyRequests(
                f"more than {self._per_second:g} requests a second with this token; come back in {wait:.3f} s, "
                "or send larger batches",
                retry_after=wait,
            )
        bucket.tokens -= 1.0
