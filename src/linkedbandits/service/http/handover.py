"""From the desk's thread to the event loop."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


class _Waiting(asyncio.Future[T]):
    """Who gives it up gives up what it waits for, too, as long as that has not begun."""

    def __init__(self, source: Future[T], loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop=loop)
        self._source = source

    def cancel(self, msg: Any | None = None) -> bool:
        self._source.cancel()
        return super().cancel(msg)


class Handover:
    """Waits for the desk's futures without blocking the loop.

    The desk resolves its futures in groups, one group a commit. ``asyncio.wrap_future`` would wake the loop for each
    of them; here a group wakes it once.
    """

    def __init__(self) -> None:
        self._arrived: deque[Callable[[], None]] = deque()
        self._woken = False

    def bring(self, source: Future[T]) -> asyncio.Future[T]:
        """An awaitable with the same outcome, in the loop that runs now; it has to be the same at every call."""
        loop = asyncio.get_running_loop()
        waiting = _Waiting(source, loop)
        source.add_done_callback(lambda done: self._arrive(loop, waiting, done))
        return waiting

    def _arrive(self, loop: asyncio.AbstractEventLoop, waiting: asyncio.Future[Any], done: Future[Any]) -> None:
        """Called in the desk's thread."""
        self._arrived.append(lambda: _pass_on(waiting, done))
        if not self._woken:
            self._woken = True
            with suppress(RuntimeError):  # the loop is closed: nothing waits any more
                loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        # First lower the flag, then empty the queue: what arrives in between is delivered now or wakes the loop again.
        self._woken = False
        while self._arrived:
            self._arrived.popleft()()


def _pass_on(waiting: asyncio.Future[Any], done: Future[Any]) -> None:
    if waiting.done():  # the caller has hung up, or was told to come back
        return
    error = done.exception()
    if error is None:
        waiting.set_result(done.result())
    else:
        waiting.set_exception(error)
