"""Results in few words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest

from linkedbandits.display import counted, number, percent, plays, readable, rounded, short_repr, shown, tidied


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (0.0, 0.0),
        (-0.0010000000000000009, -0.001),
        (12345.6, 12346.0),
        (9999.6, 10000.0),
        (2e-17, 2e-17),
        (1.23456e80, 1.235e80),
    ],
)
def test_four_digits_are_kept_and_all_whole_ones(value, wanted):
    assert rounded(value) == wanted


def test_what_is_no_number_stays_what_it_is():
    assert np.isnan(rounded(float("nan")))
    assert rounded(float("-inf")) == float("-inf")


@pytest.mark.parametrize(("value", "wanted"), [(-1234.0, "-1,234"), (1e9, "1e+09"), (0.123456, "0.1235"), (0.0, "0")])
def test_numbers_for_sentences(value, wanted):
    assert number(value) == wanted


def test_plays_are_whole_until_they_are_too_many_to_read():
    assert [plays(value) for value in (0.6, 999_999_999.0, 1e9, 2.0**61)] == [
        "1",
        "999,999,999",
        "1e+09",
        "2.306e+18",
    ]


@pytest.mark.parametrize(
    ("share", "wanted"),
    [
        (0.0999, "10 %"),
        (0.5, "50 %"),
        (0.99999, "over 99.99 %"),
        (0.9995, "99.95 %"),
        (0.999, "99.9 %"),
        (1e-5, "0.001 %"),
    ],
)
def test_percent(share, wanted):
    assert percent(share) == wanted


def test_one_is_not_many():
    assert [counted(amount, "trial") for amount in (0, 1, 2)] == ["0 trials", "1 trial", "2 trials"]


class Pair(NamedTuple):
    one: float
    two: float

    __repr__ = short_repr


@dataclass(frozen=True)
class Result:
    value: float
    many: np.ndarray
    pair: Pair
    hidden: int = field(default=3, repr=False)

    __repr__ = short_repr


def test_a_result_shows_its_fields_rounded_and_arrays_by_their_size():
    result = Result(0.1 + 0.2, np.zeros(1000), Pair(1 / 3, 2.0))
    assert repr(result) == "Result(value=0.3, many=float64 array, 1000, pair=Pair(one=0.3333, two=2.0))"
    assert result.value == 0.1 + 0.2


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (np.float64(0.1) + 0.2, "0.3"),
        (np.True_, "True"),
        (True, "True"),
        (7, "7"),
        (None, "None"),
        ("x" * 100, repr("x" * 60 + "...")),
        ("x" * 60, repr("x" * 60)),
        ((0.1 + 0.2,), "(0.3,)"),
        (tuple(range(8)), "(0, 1, 2, 3, 4, 5, ... 8 in all)"),
        ([1] * 6, "[1, 1, 1, 1, 1, 1]"),
        (np.array([0.1 + 0.2, 1.0]), "[0.3, 1.0]"),
        (np.zeros(7, int), "int64 array, 7"),
        (np.zeros((2, 2), bool), "bool array, 2 x 2"),
        (dict.fromkeys(range(7), 1.0), "{0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0, 5: 1.0, ... 7 in all}"),
    ],
)
def test_every_kind_of_value_is_short(value, wanted):
    assert shown(value) == wanted


class Plays(float):
    def __repr__(self):
        return "as it says itself"


def test_numbers_with_a_word_of_their_own_keep_it():
    assert shown(Plays(3.0)) == "as it says itself"


def test_what_becomes_json_loses_nothing_that_was_measured():
    all_but_one_in_ten_million = 0.9999999
    assert readable(all_but_one_in_ten_million) == all_but_one_in_ten_million
    assert readable(1234567890.5) == 1234567890
    data = {"a": (0.1 + 0.2, None, True), "b": {"c": float("inf")}, "d": "0.30000000000000004"}
    assert tidied(data) == {"a": [0.3, None, True], "b": {"c": float("inf")}, "d": "0.30000000000000004"}
