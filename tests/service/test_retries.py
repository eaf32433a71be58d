"""When to try again: a random time, up to a limit that doubles."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.service.retries import DEFAULT_RETRIES, Patience, Retries
from tests.support.service_parts import ManualClock


def test_jitter_is_drawn_anew_every_time():
    draws = iter([0.5, 0.25, 1.0])
    assert list(Retries(times=3, first_seconds=1.0, longest_seconds=5.0, draw=lambda: next(draws)).pauses()) == [
        0.5,
        0.5,
        4.0,
    ]


@given(
    st.integers(0, 12),
    st.floats(0.001, 100),
    st.floats(0.001, 100),
    st.lists(st.floats(0, 1, exclude_max=True), min_size=12, max_size=12),
)
def test_there_are_as_many_pauses_as_told_and_none_is_longer_than_its_limit(times, first, longest, drawn):
    draws = iter(drawn)
    pauses = list(Retries(times, first, longest, lambda: next(draws)).pauses())
    assert len(pauses) == times
    for number, pause in enumerate(pauses):
        assert pause == drawn[number] * min(first * 2**number, longest)


def test_every_call_begins_with_the_shortest_pause_again():
    retries = Retries(times=2, first_seconds=1.0, draw=lambda: 1.0)
    assert [list(retries.pauses()) for _ in range(2)] == [[1.0, 2.0]] * 2


def test_by_default_there_is_no_end_of_pauses_but_of_time():
    pauses = list(itertools.islice(Retries(draw=lambda: 1.0).pauses(), 2_000))
    assert pauses[:7] == [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]
    assert set(pauses[6:]) == {2.0}
    assert DEFAULT_RETRIES.seconds == 30.0


@given(st.floats(0.01, 100), st.floats(0, 100), st.lists(st.tuples(st.floats(0, 1), st.floats(0, 3)), min_size=1))
def test_whatever_attempts_take_and_services_ask_for_the_time_is_kept(timeout, seconds, course):
    clock = ManualClock(0.0)
    draws = iter([share for share, _ in course])
    patience = Patience(Retries(seconds=seconds, times=len(course), draw=lambda: next(draws)), timeout, clock)
    for share, least in course:
        began = clock.now
        limit = patience.attempt().get("read")
        assert limit <= timeout + 1e-9
        assert patience.attempts == 1 or began < seconds
        clock.now += share * limit
        pause = patience.pause(least)
        if pause is None:
            break
        assert pause >= least
        clock.now += pause
    assert patience.spent <= max(timeout, seconds) + 1e-6


def test_steps_of_an_attempt_share_its_time():
    clock = ManualClock(0.0)
    left = Patience(Retries(), 10.0, clock).attempt()
    assert left.get("connect") == 10.0
    clock.now = 4.0
    assert left.get("read", None) == 6.0
    clock.now = 11.0
    assert 0 < left.get("read") < 0.1  # none at all would mean not to wait, or to wait for ever


@pytest.mark.parametrize("seconds", [-1.0, math.nan, math.inf])
def test_a_time_for_attempts_that_is_none_is_refused(seconds):
    with pytest.raises(lb.InvalidParameter, match="seconds="):
        Retries(seconds=seconds)
