"""Server-sent events: the view of an experiment, and the list of all, as they change.

However many people watch, an experiment is looked at once a tick. What is sent is always the whole present state, with
the journal number it belongs to as the event's id; only the history comes in parts, from the number that the viewer has
seen. So a viewer who is slow, or was away, skips states but misses nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from linkedbandits.service.alarms import Found
from linkedbandits.service.http.logs import log_failure
from linkedbandits.service.outlook import Outlook
from linkedbandits.service.view import Standing

TICK_SECONDS = 0.5
HEARTBEAT_SECONDS = 15.0
"""A comment this often keeps proxies from closing a quiet stream."""

_HEARTBEAT = b": still here\n\n"

ReadHistory = Callable[[int, int], Awaitable[bytes]]
"""The history behind one journal number, up to another, as JSON."""


@dataclass(frozen=True, eq=False)
class StreamState:
    """A state to be sent: JSON as text; of an experiment, an object that lacks its history alone."""

    head: int
    body: bytes
    shows: tuple[Standing, Outlook, Found, dict[str, Any] | None] | None = None
    _histories: dict[int, asyncio.Future[bytes]] = field(default_factory=dict)

    def with_history(self, points: bytes) -> bytes:
        """The whole object."""
        return self.body[:-1] + b',"history":' + points + b"}"

    async def for_viewer(self, seen: int, read: ReadHistory) -> bytes:
        """The whole object for a viewer who has seen the history up to ``seen``; those in step share one reading.

        After one that failed the next who asks begins another.
        """
        reading = self._histories.get(seen)
        if reading is None or (reading.done() and reading.exception() is not None):
            reading = self._histories[seen] = asyncio.ensure_future(self._read(seen, read))
        return self.with_history(await asyncio.shield(reading))

    async def _read(self, seen: int, read: ReadHistory) -> bytes:
        try:
            return await read(seen, self.head)
        except Exception as error:  # logged once, however many wait for it
            log_failure("look-failed", error, level=logging.WARNING)
            raise


Render = Callable[[StreamState], Awaitable[bytes]]
"""A state as an event."""


class Channel:
    """Something that changes, looked at once a tick while there are viewers.

    ``look`` is given the last state and returns a new one, or None if nothing has changed.
    """

    def __init__(
        self, look: Callable[[StreamState | None], Awaitable[StreamState | None]], tick: float = TICK_SECONDS
    ) -> None:
        self._look = look
        self._tick = tick
        self._latest: StreamState | None = None
        self._changed = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self._viewers = 0

    @property
    def is_idle(self) -> bool:
        """Are there no viewers?"""
        return self._viewers == 0

    async def events(self, closing: asyncio.Event, render: Render) -> AsyncGenerator[bytes]:
        """An event for every new state, the latest first, and heartbeats. Ends when the service closes.

        A state that cannot be rendered is tried again at the next tick, or the one that has come meanwhile.
        """
        self._viewers += 1
        if self._looking is None:
            self._looking = asyncio.create_task(self._keep_looking(closing))
        sent: StreamState | None = None
        try:
            while not closing.is_set():
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
    channel: Channel, seen: int, read_history: ReadHistory, closing: asyncio.Event
) -> AsyncGenerator[bytes]:
    """The events of one viewer, who has seen the history up to journal number ``seen``."""

    async def render(state: StreamState) -> bytes:
        nonlocal seen
        content = await state.for_viewer(seen, read_history)
        seen = max(seen, state.head)
        return event("view", content, state.head)

    return channel.events(closing, render)


def list_events(channel: Channel, closing: asyncio.Event) -> AsyncGenerator[bytes]:
    """The events of one viewer of the list."""

    async def render(state: StreamState) -> bytes:
        return event("experiments", state.body, state.head)

    return channel.events(closing, render)


def event(name: str, data: bytes, number: int) -> bytes:
    """One event as it goes over the wire; JSON has no line breaks of its own."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (number, name.encode(), data)
