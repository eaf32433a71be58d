"""No request waits for ever: one that has no answer in time gets a 503, whatever it waits for."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from linkedbandits.errors import StoreUnavailable
from linkedbandits.service.http.problems import error_response

SECONDS_FOR_AN_ANSWER = 15.0
"""From the end of a request to the beginning of its answer."""
_ROUND_SECONDS = 0.5

_TAKES_ITS_TIME = re.compile(r"/v1/experiments/[^/]+/(journal|successor)")
"""These read a whole journal before they answer. A store that does not answer them is noticed by the store's limits."""


@dataclass(slots=True, eq=False)
class WatchedRequest:
    """A request that has no answer yet."""

    task: asyncio.Task[None]
    until: float
    is_late: bool = False

    def raise_unless_late(self) -> None:
        """Where it is cancelled: go on if it was for being late, else be cancelled."""
        if not self.is_late or self.task.uncancel() > 0:  # both may come at once
            raise asyncio.CancelledError


class Deadline:
    """A layer that ends what has not begun to answer in time. What was asked for may or may not happen then.

    Requests are looked at together now and then: a timer for each of them would cost more than an answer takes.
    """

    def __init__(self, app: ASGIApp, clock: Callable[[], float] = monotonic) -> None:
        self._app = app
        self._clock = clock
        self._open: dict[WatchedRequest, None] = {}  # the oldest first
        self._looking = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and wait for its answer as long as is allowed."""
        if scope["type"] != "http" or _TAKES_ITS_TIME.fullmatch(scope["path"]):
            await self._app(scope, receive, send)
            return
        request = self.begin()

        async def send_on(message: Message) -> None:
            if request.is_late:
                return  # the caller is told so
            self.end(request)  # an answer that has begun may take as long as it likes
            await send(message)

        try:
            await self._app(scope, receive, send_on)
        except asyncio.CancelledError:
            request.raise_unless_late()
        finally:
            self.end(request)
        if request.is_late:
            await error_response(too_late(), scope["path"])(scope, receive, send)

    def begin(self) -> WatchedRequest:
        """Watch what this task does until the ``end``: it is cancelled if that takes too long, and is late then."""
        task = asyncio.current_task()
        assert task is not None
        request = WatchedRequest(task, self._clock() + SECONDS_FOR_AN_ANSWER)
        self._open[request] = None
        if not self._looking:
            self._look()
        return request

    def end(self, request: WatchedRequest) -> None:
        """It has an answer."""
        self._open.pop(request, None)

    def _look(self) -> None:
        """Once now, and again as long as there is something to look at."""
        now = self._clock()
        for request in list(self._open):
            if request.until > now:
                break
            del self._open[request]
            request.is_late = True
            request.task.cancel()
        self._looking = bool(self._open)
        if self._looking:
            asyncio.get_running_loop().call_later(_ROUND_SECONDS, self._look)


def too_late() -> StoreUnavailable:
    """Why it is ended."""
    what = f"no answer within {SECONDS_FOR_AN_ANSWER:g} s"
    unknown = "what was told may or may not be on record"
    return StoreUnavailable(
        f"{what}; does the store answer, and has it too much to do? {unknown.capitalize()}",
        f"there was {what}, and {unknown}: tell it again, which does no harm",
    )
