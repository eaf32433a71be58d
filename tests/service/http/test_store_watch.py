"""Is the store there? Answered at once, also by a store that does not answer."""

from __future__ import annotations

import threading

import pytest

import linkedbandits as lb
from linkedbandits.service.http.store_watch import FIGURES_SECONDS, PATIENCE_SECONDS, StoreWatch
from linkedbandits.service.pulse import Pulse
from tests.support.service_parts import SETUP, create
from tools.waiting import SECONDS, join, until


class Watched:
    """A watch of a store that may be told to fail, and what it said."""

    def __init__(self, store, clock):
        self.said = []
        self.error = None
        self.pulse = Pulse(clock)
        self.watch = StoreWatch(
            store,
            self.ping,
            self.pulse,
            lambda reason: self.said.append(("away", reason)),
            lambda seconds: self.said.append(("back", seconds)),
            clock,
        )

    def ping(self):
        if self.error is not None:
            raise self.error


@pytest.fixture
def watched(store, clock):
    return Watched(store, clock)


def test_that_it_goes_and_comes_is_said_once_each(watched, clock):
    watched.watch.ask()
    assert not watched.watch.away()
    watched.error = lb.StoreUnavailable("disk gone")
    for _ in range(3):
        watched.watch.ask()
        assert watched.watch.away()
        clock.now += 2
    watched.error = None
    for _ in range(2):
        watched.watch.ask()
        assert not watched.watch.away()
    assert watched.said == [("away", "disk gone"), ("back", 6.0)]


def test_one_that_cannot_be_written_is_away_too(watched):
    watched.watch.ask()
    watched.pulse.failure = lb.StoreUnavailable("disk full")
    assert watched.watch.away()
    watched.pulse.failure = None
    assert not watched.watch.away()
    assert [word for word, _ in watched.said] == ["away", "back"]


def test_one_that_does_not_answer_is_away_when_it_has_not_for_a_while(watched, clock):
    asked, answer = threading.Event(), threading.Event()

    def hang():
        asked.set()
        assert answer.wait(SECONDS)

    watched.watch._ping = hang
    asking = threading.Thread(target=watched.watch.ask)
    asking.start()
    assert asked.wait(SECONDS)
    clock.now += PATIENCE_SECONDS
    assert not watched.watch.away()
    clock.now += 1
    assert watched.watch.away()
    answer.set()
    join(asking)
    assert watched.said == [("away", "the store has not answered for 5 s"), ("back", 0.0)]


def test_a_mistake_is_no_reason_to_ask_no_more(watched):
    watched.error = ZeroDivisionError()
    watched.watch.ask()
    assert "ZeroDivisionError" in watched.said[0][1]


def test_figures_are_read_now_and_then_and_have_an_age(watched, store, desk, clock):
    assert watched.watch.age() is None
    create(desk)
    watched.watch.ask()
    clock.now += FIGURES_SECONDS - 1
    desk.create(SETUP, "another").result()
    watched.watch.ask()
    assert (watched.watch.age(), watched.watch.figures.experiments) == (FIGURES_SECONDS - 1, {"running": 1})
    clock.now += 1
    watched.watch.ask()
    figures = watched.watch.figures
    assert (watched.watch.age(), figures.experiments, figures.outbox.waiting) == (0, {"running": 2}, 0)
    assert figures.bytes > 10_000
    assert 0 < figures.room.free <= figures.room.total


def test_it_asks_by_itself_until_it_is_stopped(watched, monkeypatch):
    monkeypatch.setattr("linkedbandits.service.http.store_watch.ASK_SECONDS", 0.001)
    asked = []
    watched.watch._ping = lambda: asked.append(1)
    watched.watch.start()
    until(lambda: len(asked) > 3, "some questions")
    watched.watch.stop()
    join(watched.watch._thread)
