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
