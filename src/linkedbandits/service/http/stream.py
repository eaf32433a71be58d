"""Server-sent events: the view of an experiment as it changes, and what streams of any kind share.

However many people watch, an experiment is looked at once a tick. What is sent is always the whole present state, with
the journal number it belongs to as the event's id; only the history comes in parts, from the number that the viewer has
seen. So a viewer who is slow, or was away, skips states but misses nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic_core import from_json, to_json

from linkedbandits.service.alarms import Found
from linkedbandits.service.http.logs import log_failure
from linkedbandits.service.outlook import Outlook
from linkedbandits.service.store_errors import UnknownExperiment
from linkedbandits.service.view import Standing

TICK_SECONDS = 0.5
HEARTBEAT_SECONDS = 15.0
"""A comment this often keeps proxies from closing a quiet stream."""

MOST_EVENTS_KEPT = 8
"""Events of one state that are remembered, for viewers who have seen the history up to different numbers."""

_HEARTBEAT = b": still here\n\n"

ReadHistory = Callable[[int, int], Awaitable[bytes]]
"""The history behind one journal number, up to another, as JSON."""


def without_before(view: bytes) -> bytes:
    """A view for those who may not know what its experiment goes on from."""
    return to_json({**from_json(view), "before": None})


@dataclass(frozen=True, eq=False)
class StreamState:
    """The view of an experiment to be sent: JSON as text, an object that lacks its history alone."""

    head: int
    body: bytes
    shows: tuple[Standing, Outlook, Found, dict[str, Any] | None] | None = None
    _events: OrderedDict[tuple[int, bool], asyncio.Future[bytes]] = field(default_factory=OrderedDict)

    def with_history(self, points: bytes) -> bytes:
        """The whole object."""
        return self.body[:-1] + b',"history":' + points + b"}"

    async def event_for(self, seen: int, read: ReadHistory, shows_before: bool = True) -> bytes:
        """The event for a viewer who has seen the history up to ``seen``, and may know what it goes on from or not.

        Those in step share one reading, and the very bytes: however many do not read them, they are there once. After
        a reading that failed the next who asks begins another.
        """
        kind = seen, shows_before
        making = self._events.get(kind)
        if making is None or (making.done() and making.exception() is not None):
            making = self._events[kind] = asyncio.ensure_future(self._make(seen, read, shows_before))
        self._events.move_to_end(kind)
        if len(self._events) > MOST_EVENTS_KEPT:
            self._events.popitem(last=False)
        return await asyncio.shield(making)

    async def _make(self, seen: int, read: ReadHistory, shows_before: bool) -> bytes:
        try:
            view = self.with_history(await read(seen, self.head))
            return event("view", view if shows_before else without_before(view), self.head)
        except Exception as error:  # logged once, however many wait for it
            log_failure("look-failed", error, level=logging.WARNING)
            raise


State = TypeVar("State")


class Channel(Generic[State]):
    """Something that changes, looked at once a tick while there are viewers.

    ``look`` is given the last state and returns a new one, or None if nothing has changed.
    """

    def __init__(self, look: Callable[[State | None], Awaitable[State | None]], tick: float = TICK_SECONDS) -> None:
        self._look = look
        self._tick = tick
        self._latest: State | None = None
        self._changed = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self._viewers = 0
        self._gone = False

    @property
    def is_idle(self) -> bool:
        """Are there no viewers?"""
        return self._viewers == 0

    async def events(
        self, closing: asyncio.Event, render: Callable[[State], Awaitable[bytes]]
    ) -> AsyncGenerator[bytes]:
        """An event for every new state, the latest first, and heartbeats.

        Ends when the service closes, or when what is watched was deleted.

        A state that cannot be rendered is tried again at the next tick, or the one that has come meanwhile.
        """
        self._viewers += 1
        if self._looking is None:
            self._looking = asyncio.create_task(self._keep_looking(closing))
        sent: State | None = None
        try:
            while not closing.is_set() and not self._gone:
                latest, changed = self._latest, self._changed
                if latest is None or latest is sent:
                    try:
                        await asyncio.wait_for(changed.wait(), HEARTBEAT_SECONDS)
                    except TimeoutError:
                        yield _HEARTBEAT
                    continue
                try:
                    content = await render(latest)
                except Exception:  # logged where it happened
                    yield _HEARTBEAT
                    await self._pause(closing)
                    continue
                sent = latest
                yield content
        finally:
            self._viewers -= 1
            if self._viewers == 0:
                self._looking.cancel()
                self._looking = self._latest = None  # who comes later is not shown what was true once

    async def _keep_looking(self, closing: asyncio.Event) -> None:
        while not closing.is_set():
            try:
                state = await self._look(self._latest)
            except UnknownExperiment:  # it was deleted while it was watched
                self._gone = True
                break
            except Exception as error:  # such as a store that is away for now: the last state stays
                log_failure("look-failed", error, level=logging.WARNING)
                state = None
            if state is not None:
                self._latest = state
                self._wake()
            await self._pause(closing)
        self._wake()

    async def _pause(self, closing: asyncio.Event) -> None:
        """Wait for a tick, but not longer than the service runs."""
        with suppress(TimeoutError):
            await asyncio.wait_for(closing.wait(), self._tick)

    def _wake(self) -> None:
        """Everybody who waits now goes on; who comes later waits for the next time."""
        self._changed.set()
        self._changed = asyncio.Event()


def view_events(
    channel: Channel[StreamState],
    seen: int,
    read_history: ReadHistory,
    closing: asyncio.Event,
    shows_before: bool = True,
) -> AsyncGenerator[bytes]:
    """The events of one viewer, who has seen the history up to journal number ``seen``."""

    async def render(state: StreamState) -> bytes:
        nonlocal seen
        made = await state.event_for(seen, read_history, shows_before)
        seen = max(seen, state.head)
        return made

    return channel.events(closing, render)


def event(name: str, data: bytes, number: int) -> bytes:
    """One event as it goes over the wire; JSON has no line breaks of its own."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (number, name.encode(), data)
