"""Plays at hand: enough for the calls that come, and hardly any without calls."""

from __future__ import annotations

import pytest

import linkedbandits as lb
from linkedbandits.chain.ahead import IDLE_AFTER, LEAST, MOST, Ahead
from tests.support.service_parts import ManualClock


def plays(count: int, first: int = 0) -> list[lb.Play]:
    return [lb.Play(number, ("a",)) for number in range(first, first + count)]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def ahead(clock) -> Ahead:
    return Ahead(60.0, clock)


def test_plays_are_taken_in_the_order_they_were_asked_in(ahead):
    ahead.put(plays(3))
    assert [ahead.take().id for _ in range(3)] == [0, 1, 2]
    assert ahead.take() is None
    ahead.put(plays(2))
    assert ([play.id for play in ahead.clear()], len(ahead)) == ([0, 1], 0)


def test_twice_as_many_are_wanted_as_were_taken(ahead):
    assert ahead.wanted(False) == LEAST
    for _ in range(20):
        ahead.take()
    assert ahead.wanted(False) == 40
    ahead.put(plays(30))
    assert ahead.wanted(False) == 2  # as 80 percent of 20 are expected now
    for _ in range(5000):
        ahead.take()
    assert ahead.wanted(False) == MOST
    for _ in range(100):
        left = ahead.wanted(False)
    assert left == LEAST


def test_without_calls_one_is_kept_and_is_a_fresh_one(ahead, clock):
    ahead.put(plays(4))
    clock.now += IDLE_AFTER - 0.1
    assert ahead.unused() == []
    clock.now += 0.2
    assert [play.id for play in ahead.unused()] == [0, 1, 2]
    assert ahead.wanted(True) == 0
    assert ahead.wanted(False) == 0
    clock.now += 30.0
    assert [play.id for play in ahead.unused()] == [3]
    assert ahead.wanted(True) == 0
    assert ahead.unused() == []
    assert ahead.wanted(False) == 1


def test_calls_that_come_keep_what_is_at_hand_but_not_beyond_half_the_lease(ahead, clock):
    ahead.put(plays(4))
    clock.now += 20.0
    ahead.take()
    assert ahead.unused() == []
    ahead.wanted(False)
    clock.now += 10.1
    ahead.take()
    assert [play.id for play in ahead.unused()] == [2]
    assert len(ahead) == 1
