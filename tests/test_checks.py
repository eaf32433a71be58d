"""Parameters at the edge: what is let in, and that a refusal names the parameter, its value and a remedy."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.checks import (
    SMALLEST_DELTA,
    check_costs,
    check_costs_of_arms,
    check_delta,
    check_max_plays,
    check_not_negative,
    check_positive,
    check_probability,
    check_share,
    check_whole,
)
from linkedbandits.model import COUNT_LIMIT

anything = st.one_of(
    st.floats(),
    st.floats(-0.5, 1.5),
    st.integers(-3, 3),
    st.sampled_from([COUNT_LIMIT, COUNT_LIMIT + 1, 10**400, -0.0, 1.0, 5e-324, 1 - 2**-53, math.inf]),
    st.sampled_from([None, "0.5", [0.5], True, False, 0.5j]),
)


def lets_in(check, *arguments):
    """Is the value taken? A refusal has to name the parameter with its value, and to say what would do."""
    name, value, *_ = arguments
    try:
        assert check(*arguments) is None
    except lb.InvalidParameter as error:
        said = str(error)
    else:
        return True
    assert said.startswith(f"{name}={value!r} is ")
    return False


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


@given(anything)
def test_a_probability_is_between_0_and_1_without_its_ends(value):
    assert lets_in(check_probability, "p", value) == (is_number(value) and 0 < value < 1)


@given(anything)
def test_a_share_may_be_0_and_not_1(value):
    assert lets_in(check_share, "share", value) == (is_number(value) and 0 <= value < 1)


@given(anything, st.sampled_from([-1, 0, 1, 2]))
def test_a_count_is_whole_at_least_the_least_and_fits_a_counter(value, least):
    fits = isinstance(value, int) and not isinstance(value, bool) and least <= value <= COUNT_LIMIT
    assert lets_in(check_whole, "count", value, least) == fits


def test_without_a_least_a_count_is_at_least_1():
    assert lets_in(check_whole, "count", 1)
    assert not lets_in(check_whole, "count", 0)


@given(anything, st.sampled_from([1, 0.5, math.inf]))
def test_a_positive_number_may_be_the_most_and_not_0(value, most):
    assert lets_in(check_positive, "x", value, most) == (is_number(value) and 0 < value <= most)


@given(anything)
def test_what_is_not_negative_may_be_0_and_is_finite(value):
    assert lets_in(check_not_negative, "x", value) == (is_number(value) and 0 <= value < math.inf)


def test_numbers_of_any_kind_may_be_not_negative():
    for value in (np.float32(0.5), np.int64(3), Fraction(1, 3)):
        assert lets_in(check_not_negative, "x", value)
    assert not lets_in(check_not_negative, "x", Fraction(-1, 3))


def test_a_delta_too_small_for_evidence_is_refused_and_the_smallest_is_not():
    check_delta(SMALLEST_DELTA)
    assert math.isfinite(1 / SMALLEST_DELTA)
    with pytest.raises(lb.InvalidParameter, match=r"^delta=9\.9\d+e-201 is below 1e-200, .*; raise it$"):
        check_delta(math.nextafter(SMALLEST_DELTA, 0))
    with pytest.raises(lb.InvalidParameter, match=r"^delta=1 is not between 0 and 1; try 0\.05$"):
        check_delta(1)


def test_no_limit_on_plays_is_what_a_counter_holds():
    assert check_max_plays(None) == COUNT_LIMIT
    assert check_max_plays(7) == 7
    assert check_max_plays(COUNT_LIMIT) == COUNT_LIMIT
    for wrong in (0, 1.0, COUNT_LIMIT + 1):
        with pytest.raises(lb.InvalidParameter, match=f"^max_plays={wrong} is "):
            check_max_plays(wrong)


@pytest.mark.parametrize(
    ("check", "arguments", "said"),
    [
        (check_probability, ("p", 2), "p=2 is not between 0 and 1; try 0.05"),
        (check_share, ("share", 1), "share=1 is not at least 0 and below 1; give a number that is"),
        (check_whole, ("k", 2, 3), "k=2 is not a whole number of at least 3; give one, as an int"),
        (check_whole, ("k", 2**63), "k=9223372036854775808 is too large; counters end at 2**62"),
        (check_positive, ("gap", 2, 1), "gap=2 is not in (0, 1]; give a number that is"),
        (check_positive, ("gap", 0), "gap=0 is not positive; give a number that is"),
        (check_not_negative, ("x", -1), "x=-1 is not a number of at least 0; give one"),
    ],
)
def test_a_refusal_says_what_would_do(check, arguments, said):
    with pytest.raises(lb.InvalidParameter) as caught:
        check(*arguments)
    assert str(caught.value) == said


@pytest.mark.parametrize("given", [[1, 2.5], (1.0, 2.5), np.array([1, 2.5]), [Fraction(1), np.float32(2.5)]], ids=str)
def test_costs_become_a_tuple_of_floats(given):
    costs = check_costs(given)
    assert costs == (1.0, 2.5)
    assert {type(cost) for cost in costs} == {float}


def test_no_costs_are_none():
    assert check_costs([]) == ()
    check_costs_of_arms((), 7)


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        ([1, 0], "cost 0.0 of arm 1 is not positive and finite; give a positive number for each arm"),
        ([-2, 1], "cost -2.0 of arm 0 is not positive and finite"),
        ([1, math.nan], "cost nan of arm 1 is not positive and finite"),
        ([1, math.inf], "cost inf of arm 1 is not positive and finite"),
        ([1, True], "cost True of arm 1 is no number"),
        (["1", 2], "cost '1' of arm 0 is no number"),
        (3, r"costs=3 is no list of numbers; give a positive number for each arm, such as costs=\[1, 2.5\]"),
        (None, "costs=None is no list of numbers"),
        ([1, 1.1e9], "costs from 1.0 to 1100000000.0 are further apart than 1e.09 times; leave out the arms"),
    ],
    ids=str,
)
def test_costs_that_make_no_sense_are_refused(costs, said):
    with pytest.raises(lb.InvalidParameter, match=said):
        check_costs(costs)


def test_costs_are_one_for_each_arm():
    check_costs_of_arms((1.0, 2.0), 2)
    with pytest.raises(lb.InvalidParameter, match="2 costs for 3 arms; give one for each arm"):
        check_costs_of_arms((1.0, 2.0), 3)
    with pytest.raises(lb.InvalidParameter, match="1 cost for 3 arms"):
        check_costs_of_arms((1.0,), 3)
