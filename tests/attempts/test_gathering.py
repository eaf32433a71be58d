"""From rows to a log; whole files are in test_reading.py."""

from __future__ import annotations

import pytest

from linkedbandits.attempts.gathering import gather
from linkedbandits.attempts.sources import source_of
from linkedbandits.errors import InvalidAttempts


def rows_with(good, bad):
    return [(number, "a", "ok") for number in range(good)] + [(-number, "a", "hm") for number in range(1, bad + 1)]


def test_half_of_the_rows_may_be_set_aside_and_no_more():
    names = ["request", "option", "outcome"]
    found = gather(source_of(rows_with(5, 5), names), {})
    assert found["request"].size == 5
    assert found["set_aside"][0].rows == 5
    with pytest.raises(InvalidAttempts, match=r"(?s)6 of 11 rows of the table cannot be used.*unknown outcome 'hm'"):
        gather(source_of(rows_with(5, 6), names), {})


def test_progress_counts_rows():
    told = []
    gather(source_of(rows_with(5, 1), ["request", "option", "outcome"]), {}, progress=told.append)
    assert told == [6]


def test_options_may_be_given_as_numbers():
    found = gather(source_of([(1, 7, 1), (2, 8, 0)], ["request", "option", "outcome"]), {}, [8, 7])
    assert found["options"] == ("8", "7")
    assert found["option"].tolist() == [1, 0]


TIMED = ["request", "option", "outcome", "time"]


def timed(*times):
    return [(number, "ab"[number % 2], 1, time) for number, time in enumerate(times)]


@pytest.mark.parametrize("wrong", ["01/05/2024 00:00:02", "May 01 00:00:02", "01.05.2024 00:00:02", None])
@pytest.mark.filterwarnings("error")
def test_a_guessed_column_of_times_that_are_none_is_left_out_and_said(wrong):
    found = gather(source_of(timed("2024-05-01 00:00", wrong, wrong), TIMED), {})
    assert found["request"].size == 3
    assert found["time"] is None
    assert "time" not in dict(found["columns"])
    shown = "a blank" if wrong is None else repr(wrong)
    assert found["noticed"] == (
        f"most of 'time' cannot be read as times, such as {shown}; it is not used, and requests are in the order of "
        "the file",
    )


@pytest.mark.filterwarnings("error")
def test_a_few_times_that_are_none_cost_their_rows_alone():
    found = gather(source_of(timed("2024-05-01 00:00", "2024-05-01 00:01", "soon", "soon"), TIMED), {})
    assert found["request"].size == 2
    assert found["time"].tolist() == [1714521600.0, 1714521660.0]


def test_a_column_of_times_that_was_named_has_to_be_one():
    with pytest.raises(InvalidAttempts, match=r"such as '1/5/24'; write times as 2024-05-01 .*, or .* with time=\"\""):
        gather(source_of(timed("1/5/24", "1/5/24"), TIMED), {"time": "time"})


def test_unknown_outcomes_that_are_too_many_are_named_with_their_lines():
    with pytest.raises(InvalidAttempts, match=r"21 of 121 rows .*unknown outcome 'hm', first in line 101\)"):
        gather(source_of(rows_with(100, 21), ["request", "option", "outcome"]), {})
