"""How much a caller may send, and how often."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from linkedbandits.errors import InvalidParameter, LinkedBanditError, ServiceUnavailable
from linkedbandits.service.http.problems import error_response

MOST_PLAYS_A_REQUEST = 1_000
"""A batch is one step of the experiment's thread: larger ones would let the others wait."""
MOST_ARMS = 1_000
LONGEST_LABEL = 200
LONGEST_NAME = 200
LONGEST_KEY = 200
LONGEST_LEASE = 7 * 24 * 3600.0
LARGEST_ASKED = 1_000_000
"""Bytes of the plays in an answer, but those of a single one."""
LARGEST_BODY = 1_000_000
"""Bytes: a thousand answers, or a thousand arms, with room to spare."""
LARGEST_BODIES = 32_000_000
"""Bytes of all bodies that are in memory at once, from the first byte of one until it is answered."""
SMALL_BODY = 4_096
"""Up to here it costs less to read a body than to look first who sent it."""

Admit = Callable[[Mapping[str, str], str | None], Awaitable[object]]
"""Raises an error of the library if the sender of these headers may send no large body."""


class BodyLimit:
    """Read the whole body of a request before it is parsed, and refuse one that is too large.

    The length that a caller announces is not believed: what arrives is counted. A body of more than a few thousand
    bytes is read, and parsed, only for those whom ``admit`` lets in, and the bodies of all together are bounded, too.
    """

    def __init__(self, app: ASGIApp, most: int, admit: Admit | None = None, together: int = LARGEST_BODIES) -> None:
        self._app = app
        self._most = most
        self._admit = admit
        self._together = together
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its body in one piece."""
        if scope["type"] != "http" or scope["method"] in {"GET", "HEAD"}:
            await self._app(scope, receive, send)
            return
        first = await receive()
        body = first.get("body", b"")
        if len(body) <= min(SMALL_BODY, self._most) and not first.get("more_body", False):
            await self._app(scope, first_then(first, receive), send)
            return
        reading = _Reading()
        try:
            try:
                await self._check_caller(scope)
                whole = await self._whole_body(reading, first, receive)
            except LinkedBanditError as error:
                await error_response(error, scope["path"])(scope, receive, send)
                return
            await self._app(scope, first_then(whole, receive), send)
        finally:
            self._held -= reading.size

    async def _check_caller(self, scope: Scope) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if self._admit is not None:
            client = scope.get("client")
            await self._admit(headers, client[0] if client else None)
        announced = headers.get("content-length", "0")
        if announced.isdecimal() and int(announced) > self._most:
            raise self._too_large()

    async def _whole_body(self, reading: _Reading, message: Message, receive: Receive) -> Message:
        """The body as one message."""
        parts: list[bytes] = []
        while message["type"] == "http.request":  # else the caller has hung up
            parts.append(message.get("body", b""))
            reading.size += len(parts[-1])
            self._held += len(parts[-1])
            if reading.size > self._most:
                raise self._too_large()
            if self._held > self._together:
                raise ServiceUnavailable("too many large requests come in at this moment; come back in a while")
            if not message.get("more_body", False):
                return {"type": "http.request", "body": b"".join(parts), "more_body": False}
            message = await receive()
        return message

    def _too_large(self) -> InvalidParameter:
        return InvalidParameter(
            f"the request is larger than {self._most} bytes; send a smaller batch, or the last part of a log",
            reason="request_too_large",
        )


@dataclass
class _Reading:
    """A body that is being read."""

    size: int = 0


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
            raise ServiceUnavailable(
                f"more than {self._per_second:g} requests a second with this token; come back in {wait:.3f} s, "
                "or send larger batches",
                retry_after=wait,
                reason="too_many_requests",
            )
        bucket.tokens -= 1.0
