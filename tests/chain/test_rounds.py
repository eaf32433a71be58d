"""Work in the background."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from linkedbandits.chain import rounds
from linkedbandits.chain.rounds import LONGEST_PAUSE, Pause, Rounds
from linkedbandits.chain.troubles import Troubles
from tests.support.service_parts import ManualClock
from tools.waiting import SECONDS, until


def test_a_round_is_made_when_it_is_woken_and_a_last_one_in_the_end():
    made, last, done = [], [], threading.Event()

    def work():
        made.append(threading.current_thread())
        done.set()

    some = Rounds("here", work, Troubles(), lambda: last.append(True))
    assert made == []
    some.wake()
    assert done.wait(SECONDS)
    assert made[0].daemon
    assert made[0] is not threading.current_thread()
    some.wait_for(some.made + 1)
    assert len(made) >= 2
    some.stop()
    assert last == [True]
    after = len(made)
    some.wake()
    some.wait_for(10**9)
    assert len(made) == after


def test_a_round_that_fails_is_noted_and_pauses_grow(monkeypatch, caplog):
    monkeypatch.setattr(rounds, "SHORTEST_PAUSE", 0.001)
    pauses, troubles = [], Troubles()

    def work():
        raise OSError("away")

    some = Rounds("there", work, troubles)
    wait = some._stopped.wait
    monkeypatch.setattr(some._stopped, "wait", lambda seconds: (pauses.append(seconds), wait(0.001))[1])
    until(lambda: some.wake() or len(pauses) >= 6, "six rounds")
    some.stop()
    assert troubles.last == "there: OSError: away"
    assert troubles.count >= 6
    assert all(pause >= 0.002 * 2**number for number, pause in enumerate(pauses[:6]))


def test_behind_a_round_that_took_long_the_pause_is_no_longer_than_the_longest(monkeypatch):
    """A client tries for half a minute to reach a service that is away; three times that would be a long pause."""
    pauses, now = [], ManualClock(0.0)
    monkeypatch.setattr(rounds, "time", SimpleNamespace(monotonic=now))

    def work():
        now.now += 40.0

    some = Rounds("there", work, Troubles())
    wait = some._stopped.wait
    monkeypatch.setattr(some._stopped, "wait", lambda seconds: (pauses.append(seconds), wait(0.001))[1])
    until(lambda: some.wake() or pauses, "a round")
    some.stop()
    assert set(pauses) == {LONGEST_PAUSE}


def test_one_that_was_never_woken_stops_at_once():
    last = []
    Rounds("here", print, Troubles(), lambda: last.append(True)).stop()
    assert last == []


def test_without_a_thread_to_be_had_it_is_noted_and_tried_again(monkeypatch, caplog):
    done, troubles = threading.Event(), Troubles()
    some = Rounds("here", done.set, troubles)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", lambda _: (_ for _ in ()).throw(RuntimeError("can't start")))
        some.wake()
    assert troubles.last == "here: RuntimeError: can't start"
    some.wake()
    assert done.wait(SECONDS)
    some.stop()


def test_it_ends_with_whose_work_it_is():
    class Owner:
        def __init__(self) -> None:
            self.rounds = Rounds("here", self.work, Troubles(), ends_with_owner=True)

        def work(self) -> None:
            pass

    owner = Owner()
    rounds_of_owner = owner.rounds
    rounds_of_owner.wake()
    until(lambda: rounds_of_owner.made, "a round")
    del owner
    until(lambda: rounds_of_owner.wake() or not rounds_of_owner._thread.is_alive(), "the thread to end")


@pytest.mark.parametrize("calls", [1, 2])
def test_stopping_twice_is_harmless(calls):
    some = Rounds("here", lambda: None, Troubles())
    some.wake()
    for _ in range(calls):
        some.stop()
    assert some._thread is not None


def test_pauses_get_twice_as_long_each_time_until_one_is_over():
    clock = ManualClock()
    pause = Pause(clock, shortest=1.0)
    assert not pause.lasts
    lengths = []
    for _ in range(7):
        pause.begin()
        begun = clock.now
        while pause.lasts:
            clock.now += 0.5
        lengths.append(clock.now - begun)
    assert lengths == [1.0, 2.0, 4.0, 8.0, 16.0, LONGEST_PAUSE, LONGEST_PAUSE]
    pause.begin()
    pause.over()
    assert not pause.lasts
    pause.begin()
    clock.now += 1.0
    assert not pause.lasts
