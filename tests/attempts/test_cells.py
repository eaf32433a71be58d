"""Cells as numbers."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest

from linkedbandits.attempts.cells import MISSING, NOT_GIVEN, Labels, Outcomes, figures, times, trimmed
from linkedbandits.attempts.outcomes import BLANK, FAILURE, SUCCESS, UNKNOWN
from linkedbandits.errors import InvalidAttempts

MOMENT = datetime(2024, 5, 17, 10, 30, 15, 250_000, tzinfo=UTC).timestamp()


def text(*cells):
    return pl.Series(cells, dtype=pl.String)


def test_blanks_around_cells_and_empty_cells():
    cells = trimmed(pl.DataFrame({"x": [" a ", "", "  ", None, "b\t"]}), {"option": "x"})
    assert cells["option"].to_list() == ["a", None, None, None, "b"]


def test_labels_are_numbered_as_they_turn_up():
    labels = Labels("log")
    assert labels.numbers(text("b", "a", None, " ", " b")).tolist() == [0, 1, MISSING, MISSING, 0]
    assert labels.numbers(text("c", "a")).tolist() == [2, 1]
    assert labels.numbers(text(None, None)).tolist() == [MISSING, MISSING]
    assert labels.all == ("b", "a", "c")


def test_labels_that_are_given():
    labels = Labels("log", ("x", "y"))
    assert labels.numbers(text("y", "z", "x")).tolist() == [1, NOT_GIVEN, 0]
    assert labels.all == ("x", "y")


def test_too_many_labels():
    labels = Labels("log")
    labels.numbers(text(*map(str, range(1000))))
    with pytest.raises(InvalidAttempts, match="more than 1,000 options, such as 'x'"):
        labels.numbers(text("x"))


def test_outcomes_and_words_that_are_not_known():
    outcomes = Outcomes("status")
    assert outcomes.numbers(text("ok", "503", None, "hm")).tolist() == [SUCCESS, FAILURE, BLANK, UNKNOWN]
    assert outcomes.numbers(text("eh", "hm", "ok")).tolist() == [UNKNOWN + 1, UNKNOWN, SUCCESS]
    assert outcomes.words == ("hm", "eh")
    assert Outcomes("error").numbers(text("ok", "503", None, "hm")).tolist() == [SUCCESS, FAILURE, SUCCESS, FAILURE]
    assert Outcomes("error").numbers(text(None, None)).tolist() == [SUCCESS, SUCCESS]


def test_what_was_taken_for_a_success():
    outcomes = Outcomes("error_count")
    outcomes.numbers(text("0", "3", None, " 0 ", "1"))
    assert outcomes.successes == ("0", "")
    outcomes = Outcomes("status", "success")
    outcomes.numbers(text("200", "503", "-", "201"))
    assert outcomes.successes == ("200", "-", "201")
    outcomes.numbers(text(*(f"ok{'!' * number}" for number in range(150))))
    assert len(outcomes.successes) == 100


def test_words_beyond_many_share_a_number():
    outcomes = Outcomes("status")
    numbers = outcomes.numbers(text(*(f"word {number}" for number in range(150))))
    assert numbers.max() == UNKNOWN + 99
    assert len(outcomes.words) == 100


def test_figures():
    np.testing.assert_array_equal(figures(text("1", "2.5", "-3e2", "x", None, "inf")), [1, 2.5, -300] + [np.nan] * 3)


@pytest.mark.parametrize(
    "cell",
    [
        "2024-05-17T10:30:15.250Z",
        "2024-05-17 10:30:15.25",
        "2024-05-17T12:30:15.250+02:00",
        "2024-05-17T12:30:15.250+0200",
        "2024-05-17 10:30:15.250 UTC",
        "2024/05/17 10:30:15.250",
        "1715941815.25",
        "1715941815250",
        "1715941815250000",
        "1715941815250000000",
    ],
)
def test_a_moment_written_in_many_ways(cell):
    assert times(text(cell, "soon", cell)) == pytest.approx([MOMENT, np.nan, MOMENT], abs=1e-5, nan_ok=True)


def test_times_without_seconds_and_of_web_servers():
    found = times(text("2024-05-17 10:30", "2024-05-17", "17/May/2024:12:30:15 +0200", None, "17.5.2024"))
    expected = [MOMENT - 15.25, MOMENT - 15.25 - 37_800, MOMENT - 0.25, np.nan, np.nan]
    np.testing.assert_allclose(found, expected)


def test_times_in_the_compact_form_of_iso_8601():
    cells = pl.Series(["20240501T000002Z", "20240501T020002.5+0200", "20240501T000002", "20240501 000002"])
    assert times(cells).tolist() == [1714521602.0, 1714521602.5, 1714521602.0, 1714521602.0]


def test_a_time_does_not_depend_on_those_beside_it():
    cells = ["2024-05-17", "17/May/2024:12:30:15 +0200", "2024/05/17", "12", "1715941815250", "2024-05-17T10:00:00Z"]
    alone = [times(text(cell))[0] for cell in cells]
    assert not np.isnan(alone).any()
    np.testing.assert_array_equal(times(text(*cells)), alone)
