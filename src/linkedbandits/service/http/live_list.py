"""The list of experiments, page by page, as it changes.

All that is listed is read in one go, little of each experiment, however many people watch and whatever they look for.
Only what is on a page that somebody watches is opened, one experiment after the other, and again only if it has
changed; a page is sent before that is done, with what the store has. A viewer is sent the rows that have changed, and
nothing else.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, OrderedDict
from collections.abc import AsyncGenerator, Callable, Hashable, Sequence
from concurrent.futures import Future
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from time import monotonic
from typing import Any

from pydantic_core import to_json

from linkedbandits.errors import StoreUnavailable
from linkedbandits.service.desk import Desk
from linkedbandits.service.http.logs import log_failure
from linkedbandits.service.http.pools import Pools
from linkedbandits.service.http.stream import Channel, event
from linkedbandits.service.http.turns import Callers, Turns
from linkedbandits.service.listing import ListPage, ListQuery, page_of
from linkedbandits.service.records import DamagedExperiment, ListedExperiment
from linkedbandits.service.store import Store
from linkedbandits.service.store_errors import UnknownExperiment
from linkedbandits.service.view import Summary, read_summary, summary_data

LIST_TICK_SECONDS = 1.0
SECONDS_FOR_SUMMARIES = 0.25
"""How long a page waits for experiments to be opened; the others come with the next look."""
SHARE_OF_TIME = 0.1
"""How much of the time reading all that is listed may take, and searching it."""
MOST_SUMMARIES = 5_000
"""Experiments of which what a list shows is remembered."""
NOTED_A_LOOK = 20
"""Experiments from before lists had a verdict that are opened for that, at every look."""

Bring = Callable[[Future[Any]], asyncio.Future[Any]]
Sees = Callable[[Sequence[ListedExperiment]], tuple[ListedExperiment, ...]]
"""Those of the rows that somebody may see."""


@dataclass(frozen=True, eq=False)
class ListState:
    """A page to be sent: rows as JSON by identifier, in order."""

    number: int
    page: ListPage
    rows: dict[str, bytes]

    def looks_like(self, other: ListState) -> bool:
        """Is there nothing to tell them apart on a page?"""
        counts = (self.page.matching, self.page.total) == (other.page.matching, other.page.total)
        return counts and list(self.rows.items()) == list(other.rows.items())

    def for_viewer(self, seen: ListState | None, query: ListQuery) -> bytes:
        """As JSON, without the rows that this viewer has."""
        known = {} if seen is None else seen.rows
        changed = [row for name, row in self.rows.items() if known.get(name) != row]
        order = None if seen is not None and list(seen.rows) == list(self.rows) else list(self.rows)
        about = {"total": self.page.total, "matching": self.page.matching, "pages": self.page.pages}
        head = to_json({**about, "page": query.page, "order": order})
        return head[:-1] + b',"experiments":[' + b",".join(changed) + b"]}"


@dataclass(frozen=True, eq=False)
class _Watched:
    """A page that is being watched, and by whom, on how many streams."""

    channel: Channel[ListState]
    callers: Counter[Hashable]

    def left_by(self, caller: Hashable) -> None:
        """On one stream less."""
        self.callers[caller] -= 1
        if not self.callers[caller]:
            del self.callers[caller]


class LiveList:
    """Knows which pages are being watched, and how to look at them."""

    def __init__(
        self,
        store: Store,
        desk: Desk,
        bring: Bring,
        closing: asyncio.Event,
        clock: Callable[[], float] = monotonic,
        pools: Pools | None = None,
    ) -> None:
        self._store = store
        self._desk = desk
        self._bring = bring
        self._closing = closing
        self._pools = Pools() if pools is None else pools
        self._clock = clock
        self._watched: dict[ListQuery, _Watched] = {}
        self._numbers = count(1)
        self._reading, self._turns = asyncio.Lock(), Turns()
        self._rows: tuple[ListedExperiment, ...] = ()
        self._read_at, self._took = float("-inf"), 0.0
        self._summaries: OrderedDict[str, tuple[int, Summary | DamagedExperiment]] = OrderedDict()
        self._wanted: dict[str, int] = {}
        self._summarising: asyncio.Task[None] | None = None
        self._cannot_be_noted: set[str] = set()

    async def listed(self, sees: Sees | None = None) -> tuple[ListedExperiment, ...]:
        """What there is now, of what may be seen; those who ask at the same time share one reading."""
        return await self._seen(await self._read_all(self._clock()), sees)

    async def events(
        self, query: ListQuery, sees: Sees | None = None, caller: Hashable = None
    ) -> AsyncGenerator[bytes]:
        """A page as it changes, for a ``caller``. ``sees`` says which experiments they may see, if not all."""
        watched = self._watched.get(query) if sees is None else None
        if watched is None:
            callers: Counter[Hashable] = Counter()
            look = partial(self._look, query, sees, callers.keys)
            watched = _Watched(Channel(look, LIST_TICK_SECONDS), callers)
            if sees is None:
                self._watched[query] = watched
        watched.callers[caller] += 1
        seen: ListState | None = None

        async def render(state: ListState) -> bytes:
            nonlocal seen
            content = state.for_viewer(seen, query)
            seen = state
            return event("list", content, state.number)

        try:
            async with aclosing(watched.channel.events(self._closing, render)) as events:
                async for each in events:
                    yield each
        finally:
            watched.left_by(caller)
            if watched.channel.is_idle and self._watched.get(query) is watched:
                del self._watched[query]

    async def _look(
        self, query: ListQuery, sees: Sees | None, callers: Callers, last: ListState | None
    ) -> ListState | None:
        rows = await self._read_all(self._clock() - max(LIST_TICK_SECONDS / 2, self._took / SHARE_OF_TIME))
        rows, page = await self._page(rows, query, sees, callers)
        self._want(page, rows)
        if self._summarising is not None:
            await asyncio.wait({self._summarising}, timeout=SECONDS_FOR_SUMMARIES)
        shown = {listed.id: self._row(listed) for listed in page.rows}
        state = ListState(next(self._numbers), page, shown)
        return None if last is not None and last.looks_like(state) else state

    async def _seen(self, rows: tuple[ListedExperiment, ...], sees: Sees | None) -> tuple[ListedExperiment, ...]:
        """In a thread: to see which these are may take a look into the store."""
        return rows if sees is None else await self._pools.looks.run(sees, rows)

    async def _page(
        self, rows: tuple[ListedExperiment, ...], query: ListQuery, sees: Sees | None, callers: Callers
    ) -> tuple[tuple[ListedExperiment, ...], ListPage]:
        """What may be seen, and the page of it.

        In turns: however many search, that takes a share of the time. They wait for each other, but nobody for all that
        another one looks for.
        """
        async with self._turns.of(callers):
            start = self._clock()
            rows = await self._seen(rows, sees)
            page = await self._pools.looks.run(page_of, rows, query)
            await asyncio.sleep(min(1.0, (self._clock() - start) * (1 / SHARE_OF_TIME - 1)))
            return rows, page

    async def _read_all(self, at_least: float) -> tuple[ListedExperiment, ...]:
        """What is listed, read at this time or later."""
        async with self._reading:
            if self._read_at < at_least:
                start = self._clock()
                self._rows = await self._pools.looks.run(self._read)
                self._read_at, self._took = start, self._clock() - start
            return self._rows

    def _read(self) -> tuple[ListedExperiment, ...]:
        with self._store.reading() as reading:
            return tuple(reading.listed())

    def _row(self, listed: ListedExperiment) -> bytes:
        known = self._summaries.get(listed.id)
        if known is not None:
            self._summaries.move_to_end(listed.id)
        return to_json(summary_data(listed, None if known is None else known[1]))

    def _want(self, page: ListPage, rows: tuple[ListedExperiment, ...]) -> None:
        """Have those on the page opened that are not known as they are now, and some of which no verdict is known."""
        for listed in page.rows:
            known = self._summaries.get(listed.id)
            if known is None or known[0] < listed.head:
                self._wanted[listed.id] = listed.head
        unknown = (row.id for row in rows if row.verdict is None and row.id not in self._cannot_be_noted)
        noted = [name for name, _ in zip(unknown, range(NOTED_A_LOOK), strict=False)]
        if (self._wanted or noted) and (self._summarising is None or self._summarising.done()):
            self._summarising = asyncio.create_task(self._summarise(noted))

    async def _summarise(self, noted: list[str]) -> None:
        """One at a time: in between, the desk does what others ask of it."""
        try:
            while self._wanted and not self._closing.is_set():
                experiment, head = next(iter(self._wanted.items()))
                del self._wanted[experiment]
                with suppress(UnknownExperiment):  # it was deleted meanwhile
                    self._summaries[experiment] = await self._summary(experiment, head)
                while len(self._summaries) > MOST_SUMMARIES:
                    self._summaries.popitem(last=False)
            for experiment in noted:
                if not self._closing.is_set():
                    await self._note(experiment)
        except Exception as error:  # such as a store that is away for now: there is another look
            self._wanted.clear()
            log_failure("look-failed", error, level=logging.WARNING)

    async def _summary(self, experiment: str, head: int) -> tuple[int, Summary | DamagedExperiment]:
        """What the list shows of an experiment, and the journal number it belongs to."""
        try:
            summary: Summary = await self._bring(self._desk.read(experiment, read_summary))
        except (StoreUnavailable, UnknownExperiment):
            raise
        except Exception as error:  # one that is damaged must not hide the others
            log_failure("experiment-damaged", error)
            damaged: DamagedExperiment = await self._bring(self._desk.damaged(experiment))
            return head, damaged
        return max(head, summary.head), summary

    async def _note(self, experiment: str) -> None:
        try:
            await self._bring(self._desk.note_standing(experiment))
        except StoreUnavailable:
            raise
        except UnknownExperiment:
            return
        except Exception as error:  # damaged, whatever that leads to: it is not tried at every look
            self._cannot_be_noted.add(experiment)
            log_failure("experiment-damaged", error)
