"""When to try again: a random time, up to a limit that doubles."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from linkedbandits.service.retries import Retries


def test_jitter_is_drawn_anew_every_time():
    draws = iter([0.5, 0.25, 1.0])
    assert list(Retries(times=3, first_seconds=1.0, draw=lambda: next(draws)).pauses()) == [0.5, 0.5, 4.0]


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
