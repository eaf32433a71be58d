"""From figures with limits to a verdict."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkedbandits.study.reproduction.verdicts import Criterion, Met, Range, Trend, largest, smallest, summarise

NUMBER = st.floats(0.001, 1000)
RANGES = st.tuples(NUMBER, NUMBER, NUMBER).map(lambda parts: Range(*sorted(parts)))


@given(RANGES, RANGES, st.floats(0, 1), st.floats(0, 1))
def test_a_ratio_contains_every_ratio_of_what_its_parts_contain(first, second, here, there):
    ratio = first / second
    value = (first.low + here * (first.high - first.low)) / (second.low + there * (second.high - second.low))
    assert ratio.low * (1 - 1e-9) <= value <= ratio.high * (1 + 1e-9)


@given(RANGES, RANGES)
def test_the_largest_and_the_smallest_keep_their_order(first, second):
    for chosen in (largest(first, second), smallest(first, second)):
        assert chosen.low <= chosen.value <= chosen.high
    assert largest(first, second).low >= smallest(first, second).low


@pytest.mark.parametrize(
    ("figure", "shown"),
    [
        (Range(1, 1.5, 2), "1.5"),
        (Range(1, 1.5, inf), "> 1"),
        (Range(0, 1.5, 2), "< 2"),
        (Range(0, 1.5, inf), "unknown"),
        (Range.exact(12345.6), "12,346"),
    ],
)
def test_a_figure_of_unfinished_runs_is_a_limit(figure, shown):
    assert str(figure) == shown


def test_a_band_down_to_zero_gives_no_upper_limit():
    assert (Range(1, 2, 3) / Range(0, 1, 2)).high == inf


@pytest.mark.parametrize(
    ("figure", "answer"),
    [
        (Range(1.1, 1.2, 1.3), Met.YES),
        (Range(0.9, 1.2, 1.3), Met.OPEN),
        (Range(1.9, 2.1, 2.2), Met.OPEN),
        (Range(2.1, 2.2, inf), Met.NO),
        (Range(0.1, 0.2, 0.3), Met.NO),
        (Range(0.0, 1.5, inf), Met.OPEN),
    ],
)
def test_a_criterion_is_met_or_failed_by_the_whole_band(figure, answer):
    assert Criterion(least=1, most=2).met(figure) is answer


@pytest.mark.parametrize(
    ("answers", "verdict"),
    [
        ("yyy", "holds"),
        ("y?y?", "holds"),
        ("nnn", "does not hold"),
        ("n?yy", "holds from n = 3"),
        ("ynyy", "holds from n = 3"),
        ("nny?", "holds from n = 3"),
        ("yy?n", "holds up to n = 2"),
        ("ynyn", "does not hold"),
        ("nyyn", "does not hold"),
        ("??", "cannot be decided"),
        ("", "cannot be decided"),
    ],
)
def test_the_verdict_over_all_numbers_of_arms(answers, verdict):
    meaning = {"y": Met.YES, "n": Met.NO, "?": Met.OPEN}
    by_arms = {arms: meaning[letter] for arms, letter in enumerate(answers, 1)}
    assert summarise(by_arms) == verdict


def test_what_is_said_of_the_end_does_not_hold_if_it_fails_there():
    answers = {2: Met.YES, 10: Met.NO}
    assert summarise(answers, Trend.IN_THE_END) == "does not hold"
    assert summarise({2: Met.NO, 10: Met.YES}, Trend.IN_THE_END) == "holds from n = 10"
