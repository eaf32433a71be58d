"""Looks for alarms of experiments for which a webhook wants to hear of them, as if somebody watched their page."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable

from linkedbandits.attempts.alarms import Alarm
from linkedbandits.model import Label
from linkedbandits.service.alarms import MOST_REMEMBERED, NOT_LOOKED_YET, Alarms, Found
from linkedbandits.service.store import Store
from linkedbandits.service.survey import Played
from linkedbandits.service.webhooks import Happening, Webhook

MOST_WATCHED = MOST_REMEMBERED - 10
"""Experiments that are looked at at a time; some room is left for those whose page is open."""


class Lookout:
    """Told of what was played, in the event loop; it begins looks, and puts out what they have found."""

    def __init__(
        self,
        store: Store,
        alarms: Alarms,
        on_news: Callable[[list[Happening]], None],
        look_at_all: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._alarms = alarms
        self._on_news = on_news
        self._look_at_all = look_at_all
        self._clock = clock
        self._watched: dict[str, Found] = {}
        self._put_out: dict[str, frozenset[str]] = {}  # the keys of alarms, by experiment

    async def look(self, played: Iterable[Played]) -> None:
        """Look at those that somebody wants to be told about."""
        webhooks = await asyncio.to_thread(self._webhooks)
        if not webhooks and not self._look_at_all:
            return
        wanted = {
            one.experiment: one
            for one in played
            if self._look_at_all or any(hook.experiment in (None, one.experiment) for hook in webhooks)
        }
        for one in self._chosen(wanted):
            found = self._alarms.latest(one.experiment, one.arms, one.warm, one.plays, one.done)
            self._watched[one.experiment] = found
            await self._put(one, found.alarms)

    def _chosen(self, wanted: dict[str, Played]) -> list[Played]:
        """Those that were chosen before and are under way, then others, up to as many as may be."""
        stay = [name for name, found in self._watched.items() if name in wanted and not _is_over(wanted[name], found)]
        over = {name for name in self._watched if name in wanted and name not in stay}
        new = [name for name, one in wanted.items() if one.plays and name not in stay and name not in over]
        chosen = [*stay, *new][:MOST_WATCHED]
        self._watched = {name: self._watched.get(name, NOT_LOOKED_YET) for name in (*chosen, *over)}
        return [wanted[name] for name in chosen]

    def _webhooks(self) -> list[Webhook]:
        with self._store.reading() as reading:
            return [webhook for webhook in reading.webhooks() if "alarm" in webhook.events]

    async def _put(self, one: Played, alarms: tuple[Alarm, ...]) -> None:
        keys = frozenset(_key(one.arms, alarm) for alarm in alarms)
        before = self._put_out.get(one.experiment, frozenset())
        new = [alarm for alarm in alarms if _key(one.arms, alarm) not in before]
        if not new:
            return
        now = self._clock()
        happened = [
            Happening(one.experiment, one.name, "alarm", _key(one.arms, alarm), now, _data(alarm)) for alarm in new
        ]
        await asyncio.to_thread(self._write, happened)
        self._put_out[one.experiment] = before | keys
        self._on_news(happened)

    def _write(self, happened: list[Happening]) -> None:
        with self._store.writing() as writing:
            for happening in happened:
                writing.put_out(happening)


def _is_over(one: Played, found: Found) -> bool:
    """Is there a verdict, and has everything been looked at?"""
    return one.done and found.plays == one.plays


def _key(arms: tuple[Label, ...], alarm: Alarm) -> str:
    """The same for an alarm whenever it is found, whoever finds it."""
    return f"alarm {alarm.kind} {arms.index(alarm.option)}"


def _data(alarm: Alarm) -> dict[str, object]:
    return {
        "alarm": alarm.kind,
        "option": alarm.option,
        "since": alarm.since,
        "noticed": alarm.noticed,
        "log10_evidence": alarm.log10_evidence,
        "sentence": alarm.sentence,
        "remedy": alarm.remedy,
    }
