"""What the routes share: the desk and the store, the guard, the metrics, and what people watch."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import TypeVar

from linkedbandits.errors import StoreUnavailable
from linkedbandits.service.alarms import Alarms
from linkedbandits.service.deliverer import Deliverer, Outcome
from linkedbandits.service.desk import Desk
from linkedbandits.service.expenses import LimitsOfExpenses
from linkedbandits.service.hosted import HostedExperiment
from linkedbandits.service.http import commands
from linkedbandits.service.http.access import Guard
from linkedbandits.service.http.exports import Exports
from linkedbandits.service.http.forwarding import Forwarding
from linkedbandits.service.http.handover import Handover
from linkedbandits.service.http.housekeeping import Housekeeping
from linkedbandits.service.http.limits import RateLimit
from linkedbandits.service.http.live_list import LiveList
from linkedbandits.service.http.live_views import LiveViews
from linkedbandits.service.http.logs import log_event, log_failure
from linkedbandits.service.http.lookout import Lookout
from linkedbandits.service.http.metrics import Metrics
from linkedbandits.service.http.open_streams import OpenStreams
from linkedbandits.service.http.pools import Pools
from linkedbandits.service.http.present_figures import LatestSurvey, PresentFigures
from linkedbandits.service.http.proxy_sign_in import TrustedProxy
from linkedbandits.service.http.readiness import Readiness
from linkedbandits.service.http.sign_ins import RefusedSignIns
from linkedbandits.service.http.store_watch import StoreWatch
from linkedbandits.service.http.visibility import Visibility
from linkedbandits.service.outlook import Outlooks
from linkedbandits.service.owner_tables import SharedStore
from linkedbandits.service.owners import Owners
from linkedbandits.service.posting import Post
from linkedbandits.service.records import TokenRecord
from linkedbandits.service.store import Store
from linkedbandits.service.survey import MOST_SHOWN, take_survey
from linkedbandits.service.webhooks import Happening

EXPIRY_SECONDS = 1.0
"""How often leases are looked at,"""
SURVEY_SECONDS = 5.0
"""how often the figures of experiments in memory are read,"""
PEER_SECONDS = 0.5
"""and how often it is looked whether servers that owe an answer are still there."""

MOST_LOOKING = 4
"""Looks at all arms of an experiment that the desk is asked for at once."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Settings:
    """What can be chosen when the service is started.

    A service that is ``open_without_tokens`` is closed for good once a token was made; ``reopen`` opens it again when
    all have been revoked. One that does not ``send_webhooks`` leaves their messages in the store. ``url_for_others`` is
    where other servers of the same store reach this one, if that is not where it listens.
    """

    open_without_tokens: bool = True
    reopen: bool = False
    requests_per_second: float = 1_000.0
    log_requests: bool = False
    proxy: TrustedProxy | None = None
    experiments_in_metrics: int = 0
    watch_alarms: bool = False
    webhooks_to_private: bool = False
    send_webhooks: bool = True
    url_for_others: str | None = None

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
        shared = store if isinstance(store, SharedStore) else None
        self.owners = Owners(shared, _log_trouble, clock, on_news=log_event)
        self.forwarding = Forwarding(self.owners)
        self.desk = Desk(
            store,
            on_group=self.metrics.committed,
            on_news=self._tell_of,
            is_elsewhere=self.owners.is_elsewhere,
            on_open=self.metrics.opened,
        )
        self.readiness = Readiness(store, clock)
        self.bring = Handover().bring
        self.pools = Pools()
        self.sign_ins = RefusedSignIns(clock)
        self.housekeeping = Housekeeping(self.desk, self.bring, self.sign_ins)
        self.visibility = Visibility(store, self.pools.scopes.run, clock)
        self._looking = asyncio.Semaphore(MOST_LOOKING)
        self.guard = Guard(
            self._tokens,
            open_without_tokens=settings.open_without_tokens,
            rate=RateLimit(settings.requests_per_second, clock),
            clock=clock,
            run=self.pools.tokens.run,
            proxy=settings.proxy,
            sign_ins=self.sign_ins,
        )
        self.open_streams = OpenStreams(self.guard, self.metrics)
        self.outlooks = Outlooks(clock)
        self.alarms = Alarms(store, clock)
        self.webhooks = Deliverer(
            store,
            Post(settings.webhooks_to_private),
            on_outcome=self._posted,
            on_failure=partial(log_failure, "webhooks-broke"),
        )
        self.store_watch = StoreWatch(store, self.ping, self.desk.pulse, _log_away, _log_back, clock)
        self.latest_survey = LatestSurvey(clock)
        self._lookout = Lookout(store, self.alarms, self._tell_of, settings.watch_alarms)
        self.metrics.add(
            PresentFigures(
                self.desk.pulse,
                self.store_watch,
                self.latest_survey,
                lambda: [alarm.kind for alarm in self.alarms.up(self.latest_survey.in_use)],
            )
        )
        self.live_list = LiveList(store, self.desk, self.bring, self.closing, clock, pools=self.pools)
        self.live_views = LiveViews(
            store,
            self.desk,
            self.bring,
            self.outlooks,
            self.alarms,
            self.closing,
            clock,
            pools=self.pools,
            ask_owner=self._state_at_owner,
        )
        self.limits_of_expenses = LimitsOfExpenses(store)
        self.exports = Exports(store, self.pools.exports, clock, self.metrics.exporting)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The desk at work and the leases watched; in the end everything that was submitted is finished first."""
        with suppress(StoreUnavailable):
            self.guard.know(await asyncio.to_thread(self._tokens))
        self.desk.start()
        self.store_watch.start()
        if self.settings.send_webhooks:
            self.webhooks.start()
        watches = (self._watch_leases(), self._watch_experiments(), self._watch_peers(), self.housekeeping.run())
        tasks = [asyncio.create_task(watch) for watch in watches]
        try:
            yield
        finally:
            self.closing.set()
            await asyncio.to_thread(self.owners.leave)
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            self.forwarding.close()
            self.readiness.close()
            with suppress(StoreUnavailable):
                await self.housekeeping.keep_refusals(at_once=True)
            await asyncio.to_thread(self.webhooks.stop)
            await asyncio.to_thread(self.store_watch.stop)
            await asyncio.to_thread(self.desk.stop)
            await asyncio.to_thread(self.outlooks.close)
            await asyncio.to_thread(self.alarms.close)
            await asyncio.to_thread(self.pools.close)

    async def read(self, experiment: str, function: Callable[[HostedExperiment], T]) -> T:
        """What a function finds in an experiment, at a moment when nothing changes."""
        return await self.bring(self.desk.read(experiment, function))

    async def look(self, experiment: str, function: Callable[[HostedExperiment], T]) -> T:
        """The same for what takes long where there are many arms: few at once, so that those who play get on."""
        async with self._looking:
            return await self.read(experiment, function)

    def ping(self) -> None:
        """Nothing, if the store answers; the desk is not kept from its work for this."""
        with self.store.reading() as reading:
            reading.ping()

    def _tokens(self) -> list[TokenRecord]:
        with self.store.reading() as reading:
            return reading.tokens()

    async def _state_at_owner(self, experiment: str) -> tuple[int, bytes] | None:
        """What is to be seen of an experiment that another server owns."""
        command = partial(commands.look, experiment, "state")
        response = await self.forwarding.answer(experiment, command, repeatable=True)
        if response is None:
            return None
        head, _, body = bytes(response.body).partition(b"\n")
        return int(head), body

    async def _watch_peers(self) -> None:
        while True:
            await asyncio.sleep(PEER_SECONDS)
            self.forwarding.look_after()

    async def _watch_leases(self) -> None:
        while True:
            await asyncio.sleep(EXPIRY_SECONDS)
            try:
                self.metrics.expired(await self.bring(self.desk.expire()))
            except Exception as error:  # whatever it is, it must not be the last time that leases are looked at
                log_failure("expiry-failed", error, level=logging.WARNING)

    async def _watch_experiments(self) -> None:
        """Keep the figures of experiments in memory young, and look for alarms that webhooks are to hear of."""
        shown = min(self.settings.experiments_in_metrics, MOST_SHOWN)
        while True:
            try:
                survey = await self.bring(self.desk.read_all(lambda opened: take_survey(opened, shown)))
                self.latest_survey.keep(survey)
                await self._lookout.look(survey.played)
            except StoreUnavailable:
                pass  # that is said once, by the watch of the store; the age of the figures shows it, too
            except Exception as error:  # whatever it is, it must not be the last survey
                log_failure("survey-failed", error, level=logging.WARNING)
            await asyncio.sleep(SURVEY_SECONDS)

    def _tell_of(self, news: list[Happening]) -> None:
        """Something happened to experiments, and is in the store. Called in any thread; it waits for nothing."""
        for happening in news:
            status = happening.data["status"] if happening.kind == "verdict" else None
            self.metrics.happened(happening.kind, status)
            if happening.kind in ("verdict", "alarm"):
                what = status if status is not None else happening.data["alarm"]
                log_event(f"experiment-{happening.kind}", experiment=happening.experiment, what=what)
        self.webhooks.look()

    def _posted(self, outcome: Outcome) -> None:
        self.metrics.posted(outcome.posted.arrived, outcome.given_up)
        if not outcome.posted.arrived:
            log_event(
                "webhook-given-up" if outcome.given_up else "webhook-failed",
                level=logging.ERROR if outcome.given_up else logging.WARNING,
                webhook=outcome.webhook.id,
                message=outcome.delivery.id,
                attempt=outcome.delivery.attempts + 1,
                reason=outcome.posted.said,
            )


def _log_away(reason: str) -> None:
    log_event("store-away", level=logging.ERROR, reason=reason)


def _log_back(seconds: float) -> None:
    log_event("store-back", seconds=round(seconds, 1))


def _log_trouble(event: str, error: Exception) -> None:
    log_failure(event, error, level=logging.WARNING)
