"""What first attempts say of an option: sums that add up, that no nonsense is taken for, and an order."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.intervals import RunningMean, anytime_interval
from linkedbandits.option_estimates import ENOUGH, MOST_TRIES, FirstAttempts, OptionEstimates, by_success_per_cost

attempts = st.lists(st.tuples(st.booleans(), st.floats(0.0, 2.0), st.none() | st.floats(0.0, 100.0)), max_size=20)


def kept_of(tried, most: float | None = 2.0) -> FirstAttempts:
    kept = FirstAttempts(RunningMean(most))
    for worked, seconds, cost in tried:
        kept.add(worked, seconds, cost)
    return kept


@given(attempts, attempts)
def test_what_two_processes_saw_adds_up_and_is_no_nonsense(one, other):
    merged, whole = kept_of(one).merged(kept_of(other)), kept_of([*one, *other])
    assert (merged.tries, merged.successes) == (whole.tries, whole.successes)
    assert merged.cost.total == pytest.approx(whole.cost.total)
    assert merged.cost.squares == pytest.approx(whole.cost.squares, abs=1e-6)
    assert merged.seconds.count == whole.seconds.count == merged.tries
    merged.check()
    assert FirstAttempts.from_json(json.loads(json.dumps(merged.to_json()))) == merged


def test_an_estimate_has_what_was_seen_with_its_limits():
    kept = kept_of([(True, 0.5, None)] * 30 + [(False, 1.5, None)] * 10)
    found = kept.estimate("a", 0.9)
    assert (found.option, found.tries, found.successes) == ("a", 40, 30)
    assert found.success == (0.75, *anytime_interval(30, 40, 0.9), True)
    assert found.seconds.mean == pytest.approx(0.75)
    assert found.seconds.proved
    assert (found.cost, found.success_per_cost) == (None, None)
    known = kept.estimate("a", 0.9, known_cost=3.0)
    assert known.success_per_cost.mean == 0.25
    assert FirstAttempts().estimate("a", 0.9).success is None


SOUND = kept_of([(True, 0.5, 3.0), (False, 1.5, None)])


@pytest.mark.parametrize(
    "wrong",
    [
        {"successes": 3},
        {"successes": -1},
        {"tries": 3},
        {"tries": MOST_TRIES + 1, "seconds": RunningMean(None, MOST_TRIES + 1, 1.0, 0.0)},
        {"seconds": RunningMean(2.0, 1, 0.5, 0.1)},
        {"seconds": RunningMean(2.0, 2, 4.1, 0.1)},
        {"seconds": RunningMean(2.0, 2, 1.0, 8.1)},
        {"seconds": RunningMean(0.0, 2, 0.0, 0.0)},
        {"seconds": RunningMean(-1.0, 2, 0.0, 0.0)},
        {"seconds": RunningMean(math.inf, 2, 1.0, 0.0)},
        {"seconds": RunningMean(None, 2, math.nan, 0.0)},
        {"seconds": RunningMean(None, 2, math.inf, 0.0)},
        {"seconds": RunningMean(None, 2, -1.0, 0.0)},
        {"seconds": RunningMean(None, 2, 1.0, -0.1)},
        {"seconds": RunningMean(None, 2, 1.0, 1.1)},
        {"cost": RunningMean(None, 3, 1.0, 0.0)},
        {"cost": RunningMean(None, -1, 1.0, 0.0)},
        {"cost": RunningMean(None, 0, 1.0, 0.0)},
        {"cost": RunningMean(None, 0, 0.0, 0.5)},
        {"cost": RunningMean(2.0, 3, 0.3, 0.0)},  # as if all had been foreseen, and the first was said to be 1
        {"cost": RunningMean(2.0, 3, 0.3, 0.99 * (1 - 0.1) ** 2 * 3 / 4)},
    ],
    ids=str,
)
def test_sums_that_no_attempts_come_to_are_refused(wrong):
    SOUND.check()
    with pytest.raises(lb.InvalidParameter):
        replace(SOUND, **wrong).check()


def test_the_order_is_by_success_per_cost_once_there_is_enough_of_each():
    good = kept_of([(True, 0.1, 3.0)] * 2 * ENOUGH)
    cheap = kept_of([(True, 0.1, 1.0), (False, 0.1, 1.0)] * ENOUGH)
    assert by_success_per_cost({"good": good, "cheap": cheap}) == ("cheap", "good")
    assert by_success_per_cost({"good": good, "cheap": cheap}, {"good": 1.0, "cheap": 1.0}) == ("good", "cheap")
    few = kept_of([(True, 0.1, 1.0)] * (ENOUGH - 1))
    assert by_success_per_cost({"good": good, "few": few}) is None
    assert by_success_per_cost({"good": good, "few": few}, {"good": 1.0, "few": 1.0}) is None
    assert by_success_per_cost({"a": kept_of([(True, 0.1, None)] * 20)}) is None
    assert by_success_per_cost({}) is None


@given(st.lists(st.floats(0, 3), min_size=1, max_size=20))
def test_sums_of_numbers_with_a_limit_are_accepted(numbers):
    kept = FirstAttempts(RunningMean(2.0), RunningMean(2.0))
    for number in numbers:
        kept.add(True, number, number)
    kept.check()


def test_the_estimates_of_all_options_are_a_table_within_eighty_columns():
    kept = kept_of([(True, 0.5, 12.5)] * 130 + [(False, 1.5, None)] * 10)
    found = OptionEstimates([kept.estimate("first", 0.95), kept_of([]).estimate("second", 0.95)])
    assert found[0].tries == 140
    lines = repr(found).splitlines()
    assert [line.split() for line in lines] == [
        ["option", "tries", "works", "limits", "seconds", "cost", "works", "per", "cost"],
        ["first", "140", "0.929", "0.83", "-", "0.98", "0.571", "12.5", "0.0743"],
        ["second", "0", "-", "-", "-", "-", "-"],
    ]
    assert max(map(len, lines)) <= 80
    assert "Estimates of 2 options" in found._repr_html_()
    assert "works per cost" not in repr(OptionEstimates([kept_of([(True, 0.5, None)]).estimate("a", 0.95)]))


def test_the_estimates_of_all_options_are_a_frame():
    kept = kept_of([(True, 0.5, 12.5)] * 130)
    frame = OptionEstimates([kept.estimate("first", 0.95)]).to_polars()
    assert frame["option"].to_list() == ["first"]
    assert frame["tries"].to_list() == [130]
    assert frame["success_low"][0] == kept.estimate("first", 0.95).success.low
    assert frame["cost"].to_list() == [12.5]
