"""What people watch: the list reads what has changed, and an experiment without viewers is forgotten."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing

import httpx
import pytest

import linkedbandits as lb
from linkedbandits.service.alarms import Alarms
from linkedbandits.service.desk import Desk
from linkedbandits.service.http.live_views import LiveViews
from linkedbandits.service.http.stream import Channel
from linkedbandits.service.outlook import Outlook
from linkedbandits.service.records import Entry
from tests.support.event_streams import events_of
from tests.support.service_parts import create
from tools.waiting import SECONDS, run_async, until, within


def test_the_list_shows_a_new_experiment(service):
    with service.http.stream("GET", "/v1/events") as response:
        events = events_of(response.iter_lines())
        name, _, before = next(events)
        created = httpx.post(
            f"{service.url}/v1/experiments", json={"name": "new", "arms": [1, 2]}, timeout=SECONDS
        ).json()["id"]
        _, _, after = next(events)
    assert name == "experiments"
    assert len(after) == len(before) + 1
    assert {key: after[-1][key] for key in ("id", "name", "arms", "plays", "done", "status")} == {
        "id": created,
        "name": "new",
        "arms": 2,
        "plays": 0,
        "done": False,
        "status": "running",
    }


def damage(service, experiment):
    """Let the journal say something that cannot have happened."""
    with service.store.writing() as writing:
        seq = writing.lock(experiment) + 1
        damaged = Entry(seq, 0.0, "tell", {"plays": [99], "hits": [0], "receipts": "c"})
        writing.append(experiment, [damaged], "running", writing.record(experiment).written_by)


def test_a_damaged_experiment_is_shown_as_such_and_hides_no_other(own_service, caplog):
    own_service.create(name="sound")
    damaged = own_service.create(name="damaged")
    damage(own_service, damaged)
    with own_service.http.stream("GET", "/v1/events") as response:
        _, _, listed = next(events_of(response.iter_lines()))
    assert [(one["name"], one["status"], one["plays"]) for one in listed] == [
        ("sound", "running", 0),
        ("damaged", "damaged", None),
    ]
    (logged,) = [record for record in caplog.records if record.getMessage() == "experiment-damaged"]
    assert logged.exc_info[0] is lb.JournalMismatch
    assert own_service.http.get("/metrics").status_code == 200
    problem = own_service.http.get(f"/v1/experiments/{damaged}/events")
    assert (problem.status_code, problem.json()["type"]) == (500, "urn:linkedbandits:journal-mismatch")


@pytest.fixture
def list_often(monkeypatch):
    """A service that starts after this looks at its list a hundred times a second."""
    monkeypatch.setattr("linkedbandits.service.http.live_views.LIST_TICK_SECONDS", 0.01)


def test_the_list_reads_only_what_has_changed(list_often, own_service, monkeypatch):
    first, second = own_service.create(), own_service.create()
    read, looked_at = Desk.read, []

    def note(desk, experiment, function):
        looked_at.append(experiment)
        return read(desk, experiment, function)

    def too_much(desk):
        raise AssertionError("all records were read")

    monkeypatch.setattr(Desk, "read", note)
    monkeypatch.setattr(Desk, "records", too_much)
    with httpx.stream("GET", f"{own_service.url}/v1/events", timeout=SECONDS) as response:
        events = events_of(within(response.iter_lines(), "the answers to be seen"))
        next(events)
        own_service.play(second)
        assert next(event for event in events if event[2][1]["plays"] >= 50)
    assert looked_at[:2] == [first, second]
    assert set(looked_at[2:]) == {second}


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
    assert own_service.server.service.live_views.watched == set()


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
