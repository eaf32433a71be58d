"""Turns at work that only one may have done at a time: whoever was served longest ago comes next.

So it matters how many callers want something, and not how much each of them wants.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Collection, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count

MOST_KNOWN = 10_000
"""Callers of whom it is remembered when they were served; who is forgotten comes before all others once."""

Callers = Callable[[], Collection[Hashable]]
"""For whom something is done; who that is may change while it waits."""


@dataclass(eq=False, slots=True)
class _Waiting:
    callers: Callers
    granted: asyncio.Future[None]


class Turns:
    """Gives turns; in the event loop alone."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._served: OrderedDict[Hashable, int] = OrderedDict()
        self._waiting: list[_Waiting] = []
        self._taken = False

    @asynccontextmanager
    async def of(self, callers: Callers) -> AsyncIterator[None]:
        """A turn for these callers, which ends with the context."""
        if self._taken:
            await self._wait(callers)
        self._taken = True
        self._note(callers())
        try:
            yield
        finally:
            self._next()

    async def _wait(self, callers: Callers) -> None:
        waiting = _Waiting(callers, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        try:
            await waiting.granted
        except asyncio.CancelledError:
            if waiting.granted.done() and not waiting.granted.cancelled():
                self._next()  # it was granted just before
            elif waiting in self._waiting:
                self._waiting.remove(waiting)
            raise

    def _note(self, callers: Collection[Hashable]) -> None:
        number = next(self._numbers)
        for caller in callers:
            self._served[caller] = number
            self._served.move_to_end(caller)
        while len(self._served) > MOST_KNOWN:
            self._served.popitem(last=False)

    def _next(self) -> None:
        while self._waiting:
            chosen = min(self._waiting, key=self._served_at)
            self._waiting.remove(chosen)
            if not chosen.granted.done():  # one that was cancelled, and has not been told yet
                chosen.granted.set_result(None)  # the turn stays taken: nobody gets in between
                return
        self._taken = False

    def _served_at(self, waiting: _Waiting) -> int:
        """When the one of its callers was served that has waited longest."""
        return min((self._served.get(caller, 0) for caller in waiting.callers()), default=0)
