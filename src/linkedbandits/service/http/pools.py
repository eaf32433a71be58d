"""Threads for what would hold up the event loop, apart by kind: work of one kind never waits for that of another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import TypeVar

from linkedbandits.errors import ServiceUnavailable
from linkedbandits.service.http.door import MOST_CONNECTIONS

T = TypeVar("T")

MOST_WAITING = 1_000
"""Pieces of work that wait for a thread of their kind."""


class Pool:
    """The threads of one kind of work; they have its name. What waits for them is refused beyond ``most_waiting``."""

    def __init__(self, name: str, threads: int, most_waiting: int = MOST_WAITING) -> None:
        self.name = name
        self.threads = threads
        self._most = threads + most_waiting
        self._present = 0
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)

    async def run(self, function: Callable[..., T], *arguments: object) -> T:
        """What the function returns, run in one of the threads; ServiceUnavailable if too much waits for that."""
        if self._present >= self._most:
            raise ServiceUnavailable(f"too much of its kind ({self.name}) is waiting; come back in a while")
        call = partial(copy_context().run, function, *arguments)
        running = asyncio.get_running_loop().run_in_executor(self._executor, call)
        self._present += 1
        running.add_done_callback(self._one_less)
        return await running

    def _one_less(self, _: object) -> None:
        self._present -= 1

    def close(self) -> None:
        """Begin nothing more; what has begun is waited for."""
        self._executor.shutdown(wait=True, cancel_futures=True)


class Pools:
    """All pools of a service, which starts and closes them.

    ``tokens`` reads them again, which every request may wait for; ``scopes`` reads what the limits of tokens go by;
    ``looks`` makes lists and views and reads histories; ``alarms`` waits until they were looked for; ``limits`` reckons
    the limits of expenses; ``exports`` reads from the processes that write journals; ``compression`` packs large
    answers; ``admin`` reads logs and makes successors.
    """

    def __init__(self) -> None:
        self.tokens = Pool("tokens", 1)
        self.scopes = Pool("scopes", 2)
        self.looks = Pool("looks", 2)
        self.alarms = Pool("alarm-wait", 4)
        self.limits = Pool("limits", 1, most_waiting=20)  # each may take seconds
        self.exports = Pool("exports", 4)
        self.compression = Pool("compression", 2, most_waiting=MOST_CONNECTIONS)  # an answer has no way back
        self.admin = Pool("admin", 2)

    def all(self) -> tuple[Pool, ...]:
        """Every one of them."""
        return (
            self.tokens,
            self.scopes,
            self.looks,
            self.alarms,
            self.limits,
            self.exports,
            self.compression,
            self.admin,
        )

    def close(self) -> None:
        """All of them."""
        for pool in self.all():
            pool.close()
