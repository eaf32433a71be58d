"""Server-sent events: nobody misses anything, and many viewers cost as much as one."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from contextlib import aclosing

import httpx
import pytest

import linkedbandits as lb
from linkedbandits.service.http import stream
from linkedbandits.service.http.stream import Channel, Frame, event, list_events, view_events


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
    looks = Looks(Frame(1, b"{}"), Frame(2, b"{}"), Frame(3, b"{}"))
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

    seen, idle = asyncio.run(watch())
    assert all(events == seen[0] for events in seen)
    assert seen[0][1] == b'id: 2\nevent: view\ndata: {"history":[[2]]}\n\n'.replace(b'{"', b'{,"')
    assert readings == [(0, 1), (1, 2), (2, 3)]
    assert looks.count <= 6
    assert idle


def test_a_viewer_who_was_away_gets_the_history_since():
    asked = []

    async def history(after, head):
        asked.append((after, head))
        return b"[]"

    async def watch():
        return await first_events(view_events(Channel(Looks(Frame(9, b"{}"))), 5, history, asyncio.Event()), 1)

    asyncio.run(watch())
    assert asked == [(5, 9)]


def test_a_slow_viewer_skips_states_but_sees_the_last():
    async def watch():
        looks = Looks(*(Frame(number, b"[]") for number in range(1, 6)))
        channel = Channel(looks, tick=0.001)
        closing = asyncio.Event()
        slow = list_events(channel, closing)
        async with aclosing(slow):
            first = await anext(slow)
            await asyncio.sleep(0.1)
            return first, await anext(slow)

    first, last = asyncio.run(watch())
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

    assert asyncio.run(watch()) == (b": still here\n\n", [])


def test_a_store_that_is_away_for_a_while_only_delays(caplog):
    class Broken(Looks):
        async def __call__(self, last):
            if self.count < 2:
                self.count += 1
                raise lb.StoreUnavailable("gone")
            return await super().__call__(last)

    channel = Channel(Broken(Frame(4, b"[]")), tick=0.001)
    (event,) = asyncio.run(first_events(list_events(channel, asyncio.Event()), 1))
    assert event.startswith(b"id: 4\n")


def test_a_history_that_cannot_be_read_now_comes_with_the_next_frame():
    asked = []

    async def history(after, head):
        asked.append((after, head))
        if head == 2:
            raise lb.StoreUnavailable("gone")
        return b"[]"

    looks = Looks(Frame(1, b"{}"), Frame(2, b"{}"), Frame(3, b"{}"))
    events = asyncio.run(first_events(view_events(Channel(looks, tick=0.01), 0, history, asyncio.Event()), 2))
    assert [event.split(b"\n")[0] for event in events] == [b"id: 1", b"id: 3"]
    assert asked == [(0, 1), (1, 2), (1, 3)]


def test_who_comes_after_a_pause_is_not_shown_what_was_true_once():
    async def watch():
        channel = Channel(Looks(Frame(1, b"[]"), Frame(2, b"[]")), tick=10)
        closing = asyncio.Event()
        return [
            *await first_events(list_events(channel, closing), 1),
            *await first_events(list_events(channel, closing), 1),
        ]

    assert [event.split(b"\n")[0] for event in asyncio.run(watch())] == [b"id: 1", b"id: 2"]


def test_the_view_moves_while_plays_are_told_and_a_reconnect_misses_nothing(service):
    experiment = service.create()
    play(service, experiment)
    path = f"/v1/experiments/{experiment}/events"
    with service.http.stream("GET", path) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-store"
        events = events_of(response.iter_lines())
        name, head, view = next(events)
        assert (name, head, view["head"], view["plays"]) == ("view", 2, 2, 50)
        time.sleep(1.1)  # points of the history are a second apart
        play(service, experiment)
        while view["plays"] < 100:
            _, seen, view = next(events)
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
        created = httpx.post(f"{service.url}/v1/experiments", json={"name": "new", "arms": [1, 2]}).json()["id"]
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
    assert started.wait(10)
    own_service.server.should_exit = True
    assert ended.wait(10), "the stream went on after the signal to stop"
    thread.join()


@pytest.mark.parametrize("value", ["-1", "abc", str(2**70)])
def test_an_id_that_no_event_had_is_refused(service, value):
    response = service.http.get(f"/v1/experiments/{service.create()}/events", headers={"Last-Event-ID": value})
    assert response.status_code == 422


def test_a_viewer_who_leaves_is_forgotten(own_service):
    experiment = own_service.create()

    def viewers():
        return own_service.http.get("/metrics").text.partition("\nlinkedbandits_viewers ")[2].partition("\n")[0]

    with httpx.stream("GET", f"{own_service.url}/v1/experiments/{experiment}/events") as response:
        lines = response.iter_lines()  # the response is closed with the iterator
        next(lines)
        assert viewers() == "1.0"
    deadline = time.monotonic() + 10
    while viewers() != "0.0":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert own_service.server._service.watching._channels == {}
