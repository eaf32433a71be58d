"""Logs with a row for each attempt; whole files of them are in test_reading.py."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from linkedbandits.attempts import Attempts
from linkedbandits.attempts.attempt_rows import _numbered, _option_seen_before, _stable_order

COLUMNS = ["request", "option", "ok", "attempt", "ts"]


MARKS = st.sampled_from([0, 1, 2, 3, 2**63, 2**63 + 1, 2**40, 2**40 + 64, 2**64 - 1])
"""Some of which differ in their last bits only."""


@given(st.lists(MARKS, min_size=1, max_size=40))
def test_requests_are_numbered_by_their_first_rows(marks):
    expected = {mark: number for number, mark in enumerate(dict.fromkeys(marks))}
    assert _numbered(np.array(marks, dtype=np.uint64)).tolist() == [expected[mark] for mark in marks]


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40))
def test_the_order_is_stable(numbers):
    found = _stable_order(np.array(numbers, dtype=np.int32))
    assert found.tolist() == np.argsort(numbers, kind="stable").tolist()


@given(st.lists(st.lists(st.integers(0, 9), max_size=15), max_size=6))
def test_options_that_a_request_has_seen_before(requests):
    request = np.array([number for number, tries in enumerate(requests) for _ in tries], dtype=np.int32)
    option = np.array([option for tries in requests for option in tries], dtype=np.int16)
    expected = [option in tries[:place] for tries in requests for place, option in enumerate(tries)]
    assert _option_seen_before(request, option).tolist() == expected


@given(st.data())
def test_rows_may_come_in_any_order_where_positions_and_times_tell_it(data):
    """Times are all different, so that no tie is settled by lines."""
    rows = []
    for request in range(data.draw(st.integers(1, 6))):
        for place, option in enumerate(data.draw(st.lists(st.sampled_from("abcd"), min_size=1, unique=True))):
            rows.append((f"r{request}", option, 0, place, 10 * request + place))
    options = ["a", "b", "c", "d"]
    expected = Attempts.from_rows(rows, columns=COLUMNS, options=options)
    shuffled = data.draw(st.permutations(rows))
    for left_out in ({}, {"position": ""}):
        found = Attempts.from_rows(shuffled, columns=COLUMNS, options=options, **left_out)
        for name in ("request", "option", "success", "second", "time"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
        assert found.set_aside == ()
