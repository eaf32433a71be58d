"""Server-sent events: nobody misses anything, and many viewers cost as much as one."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from contextlib import aclosing
from functools import partial

import httpx
import pytest

import linkedbandits as lb
from linkedbandits.service.desk import Desk
from linkedbandits.service.http import access, stream
from linkedbandits.service.http.open_streams import OpenStreams
from linkedbandits.service.http.service import Settings
from linkedbandits.service.http.stream import Channel, StreamState, event, list_events, view_events
from linkedbandits.service.records import Entry
from tests.support.running_service import running_service
from tools.waiting import SECONDS, join, run_async, until, within


def events_of(lines):
    """Events as they come in: name, id, data."""
    found = {}
    for line in lines:
        if line == "":
            if "data" in found:
                yield found["event"], int(found["id"]), json.loads(found["data"])
            found = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            found[name] = value


def play(service, experiment, count=50):
    asked = service.http.post(f"/v1/experiments/{experiment}/ask", json={"count": count}).json()["plays"]
    answers = [{"play": play["id"], "hit": None} for play in asked]
    assert service.http.post(f"/v1/experiments/{experiment}/tell", json={"answers": answers}).status_code == 200


class Looks:
    """Frames to show, and how often somebody looked."""

    def __init__(self, *frames):
        self.frames = list(frames)
        self.count = 0

    async def __call__(self, last):
        self.count += 1
        return self.frames.pop(0) if self.frames else None


async def no_history(after, head):
    return b"[]"


async def first_events(events, count):
    async with aclosing(events):
        return [await anext(events) for _ in range(count)]


def test_an_event_is_a_few_lines():
    assert event("view", b'{"plays":3}', 7) == b'id: 7\nevent: view\ndata: {"plays":3}\n\n'


def test_many_viewers_share_one_look_a_tick():
    looks = Looks(StreamState(1, b"{}"), StreamState(2, b"{}"), StreamState(3, b"{}"))
    readings = []

    async def history(after, head):
        readings.append((after, head))
        return b"[[%d]]" % head

    async def watch():
        closing = asyncio.Event()
        channel = Channel(looks, tick=0.01)
        viewers = [view_events(channel, 0, history, closing) for _ in range(20)]
        seen = await asyncio.gather(*(first_events(viewer, 3) for viewer in viewers))
        return seen, channel.is_idle

    seen, idle = run_async(watch())
    assert all(events == seen[0] for events in seen)
    assert seen[0][1] == b'id: 2\nevent: view\ndata: {"history":[[2]]}\n\n'.replace(b'{"', b'{,"')
    assert readings == [(0, 1), (1, 2), (2, 3)]
    assert looks.count < 20  # fewer than viewers, however many ticks pass before they have all been served
    assert idle


def test_a_viewer_who_was_away_gets_the_history_since():
    asked = []

    async def history(after, head):
        asked.append((after, head))
        return b"[]"

    async def watch():
        return await first_events(view_events(Channel(Looks(StreamState(9, b"{}"))), 5, history, asyncio.Event()), 1)

    run_async(watch())
    assert asked == [(5, 9)]


def test_a_slow_viewer_skips_states_but_sees_the_last():
    async def watch():
        looks = Looks(*(StreamState(number, b"[]") for number in range(1, 6)))
        channel = Channel(looks, tick=0.001)
        closing = asyncio.Event()
        slow = list_events(channel, closing)
        async with aclosing(slow):
            first = await anext(slow)
            while looks.count < 6:  # five frames, and one look that brought nothing new
                await asyncio.sleep(0.001)
            return first, await anext(slow)

    first, last = run_async(watch())
    assert first.startswith(b"id: 1\n")
    assert last.startswith(b"id: 5\n")


def test_a_quiet_stream_has_a_heartbeat_and_ends_when_the_service_closes(monkeypatch):
    monkeypatch.setattr(stream, "HEARTBEAT_SECONDS", 0.02)

    async def watch():
        closing = asyncio.Event()
        events = list_events(Channel(Looks()), closing)
        first = await anext(events)
        closing.set()
        return first, [event async for event in events]

    assert run_async(watch()) == (b": still here\n\n", [])


@pytest.mark.parametrize("error", [lb.StoreUnavailable("gone"), ZeroDivisionError("a mistake")], ids=repr)
def test_a_look_that_fails_for_a_while_only_delays(error, caplog):
    class Broken(Looks):
        async def __call__(self, last):
            if self.count < 2:
                self.count += 1
                raise error
            return await super().__call__(last)

    channel = Channel(Broken(StreamState(4, b"[]")), tick=0.001)
    (event,) = run_async(first_events(list_events(channel, asyncio.Event()), 1))
    assert event.startswith(b"id: 4\n")
    assert [record.getMessage() for record in caplog.records] == ["look-failed"] * 2


@pytest.mark.parametrize("error", [lb.StoreUnavailable("gone"), ZeroDivisionError("a mistake")], ids=repr)
def test_a_history_that_cannot_be_read_now_is_read_at_the_next_tick_for_everybody(error, caplog):
    asked = []

    async def history(after, head):
        asked.append((after, head))
        if len(asked) == 2:
            raise error
        return b"[]"

    async def watch():
        closing = asyncio.Event()
        channel = Channel(Looks(StreamState(1, b"{}"), StreamState(2, b"{}")), tick=0.01)
        viewers = [view_events(channel, 0, history, closing) for _ in range(5)]
        return await asyncio.gather(*(first_events(viewer, 3) for viewer in viewers))

    for events in run_async(watch()):
        assert [event.split(b"\n")[0] for event in events] == [b"id: 1", b": still here", b"id: 2"]
    assert asked == [(0, 1), (1, 2), (1, 2)]
    assert [record.getMessage() for record in caplog.records] == ["look-failed"]


def test_a_history_that_can_never_be_read_does_not_hide_what_comes_after():
    async def history(after, head):
        if head == 2:
            raise lb.StoreUnavailable("gone")
        return b"[]"

    async def watch():
        looks = Looks(StreamState(1, b"{}"), StreamState(2, b"{}"), StreamState(3, b"{}"))
        events = view_events(Channel(looks, tick=0.01), 0, history, asyncio.Event())
        async with aclosing(events):
            return [await anext(event async for event in events if event != b": still here\n\n") for _ in range(2)]

    assert [event.split(b"\n")[0] for event in run_async(watch())] == [b"id: 1", b"id: 3"]


def test_who_comes_after_a_pause_is_not_shown_what_was_true_once():
    async def watch():
        channel = Channel(Looks(StreamState(1, b"[]"), StreamState(2, b"[]")), tick=10)
        closing = asyncio.Event()
        return [
            *await first_events(list_events(channel, closing), 1),
            *await first_events(list_events(channel, closing), 1),
        ]

    assert [event.split(b"\n")[0] for event in run_async(watch())] == [b"id: 1", b"id: 2"]


def test_the_view_moves_while_plays_are_told_and_a_reconnect_misses_nothing(service):
    experiment = service.create()
    play(service, experiment)
    path = f"/v1/experiments/{experiment}/events"
    with service.http.stream("GET", path) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-store"
        events = events_of(within(response.iter_lines(), "the answers to be seen"))
        name, head, view = next(events)
        assert (name, head, view["head"], view["plays"]) == ("view", 2, 2, 50)
        time.sleep(1.1)  # points of the history are a second apart
        play(service, experiment)
        _, seen, view = next(event for event in events if event[2]["plays"] >= 100)
    time.sleep(1.1)
    play(service, experiment)
    with service.http.stream("GET", path, headers={"Last-Event-ID": str(seen)}) as response:
        _, head, view = next(events_of(response.iter_lines()))
    assert view["plays"] == 150
    assert view["history"]
    assert all(seen < point[0] <= head for point in view["history"])
    whole = service.http.get(f"/v1/experiments/{experiment}/view").json()
    assert whole["history"][-len(view["history"]) :] == view["history"]


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


def test_a_damaged_experiment_is_shown_as_such_and_hides_no_other(own_service):
    own_service.create(name="sound")
    damaged = own_service.create(name="damaged")
    damage(own_service, damaged)
    with own_service.http.stream("GET", "/v1/events") as response:
        _, _, listed = next(events_of(response.iter_lines()))
    assert [(one["name"], one["status"], one["plays"]) for one in listed] == [
        ("sound", "running", 0),
        ("damaged", "damaged", None),
    ]
    assert own_service.http.get("/metrics").status_code == 200
    problem = own_service.http.get(f"/v1/experiments/{damaged}/events")
    assert (problem.status_code, problem.json()["type"]) == (500, "urn:linkedbandits:journal-mismatch")


@pytest.fixture
def list_often(monkeypatch):
    """A service that starts after this looks at its list a hundred times a second."""
    monkeypatch.setattr("linkedbandits.service.http.live_views.LIST_TICK_SECONDS", 0.01)


@pytest.fixture
def room_for_one(monkeypatch):
    """A service that starts after this has room for one event stream."""
    monkeypatch.setattr("linkedbandits.service.http.service.OpenStreams", partial(OpenStreams, most=1))


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
        play(own_service, second)
        assert next(event for event in events if event[2][1]["plays"] >= 50)
    assert looked_at[:2] == [first, second]
    assert set(looked_at[2:]) == {second}


def test_a_revoked_token_ends_the_stream_it_opened(tmp_path, monkeypatch):
    monkeypatch.setattr(access, "REFRESH_SECONDS", 0.05)
    monkeypatch.setattr(stream, "HEARTBEAT_SECONDS", 0.05)
    with running_service(str(tmp_path / "experiments.sqlite3"), Settings(open_without_tokens=False)) as service:
        kept, _ = service.make_token("viewer")
        revoked, token_id = service.make_token("viewer")

        def watch(token):
            signed = {"Authorization": f"Bearer {token}"}
            return httpx.stream("GET", f"{service.url}/v1/events", headers=signed, timeout=SECONDS)

        with watch(kept) as staying, watch(revoked) as going:
            going_on = going.iter_lines()
            next(going_on)
            with service.store.writing() as writing:
                writing.remove_token(token_id)
            for _ in within(going_on, "the end of a stream without its token"):
                pass
            after = staying.iter_lines()
            assert all(next(after) is not None for _ in range(20))


def test_a_service_without_tokens_ends_its_streams_when_one_is_made(own_service, monkeypatch):
    monkeypatch.setattr(access, "REFRESH_SECONDS", 0.05)
    monkeypatch.setattr(stream, "HEARTBEAT_SECONDS", 0.05)
    with own_service.http.stream("GET", "/v1/events") as response:
        lines = response.iter_lines()
        next(lines)
        own_service.make_token("admin")
        for _ in within(lines, "the end of a stream without a token"):
            pass


def test_no_more_streams_than_fit(room_for_one, own_service):
    with httpx.stream("GET", f"{own_service.url}/v1/events", timeout=SECONDS) as response:
        lines = response.iter_lines()  # whoever lets go of it hangs up
        next(lines)
        refused = own_service.http.get("/v1/events")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "10")
        assert refused.json()["type"] == "urn:linkedbandits:service-unavailable"

    def is_admitted():
        with own_service.http.stream("GET", "/v1/events") as response:
            return response.status_code == 200

    until(is_admitted, "room for a viewer, after one has left")


def test_streams_end_when_the_service_stops(own_service):
    experiment = own_service.create()
    ended = threading.Event()

    def watch():
        with own_service.http.stream("GET", f"/v1/experiments/{experiment}/events") as response:
            for _ in response.iter_lines():
                started.set()
        ended.set()

    started = threading.Event()
    thread = threading.Thread(target=watch)
    thread.start()
    assert started.wait(SECONDS)
    own_service.server.should_exit = True
    assert ended.wait(SECONDS), "the stream went on after the signal to stop"
    join(thread)


@pytest.mark.parametrize("value", ["-1", "abc", str(2**70)])
def test_an_id_that_no_event_had_is_refused(service, value):
    response = service.http.get(f"/v1/experiments/{service.create()}/events", headers={"Last-Event-ID": value})
    assert response.status_code == 422


def test_a_viewer_who_leaves_is_forgotten(own_service):
    experiment = own_service.create()

    def viewers():
        return own_service.http.get("/metrics").text.partition("\nlinkedbandits_viewers ")[2].partition("\n")[0]

    with httpx.stream("GET", f"{own_service.url}/v1/experiments/{experiment}/events", timeout=SECONDS) as response:
        lines = response.iter_lines()  # the response is closed with the iterator
        next(lines)
        assert viewers() == "1.0"
    until(lambda: viewers() == "0.0", "the viewer to be forgotten")
    assert own_service.server._service.live_views._channels == {}
