"""What people watch: an experiment is looked at once for all, and one without viewers is forgotten."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing

import httpx
import pytest

from linkedbandits.service.alarms import Alarms
from linkedbandits.service.http.live_views import LiveViews
from linkedbandits.service.http.stream import Channel
from linkedbandits.service.outlook import Outlook
from tests.support.service_parts import create
from tools.waiting import SECONDS, run_async, until


def test_a_viewer_who_leaves_is_forgotten(own_service):
    experiment = own_service.create()

    def viewers():
        return own_service.http.get("/metrics").text.partition("\nlinkedbandits_viewers ")[2].partition("\n")[0]

    with httpx.stream("GET", f"{own_service.url}/v1/experiments/{experiment}/events", timeout=SECONDS) as response:
        lines = response.iter_lines()  # the response is closed with the iterator
        next(lines)
        assert viewers() == "1.0"
        assert own_service.server.service.live_views.watched == {experiment}
    until(lambda: viewers() == "0.0", "the viewer to be forgotten")
    until(lambda: not own_service.server.service.live_views.watched, "the experiment to be forgotten")


@pytest.fixture
def often(monkeypatch):
    """What is watched is looked at a thousand times a second."""
    monkeypatch.setattr("linkedbandits.service.http.live_views.Channel", lambda look, tick=0.0: Channel(look, 0.001))


class Outlooks:
    """An outlook that changes when it is told to."""

    def __init__(self):
        self.outlook = Outlook(1.0, 100.0)

    def latest(self, *of):
        return self.outlook


def data_of(event):
    return json.loads(event.partition(b"data: ")[2])


def test_a_new_outlook_is_shown_without_looking_at_the_experiment_again(often, desk, store, monkeypatch):
    experiment = create(desk)
    read, looks = desk.read, []
    monkeypatch.setattr(desk, "read", lambda *of: looks.append(1) or read(*of))

    async def watch():
        outlooks = Outlooks()
        views = LiveViews(store, desk, asyncio.wrap_future, outlooks, Alarms(store), asyncio.Event())
        async with aclosing(views.view_events(experiment, 0)) as events:
            first = await anext(events)
            outlooks.outlook = Outlook(2.0, 300.0)
            second = await anext(events)
            assert views.watched == {experiment}
        assert views.watched == set()
        return data_of(first), data_of(second), json.loads(await views.view(experiment))

    first, second, whole = run_async(watch())
    assert [view["outlook"]["lower_bound"] for view in (first, second, whole)] == [1.0, 2.0, 2.0]
    assert first["head"] == second["head"] == 0
    assert len(looks) == 2  # one for the stream, one for the view


def test_an_experiment_is_watched_until_the_last_viewer_has_left(often, desk, store):
    experiment, other = create(desk), create(desk)

    async def watch():
        views = LiveViews(store, desk, asyncio.wrap_future, Outlooks(), Alarms(store), asyncio.Event())
        never_begun = views.view_events(other, 0)
        async with aclosing(views.view_events(experiment, 0)) as staying:
            await anext(staying)
            async with aclosing(views.view_events(experiment, 0)) as leaving:
                await anext(leaving)
            seen = [views.watched]
        await never_begun.aclose()
        return [*seen, views.watched]

    assert run_async(watch()) == [{experiment}, set()]


def test_curves_are_made_anew_when_there_is_another_point(desk, store, clock):
    experiment = create(desk)

    async def look():
        views = LiveViews(store, desk, asyncio.wrap_future, Outlooks(), Alarms(store), asyncio.Event())
        seen = []
        for told in (0, 4, 0, 4):
            if told:
                clock.now += 5
                plays = desk.ask(experiment, told).result(SECONDS).plays
                desk.tell(experiment, [(play.id, play.arms[0]) for play in plays]).result(SECONDS)
            seen.append(json.loads(await views.curves(experiment)))
        return seen

    nothing, first, same, second = run_async(look())
    assert nothing == {"at": [], "plays": [], "leading": [], "arms": []}
    assert same == first
    assert (first["plays"], second["plays"]) == ([4], [4, 8])


def test_one_who_leaves_late_does_not_take_the_channel_of_those_who_came_since(often, desk, store):
    experiment = create(desk)

    async def watch():
        views = LiveViews(store, desk, asyncio.wrap_future, Outlooks(), Alarms(store), asyncio.Event())
        async with aclosing(views.view_events(experiment, 0)) as leaving:
            await anext(leaving)
            del views._channels[experiment]  # as by another who left in the same moment
            staying = views.view_events(experiment, 0)
            await anext(staying)
        assert views.watched == {experiment}
        await staying.aclose()
        assert views.watched == set()

    run_async(watch())
