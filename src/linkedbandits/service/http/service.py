"""What the routes share: the desk and the store, the guard, the metrics, and what people watch."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from time import monotonic
from typing import TypeVar

from linkedbandits.service.alarms import Alarms
from linkedbandits.service.desk import Desk
from linkedbandits.service.hosted import HostedExperiment
from linkedbandits.service.http.access import Guard
from linkedbandits.service.http.handover import Handover
from linkedbandits.service.http.limits import RateLimit
from linkedbandits.service.http.live_views import LiveViews
from linkedbandits.service.http.logs import log_failure
from linkedbandits.service.http.metrics import Metrics
from linkedbandits.service.http.open_streams import OpenStreams
from linkedbandits.service.outlook import Outlooks
from linkedbandits.service.records import TokenRecord
from linkedbandits.service.store import Store

EXPIRY_SECONDS = 1.0
"""How often leases are looked at."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Settings:
    """What can be chosen when the service is started.

    A service that is ``open_without_tokens`` is closed for good once a token was made; ``reopen`` opens it again when
    all have been revoked.
    """

    open_without_tokens: bool = True
    reopen: bool = False
    requests_per_second: float = 1_000.0
    log_requests: bool = False

    def closed(self) -> Settings:
        """The same, but every request needs a token."""
        return replace(self, open_without_tokens=False)


class Service:
    """One service process, from the time its event loop runs."""

    def __init__(self, store: Store, settings: Settings, clock: Callable[[], float] = monotonic) -> None:
        self.store = store
        self.settings = settings
        self.clock = clock
        self.closing = asyncio.Event()
        self.metrics = Metrics()
        self.desk = Desk(store, on_group=self.metrics.committed)
        self.bring = Handover().bring
        self.guard = Guard(
            self._tokens,
            open_without_tokens=settings.open_without_tokens,
            rate=RateLimit(settings.requests_per_second, clock),
            clock=clock,
        )
        self.open_streams = OpenStreams(self.guard, self.metrics)
        self.outlooks = Outlooks(clock)
        self.alarms = Alarms(store, clock)
        self.live_views = LiveViews(store, self.desk, self.bring, self.outlooks, self.alarms, self.closing, clock)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The desk at work and the leases watched; in the end everything that was submitted is finished first."""
        self.desk.start()
        watch = asyncio.create_task(self._watch_leases())
        try:
            yield
        finally:
            self.closing.set()
            watch.cancel()
            with suppress(asyncio.CancelledError):
                await watch
            await asyncio.to_thread(self.desk.stop)
            await asyncio.to_thread(self.outlooks.close)
            await asyncio.to_thread(self.alarms.close)

    async def read(self, experiment: str, function: Callable[[HostedExperiment], T]) -> T:
        """What a function finds in an experiment, at a moment when nothing changes."""
        return await self.bring(self.desk.read(experiment, function))

    def ping(self) -> None:
        """Nothing, if the store answers; the desk is not kept from its work for this."""
        with self.store.reading() as reading:
            reading.ping()

    def _tokens(self) -> list[TokenRecord]:
        with self.store.reading() as reading:
            return reading.tokens()

    async def _watch_leases(self) -> None:
        while True:
            await asyncio.sleep(EXPIRY_SECONDS)
            try:
                self.metrics.expired(await self.bring(self.desk.expire()))
            except Exception as error:  # whatever it is, it must not be the last time that leases are looked at
                log_failure("expiry-failed", error, level=logging.WARNING)
