"""Is the service ready? It is if something can be written to its store, durably and soon."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic

from linkedbandits.errors import StoreUnavailable
from linkedbandits.service.driver_errors import HELD
from linkedbandits.service.store import Store

SECONDS_TO_WRITE = 3.0
"""A store that takes longer is not ready."""
SECONDS_BELIEVED = 1.0
"""How long an answer holds: however often it is asked for, the store is written to once in that time."""


class Readiness:
    """Tries to write, in a thread of its own: one try at a time, which all who ask share."""

    def __init__(self, store: Store, clock: Callable[[], float] = monotonic) -> None:
        self._store = store
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="readiness")
        self._try: Future[None] | None = None
        self._begun = 0.0

    async def check(self) -> None:
        """Nothing, if the store can be written; else StoreUnavailable says why."""
        now = self._clock()
        if self._try is None or (self._try.done() and now - self._begun > SECONDS_BELIEVED):
            self._try, self._begun = self._thread.submit(self._store.probe), now
        trying = asyncio.wrap_future(self._try)
        left = max(0.0, SECONDS_TO_WRITE - (now - self._begun))
        done, _ = await asyncio.wait({trying}, timeout=None if self._try.done() else left)
        if not done:
            raise StoreUnavailable(
                f"nothing could be written within {SECONDS_TO_WRITE:g} s; does the store answer, or who holds it?",
                f"nothing could be written within {SECONDS_TO_WRITE:g} s; it does not answer, or {HELD}",
            )
        error = trying.exception()
        if isinstance(error, StoreUnavailable):
            raise StoreUnavailable(str(error), error.detail) from error  # one of its own for each who asks
        if error is not None:
            raise StoreUnavailable(str(error), "it is damaged; restore it from a backup") from error

    def close(self) -> None:
        """Try no more. A try that hangs is left to itself."""
        self._thread.shutdown(wait=False, cancel_futures=True)
