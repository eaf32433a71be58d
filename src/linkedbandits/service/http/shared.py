"""Work that many ask for at once is done once for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Shared(Generic[T]):
    """One piece of work at a time for each key, shared by all who asked for it before it began.

    Who asks while it is done gets the next one: what was written before that is in it.
    """

    def __init__(self, work: Callable[[str], Awaitable[T]]) -> None:
        self._work = work
        self._next: dict[str, asyncio.Task[T]] = {}
        self._present: dict[str, asyncio.Task[T]] = {}

    async def get(self, key: str) -> T:
        """What the work gives for a key."""
        task = self._next.get(key)
        if task is None:
            task = self._next[key] = asyncio.create_task(self._one(key))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())  # perhaps nobody waits any more
        return await asyncio.shield(task)

    async def _one(self, key: str) -> T:
        before = self._present.get(key)
        if before is not None:
            await asyncio.wait([before])
        task = self._present[key] = self._next.pop(key)
        try:
            return await self._work(key)
        finally:
            if self._present.get(key) is task:
                del self._present[key]
