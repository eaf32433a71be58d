"""What people watch: the view of each experiment and the list of all, computed once however many look."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future
from contextlib import aclosing
from functools import partial
from time import monotonic
from typing import Any

from pydantic_core import to_json

from linkedbandits.errors import StoreUnavailable
from linkedbandits.service.alarms import Alarms, Found
from linkedbandits.service.desk import Desk
from linkedbandits.service.expenses import ShownExpenses
from linkedbandits.service.http.logs import log_failure
from linkedbandits.service.http.stream import Channel, StreamState, list_events, view_events
from linkedbandits.service.outlook import Outlook, Outlooks
from linkedbandits.service.records import ExperimentHead
from linkedbandits.service.store import Store
from linkedbandits.service.view import Standing, history_rows, read_standing, summary_of, summary_of_damaged, view_of

LIST_TICK_SECONDS = 1.0
SECONDS_FOR_ALARMS = 2.0
"""How long a single view waits until alarms have been looked for once."""

Bring = Callable[[Future[Any]], asyncio.Future[Any]]


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
    ) -> None:
        self._store = store
        self._desk = desk
        self._bring = bring
        self._outlooks = outlooks
        self._alarms = alarms
        self._closing = closing
        self._expenses = ShownExpenses(store, clock)
        self._channels: dict[str, Channel] = {}
        self._list = Channel(self._look_at_all, LIST_TICK_SECONDS)
        self._summaries: dict[str, tuple[int, dict[str, Any]]] = {}

    @property
    def watched(self) -> frozenset[str]:
        """The experiments whose view is being watched: each is looked at once a tick."""
        return frozenset(self._channels)

    async def view(self, experiment: str) -> bytes:
        """The present view, with all of its history."""
        standing = await self._standing(experiment)
        if self._found(standing).plays is None:
            await asyncio.to_thread(self._alarms.wait_for_the_first, experiment, SECONDS_FOR_ALARMS)
        outlook, found, expenses = self._outlook(standing), self._found(standing), await self._spent(standing)
        state = await asyncio.to_thread(_state_of, standing, outlook, found, expenses)
        return state.with_history(await self._history(experiment, 0, state.head))

    async def view_events(self, experiment: str, seen: int) -> AsyncGenerator[bytes]:
        """The view as it changes, for a viewer who has seen the history up to ``seen``."""
        channel = self._channels.get(experiment)
        if channel is None:
            channel = self._channels[experiment] = Channel(partial(self._look_at, experiment))
        try:
            events = view_events(channel, seen, partial(self._history, experiment), self._closing)
            async with aclosing(events):
                async for event in events:
                    yield event
        finally:
            if channel.is_idle:
                self._channels.pop(experiment, None)

    def list_events(self) -> AsyncGenerator[bytes]:
        """The list of experiments as it changes."""
        return list_events(self._list, self._closing)

    async def _look_at(self, experiment: str, last: StreamState | None) -> StreamState | None:
        record = await self._bring(self._desk.record(experiment))
        if last is not None and last.shows is not None and last.head == record.head:
            standing, *shown = last.shows[0], last.shows[1], last.shows[2].alarms, last.shows[3]
        else:
            standing, shown = await self._standing(experiment), []
        # Of an experiment that stands still these are all news.
        outlook, found, expenses = self._outlook(standing), self._found(standing), await self._spent(standing)
        if [outlook, found.alarms, expenses] == shown:
            return None
        return await asyncio.to_thread(_state_of, standing, outlook, found, expenses)

    async def _look_at_all(self, last: StreamState | None) -> StreamState | None:
        heads = await asyncio.to_thread(self._read_heads)
        for listed in heads:
            known = self._summaries.get(listed.id)
            if known is None or known[0] != listed.head:
                self._summaries[listed.id] = await self._summary(listed.id, listed.head)
        shown = [self._summaries[listed.id] for listed in heads]
        body = to_json([summary for _, summary in shown])
        if last is not None and last.body == body:
            return None
        return StreamState(sum(head for head, _ in shown) + len(shown), body)

    async def _summary(self, experiment: str, head: int) -> tuple[int, dict[str, Any]]:
        """What the list shows of an experiment, and the journal number it belongs to."""
        try:
            standing = await self._standing(experiment)
        except StoreUnavailable:
            raise
        except Exception as error:  # one that is damaged must not hide the others
            log_failure("experiment-damaged", error)
            return head, summary_of_damaged(await self._bring(self._desk.record(experiment)))
        return standing.record.head, summary_of(standing)

    def _read_heads(self) -> list[ExperimentHead]:
        with self._store.reading() as reading:
            return reading.heads()

    async def _standing(self, experiment: str) -> Standing:
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
        return await asyncio.to_thread(self._expenses.latest, standing.record.id, standing.record.setup)

    async def _history(self, experiment: str, after: int, head: int) -> bytes:
        """The points behind journal number ``after``, up to ``head``, as JSON."""
        return await asyncio.to_thread(self._read_history, experiment, after, head)

    def _read_history(self, experiment: str, after: int, head: int) -> bytes:
        with self._store.reading() as reading:
            points = reading.history(experiment, after)
        return to_json(history_rows(points, head))


def _state_of(standing: Standing, outlook: Outlook, found: Found, expenses: dict[str, Any] | None) -> StreamState:
    body = to_json(view_of(standing, outlook, found, expenses))
    return StreamState(standing.record.head, body, (standing, outlook, found, expenses))
