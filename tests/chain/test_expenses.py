"""Costs and seconds of attempts: what is kept, what is estimated, and the order by it."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.chain.expenses import ENOUGH, Ledger, Spent, check_chain_costs, measured
from linkedbandits.intervals import anytime_interval


def call(ledger: Ledger, *attempts: tuple[str, bool, float]) -> None:
    ledger.add(tuple(Spent(option, worked, cost / 10, cost) for option, worked, cost in attempts))


def test_estimates_are_of_first_attempts_alone():
    ledger = Ledger.opened("ab", "seconds", {"a": 1.0, "b": None})
    call(ledger, ("a", True, 2.0))
    call(ledger, ("a", False, 4.0), ("b", True, 1.0))
    account = ledger.accounts["a"]
    found = account.estimate("a", 0.95)
    assert (found.option, found.tries, found.successes) == ("a", 2, 1)
    assert found.success == (0.5, *anytime_interval(1, 2), True)
    assert found.seconds.mean == pytest.approx(0.3)
    assert found.seconds.proved
    other = ledger.accounts["b"].estimate("b", 0.95)
    assert (other.tries, other.success, other.seconds, other.cost, other.success_per_cost) == (
        0,
        None,
        None,
        None,
        None,
    )
    assert (ledger.accounts["b"].behind, ledger.accounts["b"].behind_hits) == (1, 1)


def test_known_costs_are_exact_and_divide_the_limits_of_success():
    ledger = Ledger.opened("ab", {"a": 4.0, "b": 1.0})
    for worked in (True, False, True):
        call(ledger, ("a", worked, 4.0))
    found = ledger.accounts["a"].estimate("a", 0.9)
    low, high = anytime_interval(2, 3, 0.9)
    assert found.cost == (4.0, 4.0, 4.0, True)
    assert found.success_per_cost == (2 / 3 / 4, low / 4, high / 4, True)
    assert ledger.order is None  # which the experiment knows


def test_limits_of_success_per_measured_cost_allow_for_both():
    ledger = Ledger.opened("ab", "seconds", {"a": 2.0, "b": 2.0})
    for number in range(400):
        ledger.add((Spent("a", number % 4 > 0, 0.5, 0.5),))
    found = ledger.accounts["a"].estimate("a", 0.95)
    low, high = anytime_interval(300, 400, 0.975)
    limits = ledger.accounts["a"].first.cost.interval(0.975)
    assert found.success_per_cost == (1.5, low / limits[1], high / limits[0], True)


def test_costs_that_may_be_nothing_have_no_upper_limit_per_cost():
    ledger = Ledger.opened("ab", "seconds", {"a": 2.0, "b": 2.0})
    ledger.add((Spent("a", True, 0.1, 0.1),))
    assert ledger.accounts["a"].estimate("a", 0.95).success_per_cost.high == math.inf
    free = Ledger.opened("ab", lambda attempt, value: 0.0)
    free.add((Spent("a", True, 0.1, 0.0),))
    assert free.accounts["a"].estimate("a", 0.95).success_per_cost is None


def test_without_an_upper_limit_estimates_say_that_nothing_is_proved():
    ledger = Ledger.opened("ab", lambda attempt, value: 1.0)
    for number in range(150):
        ledger.add((Spent("a", True, 0.1, float(number % 3)),))
    found = ledger.accounts["a"].estimate("a", 0.95)
    assert not found.cost.proved
    assert not found.success_per_cost.proved
    assert found.cost.low < 1.0 < found.cost.high
    ledger = Ledger.opened("ab", lambda attempt, value: 1.0)
    ledger.add((Spent("a", True, 0.1, 3.0),))
    assert ledger.accounts["a"].estimate("a", 0.95).cost == (3.0, None, None, False)
    assert ledger.accounts["a"].estimate("a", 0.95).success_per_cost == (1 / 3, None, None, False)


def test_the_order_is_by_success_per_measured_cost_once_there_is_enough_of_each():
    ledger = Ledger.opened("abc", lambda attempt, value: 1.0)
    for number in range(10 * ENOUGH):
        call(ledger, ("a", number % 10 < 9, 3.0))  # 0.9 for 3
        if number % 10 < 6:  # 0.6 for 1
            call(ledger, ("b", True, 1.0))
        elif number % 10 == 6:
            call(ledger, ("b", False, 1.0), ("c", True, 1.0))
        else:
            call(ledger, ("b", False, 1.0), ("c", False, 1.0), ("a", True, 3.0))
    assert ledger.order is None
    for number in range(10 * ENOUGH):
        call(ledger, ("c", number % 2 == 0, 1.0))  # 0.5 for 1, but behind others a quarter
    assert ledger.order == ("b", "a", "c")


def test_the_cost_of_an_order_counts_what_is_reached():
    ledger = Ledger.opened("ab", {"a": 2.0, "b": 5.0})
    for _ in range(8):
        call(ledger, ("a", True, 2.0))
    assert ledger.cost_of(("a", "b")) == pytest.approx(2.0 + (1 - 9 / 10) * 5.0)
    assert Ledger.opened("ab", "seconds").cost_of(("a", "b")) is None


def test_by_success_per_cost_is_cheapest_of_all_orders_of_independent_options():
    """What the order goes by: exactly, over all orders of options with any means and costs."""
    from itertools import permutations

    rng = np.random.default_rng(4)
    for _ in range(50):
        means, costs = rng.random(4), rng.random(4) + 0.1

        def cost_of(order, means=means, costs=costs):
            reached = np.concatenate([[1.0], np.cumprod(1 - means[list(order)])[:-1]])
            return reached @ costs[list(order)]

        best = min(permutations(range(4)), key=cost_of)
        assert best == tuple(np.argsort(-means / costs))


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        (3.0, "neither a mapping"),
        ("minutes", "nor 'seconds'"),
        ({"a": 1.0}, "nothing for 'b'"),
        ({"a": 1.0, "b": 2.0, "c": 3.0}, "'c', which is no option"),
        ({"a": 1.0, "b": 0.0}, "not positive"),
        ({"a": 1.0, "b": "much"}, "no number"),
    ],
)
def test_costs_that_make_no_sense_are_refused(costs, said):
    with pytest.raises(lb.InvalidParameter, match=said):
        check_chain_costs(costs, ["a", "b"])


def test_costs_are_taken_by_label():
    assert check_chain_costs({"b": 2, "a": 1}, ["a", "b"]) == {"a": 1.0, "b": 2.0}
    assert list(check_chain_costs({"b": 2, "a": 1}, ["a", "b"])) == ["a", "b"]


@pytest.mark.parametrize("said", [None, True, -1.0, math.nan, math.inf, "1", 1j])
def test_what_is_no_cost_is_refused(said):
    with pytest.raises(lb.InvalidParameter, match="number of at least 0"):
        measured(said)


def test_the_ledger_keeps_sums_and_no_rows():
    import pickle

    ledger = Ledger.opened("ab", "seconds", {"a": 1.0, "b": 1.0})
    rng = random.Random(1)

    def size(calls):
        for _ in range(calls):
            call(ledger, (rng.choice("ab"), rng.random() < 0.5, 1 + rng.random()))
        return len(pickle.dumps(ledger))

    assert size(20_000) <= size(200) + 40


def test_options_that_come_and_go_have_accounts_and_those_that_are_gone_no_place_in_the_order():
    ledger = Ledger.opened("ab", lambda attempt, value: 1.0)
    for _ in range(ENOUGH):
        call(ledger, ("a", True, 2.0))
        call(ledger, ("b", True, 1.0))
    assert ledger.order == ("b", "a")
    ledger.go_on_with("ac", {})
    assert ledger.order is None  # until enough is known of c
    call(ledger, ("b", True, 1.0))  # a call that was in flight
    for _ in range(ENOUGH):
        call(ledger, ("c", True, 1.0))
    assert ledger.order == ("c", "a")
    assert ledger.accounts["a"].first.tries == ENOUGH
