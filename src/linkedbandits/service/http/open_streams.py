"""The event streams that are open: counted, limited in number, and closed when their token is revoked."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.responses import StreamingResponse

from linkedbandits.errors import ServiceUnavailable
from linkedbandits.service.http.access import Caller, Guard
from linkedbandits.service.http.metrics import Metrics

MOST_STREAMS = 1_000
"""Streams that one service keeps open at once: each is a connection and a share of every tick."""

_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class OpenStreams:
    """Hands out event streams."""

    def __init__(self, guard: Guard, metrics: Metrics, most: int = MOST_STREAMS) -> None:
        self._guard = guard
        self._metrics = metrics
        self._most = most
        self._present = 0

    def stream(self, events: AsyncGenerator[bytes], caller: Caller) -> StreamingResponse:
        """The events as an answer, or ServiceUnavailable if too many are watching already."""
        if self._present >= self._most:
            raise ServiceUnavailable(f"{self._most} event streams are open, and no more fit; come back in a while")
        return StreamingResponse(self._watched(events, caller), media_type="text/event-stream", headers=_HEADERS)

    async def _watched(self, events: AsyncGenerator[bytes], caller: Caller) -> AsyncGenerator[bytes]:
        """The events, until they end or the token is revoked. Counted from the first: an answer may never begin."""
        self._present += 1
        self._metrics.viewer_came()
        try:
            async with aclosing(events):
                async for event in events:
                    if not await self._guard.still_admits(caller):
                        return
                    yield event
        finally:
            self._present -= 1
            self._metrics.viewer_left()
