"""Logs with a row for each attempt; whole files of them are in test_reading.py."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkedbandits.attempts import Attempts
from linkedbandits.attempts.attempt_rows import NOT_TRIED, WRITTEN_AGAIN, _numbered, _option_seen_before, _stable_order
from linkedbandits.attempts.gathering import gather
from linkedbandits.attempts.sources import source_of
from linkedbandits.errors import InvalidAttempts

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


def chains(requests, step=0):
    """(request, option, ok, attempt, ts): every other request needs two attempts, ``step`` seconds apart."""
    rows = []
    for request in range(requests):
        if request % 2:
            rows.append((f"r{request}", "a", 0, 1, 10 * request))
        rows.append((f"r{request}", "b", 1, 1 + request % 2, 10 * request + step * (request % 2)))
    return rows


@pytest.mark.parametrize("left_out", [{"position": ""}, {"position": "", "time": ""}])
def test_newest_first_is_refused_where_nothing_but_lines_tells_the_order_of_attempts(left_out):
    rows = chains(100)
    in_order = Attempts.from_rows(rows, columns=COLUMNS, **left_out)
    assert in_order.success[in_order.first].sum() == 50
    with pytest.raises(InvalidAttempts, match=r"50 rows come after a success .*turn them round"):
        Attempts.from_rows(rows[::-1], columns=COLUMNS, **left_out)


@pytest.mark.parametrize(("step", "left_out"), [(1, {"position": ""}), (0, {})])
def test_newest_first_is_read_where_times_or_positions_differ(step, left_out):
    rows = chains(100, step)
    found = Attempts.from_rows(rows[::-1], columns=COLUMNS, options=["a", "b"], **left_out)
    expected = Attempts.from_rows(rows, columns=COLUMNS, options=["a", "b"], **left_out)
    np.testing.assert_array_equal(found.option, expected.option)
    np.testing.assert_array_equal(found.success, expected.success)


def test_attempts_that_go_on_behind_a_success_by_their_times_are_set_aside():
    rows = [row for number in range(50) for row in ((number, "a", 1, 10 * number), (number, "b", 0, 10 * number + 1))]
    log = Attempts.from_rows(rows, columns=["request", "option", "ok", "ts"])
    assert [(found.what, found.rows) for found in log.set_aside] == [("after a success", 50)]


def with_repeats(rows, every=3):
    """The rows, of which each so-and-so-many-th is written again behind the next one."""
    return [
        row for number, row in enumerate(rows) for row in ([row, rows[number - 1]] if number % every == 1 else [row])
    ]


@pytest.mark.parametrize("left_out", [{}, {"position": ""}, {"time": ""}])
def test_rows_that_are_written_again_are_dropped_and_counted(left_out):
    rows = chains(100)
    expected = Attempts.from_rows(rows, columns=COLUMNS, **left_out)
    found = Attempts.from_rows(with_repeats(rows), columns=COLUMNS, **left_out)
    for name in ("request", "option", "success", "second", "time"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.set_aside == ()
    assert found.rows == 200
    said = [each for each in found.noticed if each.startswith("rows equal to another of their request")]
    assert said == [
        "rows equal to another of their request in all columns that are read: 50 rows, first in line 3; each is taken "
        "for one attempt that was written more than once, and counted once"
    ]


def test_seconds_tell_attempts_apart_as_well_as_times():
    rows = [(number, "a", 1, number / 7) for number in range(60)]
    log = Attempts.from_rows([*rows, *rows], columns=["request", "option", "ok", "seconds"])
    assert (len(log), log.set_aside) == (60, ())
    others = [(number, "a", 1, number / 7 + 1) for number in range(60)]
    with pytest.raises(InvalidAttempts, match="60 rows come after a success of their request, so rows are not in"):
        Attempts.from_rows([*rows, *others], columns=["request", "option", "ok", "seconds"])


def test_a_row_without_seconds_is_not_told_from_a_retry_by_those_of_others():
    rows = [
        (1, "a", 0, None),
        (1, "a", 0, None),
        (2, "a", 0, 3.0),
        (2, "a", 0, 3.0),
        (3, "b", 1, 1.0),
        (4, "b", 1, 1.0),
    ]
    log = Attempts.from_rows(rows, columns=["request", "option", "ok", "seconds"])
    assert [(found.what, found.rows, found.lines) for found in log.set_aside] == [("an option tried twice", 1, (2,))]
    assert [each.split(";")[0] for each in log.noticed] == [
        "rows equal to another of their request in all columns that are read: 1 row, first in line 4"
    ]


def test_equal_rows_that_nothing_tells_apart_may_be_retries():
    rows = [row[:3] for row in with_repeats(chains(100))]
    few = Attempts.from_rows(rows[:40], columns=COLUMNS[:3])
    assert not any("equal to another" in each for each in few.noticed)
    assert sum(found.rows for found in few.set_aside) > 5
    with pytest.raises(
        InvalidAttempts, match=r"equal to an earlier row of it; nothing in the log tells .*'!seen\[\$0\]"
    ):
        Attempts.from_rows(with_repeats(rows, 2), columns=COLUMNS[:3])


@pytest.mark.parametrize(
    ("left_out", "suggested"),
    [
        ({"position": "", "time": ""}, "with position=... or time=..., or bring"),
        ({"position": ""}, "with position=..., or bring"),
        ({"time": ""}, "; bring the rows into it, or leave the positions out"),
    ],
)
def test_a_column_that_is_used_is_not_suggested(left_out, suggested):
    rows = [(*row[:3], 1, row[4]) for row in chains(100)]
    with pytest.raises(InvalidAttempts) as refused:
        Attempts.from_rows(rows[::-1], columns=COLUMNS, **left_out)
    assert suggested in str(refused.value)


CELLS = st.tuples(
    st.sampled_from(["1", "2", "3", ""]),
    st.sampled_from(["a", "b", "c", "x", ""]),
    st.sampled_from(["ok", "ok", "failed", "failed", "", "-", "hm"]),
    st.sampled_from(["1", "2", "3", "?"]),
    st.sampled_from(["10", "20", "30", "soon"]),
)


@given(
    st.lists(CELLS, max_size=12),
    st.sampled_from([{}, {"position": ""}, {"position": "", "time": ""}]),
    st.sampled_from([None, "failure", "success", "aside"]),
    st.sampled_from([None, ["a", "b", "c"]]),
)
def test_every_row_is_on_record_or_set_aside_or_stated(rows, left_out, blank, options):
    """With enough good ones that nothing is refused."""
    good = [(f"g{number}", "a", "ok", "1", "40") for number in range(60)]
    source = source_of([*rows, *good], COLUMNS)
    found = gather(source, left_out, options, blank=blank)
    stated = sum(each.rows for each in source.noticed.all() if each.what in (NOT_TRIED[0], WRITTEN_AGAIN[0]))
    assert found["request"].size + sum(each.rows for each in found["set_aside"]) + stated == found["rows"]
    assert found["rows"] == len(rows) + len(good)


def test_a_blank_behind_the_last_attempt_is_stated():
    log = Attempts.from_rows([(1, "a", 0), (1, "b", None), (2, "b", 1)], columns=["request", "option", "ok"])
    assert log.noticed == (
        "rows without an outcome behind the attempts of their request: 1 row, first in line 2; they are taken for "
        "options that were offered and not tried",
    )


def test_an_option_of_rows_that_are_set_aside_alone_is_none():
    rows = [(1, "x", "hm"), (2, "a", "ok"), (3, "b", "failed"), (3, "a", "ok"), (4, "b", "ok"), (4, "c", None)]
    columns = ["request", "option", "status"]
    log = Attempts.from_rows(rows, columns=columns)
    assert log.options == ("a", "b", "c")
    assert (log.option.tolist(), log.second.tolist()) == ([0, 1, 0, 1], [-1, 0, 2])
    assert any(said.startswith("'x': in rows that are set aside alone, and no option here") for said in log.noticed)
    given = Attempts.from_rows(rows, columns=columns, options=["x", "a", "b", "c"])
    assert given.options == ("x", "a", "b", "c")
    assert given.option.tolist() == [1, 2, 1, 2]


COSTS = ["request", "option", "ok", "cost"]


def test_costs_that_cannot_be_read_are_counted():
    rows = [(1, "a", 1, "2,5"), (2, "a", 1, "$3"), (3, "b", 0, "-1"), (4, "b", 1, ""), (5, "b", 1, "4")]
    log = Attempts.from_rows(rows, columns=COSTS)
    np.testing.assert_array_equal(log.cost, [2.5, np.nan, np.nan, np.nan, 4])
    assert [said.split(";")[0] for said in log.noticed] == [
        "costs that cannot be read, or are below 0: 2 rows, first in line 2",
        "attempts without a cost: 1 row, first in line 4",
    ]


def test_a_column_of_costs_that_are_none():
    rows = [(number, "a", 1, "$3.00") for number in range(30)]
    log = Attempts.from_rows(rows, columns=COSTS)
    assert log.cost is None
    assert log.noticed[0].startswith("costs that cannot be read, or are below 0: 30 rows")
    with pytest.raises(InvalidAttempts, match="'cost' was given as cost, and 30 of 30 rows have no number"):
        Attempts.from_rows(rows, columns=COSTS, cost="cost")


def test_seconds_may_have_a_unit_and_what_cannot_be_read_is_counted():
    rows = [(1, "a", 1, "250ms"), (2, "b", 1, "0.5 s"), (3, "b", 0, "soon"), (4, "b", 1, "")]
    log = Attempts.from_rows(rows, columns=["request", "option", "ok", "latency"])
    np.testing.assert_allclose(log.seconds, [0.25, 0.5, np.nan, np.nan])
    (said,) = log.noticed
    assert said.startswith("seconds that cannot be read: 1 row, first in line 3; write numbers, with a unit such as ms")


def test_where_no_seconds_can_be_read_an_order_has_none():
    rows = [(number, "ab"[number % 2], number % 3 > 0, "soon") for number in range(40)]
    order = Attempts.from_rows(rows, columns=["request", "option", "ok", "latency"]).verdict().order
    assert (order.seconds, order.seconds_now) == (None, None)
