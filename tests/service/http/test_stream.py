"""Server-sent events: no viewer misses anything, and many viewers cost as much as one."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

import linkedbandits as lb
from linkedbandits.service.http import stream
from linkedbandits.service.http.stream import Channel, StreamState, event, view_events
from tools.waiting import run_async


class Looks:
    """Frames to show, and how often somebody looked."""

    def __init__(self, *frames):
        self.frames = list(frames)
        self.count = 0

    async def __call__(self, last):
        self.count += 1
        return self.frames.pop(0) if self.frames else None


def list_events(channel, closing):
    """A stream without a history."""

    async def render(state):
        return event("experiments", state.body, state.head)

    return channel.events(closing, render)


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
        channel = Channel(looks, tick=0.1)  # long enough for every viewer to have its event before the next
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
        channel = Channel(Looks(StreamState(1, b"{}"), StreamState(2, b"{}")), tick=0.1)
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


def test_viewers_in_step_share_the_very_bytes_and_few_others_are_remembered():
    """Whatever numbers viewers say that they have seen, a state does not grow with them."""

    async def history(after, head):
        return b"[%d]" % after

    async def watch():
        state = StreamState(5_000, b"{}")
        one, other = await state.event_for(0, history), await state.event_for(0, history)
        assert one is other
        for seen in range(1, 1_000):
            assert b"[%d]" % seen in await state.event_for(seen, history)
            assert await state.event_for(0, history) is one  # those in step are many, and stay
        return len(state._events)

    assert run_async(watch()) == stream.MOST_EVENTS_KEPT


def test_who_may_not_know_what_it_goes_on_from_shares_an_event_without_it():
    state = StreamState(9, b'{"before":{"id":"hidden"},"plays":3}')
    read = []

    async def history(seen, head):
        read.append(seen)
        return b"[]"

    async def run():
        return [await state.event_for(0, history, shows) for shows in (True, False, False)]

    whole, first, second = run_async(run())
    assert b"hidden" in whole
    assert b"hidden" not in first
    assert b'"before":null' in first
    assert first is second
    assert len(read) == 2
