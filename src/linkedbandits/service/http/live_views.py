"""What people watch: the view of each experiment, computed once however many look."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import Future
from contextlib import aclosing
from functools import partial
from time import monotonic
from typing import Any

from pydantic_core import to_json

from linkedbandits.service.alarms import Alarms, Found
from linkedbandits.service.curves import curves_data
from linkedbandits.service.desk import Desk
from linkedbandits.service.expenses import ShownExpenses
from linkedbandits.service.http.pools import Pools
from linkedbandits.service.http.shared import Shared
from linkedbandits.service.http.stream import Channel, StreamState, view_events
from linkedbandits.service.outlook import Outlook, Outlooks
from linkedbandits.service.store import Store
from linkedbandits.service.view import Standing, history_rows, read_standing, view_of

MOST_STANDINGS = 4
"""Experiments that are read at once: the desk does so between two groups of changes, which wait for it."""
MOST_CURVES = 100
"""Experiments whose curves are remembered: up to some 100 kilobytes each."""
SECONDS_FOR_ALARMS = 2.0
"""How long a single view waits until alarms have been looked for once."""

Bring = Callable[[Future[Any]], asyncio.Future[Any]]
AskOwner = Callable[[str], Awaitable[tuple[int, bytes] | None]]
"""The present state of an experiment that another server owns, as its head and its view without history."""


class LiveViews:
    """Knows what is being watched, and how to look at it."""

    def __init__(
        self,
        store: Store,
        desk: Desk,
        bring: Bring,
        outlooks: Outlooks,
        alarms: Alarms,
        closing: asyncio.Event,
        clock: Callable[[], float] = monotonic,
        pools: Pools | None = None,
        ask_owner: AskOwner | None = None,
    ) -> None:
        self._store = store
        self._desk = desk
        self._bring = bring
        self._pools = Pools() if pools is None else pools
        self._outlooks = outlooks
        self._alarms = alarms
        self._closing = closing
        self._ask_owner = ask_owner
        self._expenses = ShownExpenses(store, clock)
        self._gate = asyncio.Semaphore(MOST_STANDINGS)
        self._views = Shared(self._view)
        self._curves: OrderedDict[str, tuple[int, bytes]] = OrderedDict()
        self._channels: dict[str, Channel[StreamState]] = {}

    @property
    def watched(self) -> frozenset[str]:
        """The experiments whose view is being watched: each is looked at once a tick."""
        return frozenset(self._channels)

    async def view(self, experiment: str) -> bytes:
        """The present view, with all of its history; made once for all who asked for it before it is begun."""
        return await self._views.get(experiment)

    async def _view(self, experiment: str) -> bytes:
        state = await self.state(experiment)
        return state.with_history(await self._history(experiment, 0, state.head))

    async def state(self, experiment: str) -> StreamState:
        """The present view without history."""
        standing = await self._standing(experiment)
        if self._found(standing).plays is None:
            await self._pools.alarms.run(self._alarms.wait_for_the_first, experiment, SECONDS_FOR_ALARMS)
        outlook, found, expenses = self._outlook(standing), self._found(standing), await self._spent(standing)
        return await self._pools.looks.run(_state_of, standing, outlook, found, expenses)

    async def curves(self, experiment: str) -> bytes:
        """What was known of the arms as time went on, as JSON; drawn anew when there is another point."""
        return await self._pools.looks.run(self._read_curves, experiment)

    def _read_curves(self, experiment: str) -> bytes:
        with self._store.reading() as reading:
            points, setup = reading.curve(experiment), reading.record(experiment).setup
        last = points[-1].seq if points else 0
        known = self._curves.get(experiment)
        if known is None or known[0] != last:
            known = self._curves[experiment] = (last, to_json(curves_data(points, setup.arms)))
            while len(self._curves) > MOST_CURVES:
                self._curves.popitem(last=False)
        return known[1]

    async def view_events(self, experiment: str, seen: int, shows_before: bool = True) -> AsyncGenerator[bytes]:
        """The view as it changes, for a viewer who has seen the history up to ``seen``."""
        channel = self._channels.get(experiment)
        if channel is None:
            channel = self._channels[experiment] = Channel(partial(self._look_at, experiment))
        try:
            events = view_events(channel, seen, partial(self._history, experiment), self._closing, shows_before)
            async with aclosing(events):
                async for event in events:
                    yield event
        finally:
            if channel.is_idle and self._channels.get(experiment) is channel:
                del self._channels[experiment]

    async def _look_at(self, experiment: str, last: StreamState | None) -> StreamState | None:
        elsewhere = None if self._ask_owner is None else await self._ask_owner(experiment)
        if elsewhere is not None:
            return None if last is not None and (last.head, last.body) == elsewhere else StreamState(*elsewhere)
        record = await self._bring(self._desk.record(experiment))
        if last is not None and last.shows is not None and last.head == record.head:
            standing, *shown = last.shows[0], last.shows[1], last.shows[2].alarms, last.shows[3]
        else:
            standing, shown = await self._standing(experiment), []
        # Of an experiment that stands still these are all news.
        outlook, found, expenses = self._outlook(standing), self._found(standing), await self._spent(standing)
        if [outlook, found.alarms, expenses] == shown:
            return None
        return await self._pools.looks.run(_state_of, standing, outlook, found, expenses)

    async def _standing(self, experiment: str) -> Standing:
        async with self._gate:
            standing: Standing = await self._bring(self._desk.read(experiment, read_standing))
        return standing

    def _outlook(self, standing: Standing) -> Outlook:
        setup = standing.record.setup
        used = standing.plays - standing.waiting
        return self._outlooks.latest(standing.record.id, standing.estimates, standing.policy, setup, used)

    def _found(self, standing: Standing) -> Found:
        record = standing.record
        return self._alarms.latest(record.id, record.setup.arms, standing.warm, standing.plays, standing.done)

    async def _spent(self, standing: Standing) -> dict[str, Any] | None:
        return await self._pools.looks.run(self._expenses.latest, standing.record.id, standing.record.setup)

    async def _history(self, experiment: str, after: int, head: int) -> bytes:
        """The points behind journal number ``after``, up to ``head``, as JSON."""
        return await self._pools.looks.run(self._read_history, experiment, after, head)

    def _read_history(self, experiment: str, after: int, head: int) -> bytes:
        with self._store.reading() as reading:
            points = reading.history(experiment, after)
        return to_json(history_rows(points, head))


def _state_of(standing: Standing, outlook: Outlook, found: Found, expenses: dict[str, Any] | None) -> StreamState:
    body = to_json(view_of(standing, outlook, found, expenses))
    return StreamState(standing.record.head, body, (standing, outlook, found, expenses))
