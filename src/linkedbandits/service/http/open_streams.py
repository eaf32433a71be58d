"""The event streams that are open: counted, limited in number, and closed when their token is revoked."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.responses import StreamingResponse

from linkedbandits.errors import ServiceUnavailable
from linkedbandits.service.audit import Actor
from linkedbandits.service.http.access import Caller, Guard
from linkedbandits.service.http.door import places_for_connections
from linkedbandits.service.http.metrics import Metrics

MOST_STREAMS = 1_000
"""Streams that one service keeps open at once: each is a connection and a share of every tick.

Where the process can have few connections it is three quarters of them: streams last for hours, and others come, too.
"""
SHARE_OF_A_CALLER = 1 / 5
"""Of these places at most for one token, or one user whom a proxy has signed in; others want to look, too."""

_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class OpenStreams:
    """Hands out event streams."""

    def __init__(self, guard: Guard, metrics: Metrics, most: int | None = None) -> None:
        self._guard = guard
        self._metrics = metrics
        self._most = min(MOST_STREAMS, places_for_connections() * 3 // 4) if most is None else most
        self._most_a_caller = max(1, int(self._most * SHARE_OF_A_CALLER))
        self._present: Counter[Actor] = Counter()

    def stream(self, events: AsyncGenerator[bytes], caller: Caller) -> StreamingResponse:
        """The events as an answer, or ServiceUnavailable if too many are watching already."""
        refusal = self._refusal(caller.actor)
        if refusal is not None:
            raise refusal
        return StreamingResponse(self._watched(events, caller), media_type="text/event-stream", headers=_HEADERS)

    async def _watched(self, events: AsyncGenerator[bytes], caller: Caller) -> AsyncGenerator[bytes]:
        """The events, until they end or the token is revoked. Counted from the first: an answer may never begin."""
        viewer = caller.actor
        if self._refusal(viewer) is not None:  # others have begun since it was let in
            await events.aclose()
            return
        self._present[viewer] += 1
        self._metrics.viewer_came()
        try:
            async with aclosing(events):
                async for event in events:
                    if not await self._guard.still_admits(caller):
                        return
                    yield event
        finally:
            self._present[viewer] -= 1
            self._present += Counter()  # those with none are not kept
            self._metrics.viewer_left()

    def _refusal(self, viewer: Actor) -> ServiceUnavailable | None:
        """Why there is no place; on loopback without tokens nobody is told from another."""
        if self._present.total() >= self._most:
            return ServiceUnavailable(f"{self._most} event streams are open, and no more fit; come back in a while")
        if viewer.kind != "anyone" and self._present[viewer] >= self._most_a_caller:
            whose = "user" if viewer.kind == "user" else "token"
            return ServiceUnavailable(
                f"this {whose} has {self._most_a_caller} event streams open, as many as one may; close some, or come "
                "back in a while"
            )
        return None
