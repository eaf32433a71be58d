"""Answers packed with gzip, for clients that take it: lists, views, the files of the page, exports in lines.

Asks and tells do not come through here: they are small, and it would cost more than all else about them. Event streams
are left as they are, since each viewer would need a packer that keeps 256 kB.
"""

from __future__ import annotations

import asyncio
import re
import zlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SMALLEST = 1_000
"""Bytes. Below, it fits into one packet of the network anyway."""
LEVEL = 3
LARGEST_AT_ONCE = 32_768
"""More bytes than this are packed in a thread of its own, for a millisecond or more each time."""
MOST_REMEMBERED = 100
"""Files of the page, which are packed once."""

Run = Callable[[Callable[[], bytes]], Awaitable[bytes]]

_MEDIA_TYPES = {
    "application/javascript",
    "application/json",
    "application/openapi+json",
    "application/problem+json",
    "application/x-ndjson",
    "image/svg+xml",
    "text/css",
    "text/csv",
    "text/html",
    "text/javascript",
    "text/plain",
}
_WITHOUT_CONTENT = {204, 206, 304}


def takes_gzip(accept_encoding: str) -> bool:
    """Does the header say so?

    >>> takes_gzip("gzip, deflate"), takes_gzip("br;q=1.0, gzip;q=0.8"), takes_gzip("*"), takes_gzip("")
    (True, True, True, False)
    >>> takes_gzip("gzip;q=0"), takes_gzip("gzip; q=0.000, br"), takes_gzip("br"), takes_gzip("xgzip")
    (False, False, False, False)
    """
    for offer in accept_encoding.lower().split(","):
        coding, _, weight = offer.partition(";")
        if coding.strip() in {"gzip", "x-gzip", "*"}:
            return re.fullmatch(r"\s*q=0(\.0*)?\s*", weight) is None
    return False


class Compression:
    """A layer that packs what passes it, in threads of ``run``, which should do nothing else."""

    def __init__(self, app: ASGIApp, run: Run = asyncio.to_thread, level: int = LEVEL) -> None:
        self._app = app
        self._run = run
        self._level = level
        self._remembered: OrderedDict[tuple[str, str], bytes] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and pack its answer if that is worth it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        await self._app(scope, receive, _Answer(self, scope, send).send)

    def packer(self) -> zlib._Compress:
        """A new one, which writes gzip's format."""
        return zlib.compressobj(self._level, zlib.DEFLATED, 16 + zlib.MAX_WBITS)

    async def packed(self, packer: zlib._Compress, content: bytes, is_last: bool) -> bytes:
        """The next piece."""

        def pack() -> bytes:
            return packer.compress(content) + (packer.flush() if is_last else b"")

        if len(content) <= LARGEST_AT_ONCE:
            return pack()
        return await self._run(pack)

    async def packed_whole(self, path: str, etag: str | None, content: bytes) -> bytes:
        """All of it; of a file that is known by its tag, the same as the last time."""
        key = (path, etag or "")
        found = self._remembered.get(key) if etag else None
        if found is None:
            found = await self.packed(self.packer(), content, is_last=True)
            if etag:
                self._remembered[key] = found
                if len(self._remembered) > MOST_REMEMBERED:
                    self._remembered.popitem(last=False)
        return found


class _Answer:
    """One answer on its way. Its beginning is held back until it is known how it goes on."""

    def __init__(self, layer: Compression, scope: Scope, send: Send) -> None:
        self._layer = layer
        self._path: str = scope["path"]
        self._wanted = takes_gzip(Headers(scope=scope).get("accept-encoding", ""))
        self._has_content = scope["method"] != "HEAD"
        self._send = send
        self._start: Message | None = None
        self._packer: zlib._Compress | None = None

    async def send(self, message: Message) -> None:
        """Pass on a message of the application."""
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=list(message.get("headers", ())))
            if not _can_be_packed(message["status"], headers):
                await self._send(message)
                return
            headers.add_vary_header("Accept-Encoding")
            self._start = {**message, "headers": headers.raw}
            if self._wanted and not self._has_content:
                del headers["Content-Length"]  # which is not known, since nothing is packed for it
            if not self._wanted or not self._has_content:
                await self._begin()
        elif message["type"] != "http.response.body" or (self._start is None and self._packer is None):
            await self._send(message)
        elif self._start is not None:
            await self._first(message)
        elif self._packer is not None:
            await self._piece(self._packer, message)

    async def _begin(self) -> None:
        assert self._start is not None
        start, self._start = self._start, None
        await self._send(start)

    async def _first(self, message: Message) -> None:
        assert self._start is not None
        content, is_last = message.get("body", b""), not message.get("more_body", False)
        if is_last and len(content) < SMALLEST:
            await self._begin()
            await self._send(message)
            return
        headers = MutableHeaders(raw=self._start["headers"])
        headers["Content-Encoding"] = "gzip"
        etag = headers.get("etag")
        if etag is not None and not etag.startswith("W/"):
            headers["ETag"] = f"W/{etag}"  # the same content, in other bytes
        if is_last:
            packed = await self._layer.packed_whole(self._path, etag, content)
            headers["Content-Length"] = str(len(packed))
            await self._begin()
            await self._send({**message, "body": packed})
            return
        del headers["Content-Length"]
        self._packer = self._layer.packer()
        await self._begin()
        await self._piece(self._packer, message)

    async def _piece(self, packer: zlib._Compress, message: Message) -> None:
        more = message.get("more_body", False)
        packed = await self._layer.packed(packer, message.get("body", b""), is_last=not more)
        if packed or not more:
            await self._send({**message, "body": packed})


def _can_be_packed(status: int, headers: Headers) -> bool:
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    return media_type in _MEDIA_TYPES and "content-encoding" not in headers and status not in _WITHOUT_CONTENT
