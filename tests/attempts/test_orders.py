"""The order to try all options in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.attempts import Attempts
from linkedbandits.attempts.orders import best_order, costs_of
from tests.support.logs import log_of


def test_the_order_heeds_what_fails_together():
    """b is second best, and fails where a fails; so c comes second."""
    rng = np.random.default_rng(6)
    made = []
    for _ in range(6000):
        hard, luck = rng.random() < 0.3, rng.random()
        works = {"a": not hard, "b": not hard and luck < 0.95, "c": rng.random() < 0.5}
        order = tuple(np.array(["a", "b", "c"])[rng.permutation(3)].tolist())
        made.append((order, next((option for option in order if works[option]), None)))
    log = Attempts.from_plays(made, options="abc")
    order = log.verdict().order
    assert order.options == ("a", "c", "b")
    assert not order.partly_guessed
    assert order.success == pytest.approx(0.85, abs=0.02)
    assert order.cost == pytest.approx(1 + 0.3 + 0.15, abs=0.03)
    assert order.success_now == pytest.approx(0.85, abs=0.02)
    assert log.verdict(attempts="all").order.partly_guessed


def test_what_failed_with_all_options_fails_in_any_order():
    both = [(("a", "b"), "a"), (("b", "a"), "a"), (("a", "b"), None)]
    assert order_of(both).success == order_of(both).success_now == pytest.approx(2 / 3)
    # One that stopped early might have been served by the other option.
    early = [*both, (("b",), None)]
    assert order_of(early).success > order_of(early).success_now == pytest.approx(1 / 2)


def order_of(plays):
    return Attempts.from_plays(plays, options="ab").verdict().order


def test_what_each_place_serves_adds_up_to_what_succeeds():
    order = log_of([0.8, 0.7, 0.6], 2000, difficulty=0.3).verdict().order
    assert order.success == order.success_now
    assert sum(order.served) == pytest.approx(order.success, abs=1e-12)
    reached = 1.0
    for place in order.places:
        reached *= 1 - place.success
    assert 1 - reached != pytest.approx(order.success, abs=1e-3)  # as the estimates of places alone would have it
    assert order.served[0] == pytest.approx(order.places[0].success)


def test_attempts_without_a_cost_cost_what_their_option_does():
    log = replace(
        Attempts.from_plays([(("a", "b", "c"), "c"), (("a", "b"), "b")]), cost=np.array([2.0, np.nan, 5.0, 4.0, 1.0])
    )
    assert costs_of(log, ()).tolist() == [3.0, 1.0, 5.0]
    unknown = replace(log, cost=np.array([2.0, 4.0, np.nan, 2.0, 4.0]))
    assert costs_of(unknown, ()).tolist() == [2.0, 4.0, 3.0]
    found = best_order(log, np.array([0.5, 0.5, 0.5]), (), False, None)
    assert found.cost_now == (2 + 1 + 5 + 4 + 1) / 2


def test_given_costs_count_for_the_log_as_well_and_those_of_a_policy_are_given():
    log = Attempts.from_plays([(("a", "b"), "b"), (("b", "a"), "b")] * 20, options="ab")
    log = replace(log, cost=np.full(len(log), 7.0))
    order = log.verdict(costs=[1.0, 2.0]).order
    assert (order.unit, order.cost_now) == ("cost", (1 + 2 + 2) / 2)
    by_policy = log.verdict(lb.LinkedElimination(0.05, costs=[1.0, 2.0])).order
    assert (by_policy.unit, by_policy.cost_now) == ("cost", (1 + 2 + 2) / 2)
    assert log.verdict().order.cost_now == 7.0 * 3 / 2


def test_seconds_of_an_order_are_those_of_what_is_reached():
    log = Attempts.from_plays([(("a", "b"), "b"), (("b", "a"), "b")] * 40, options="ab")
    log = replace(log, seconds=np.where(log.option == 0, 0.25, 1.0))
    order = log.verdict().order
    assert order.options == ("b", "a")
    assert order.seconds == pytest.approx(1.0 + (1 - order.places[0].success) * 0.25)
    assert order.seconds_now == pytest.approx((1.25 + 1.0) / 2)
    assert (order.unit, log.verdict(costs="seconds").order.unit) == ("attempts", "seconds")
    assert log.verdict(costs="seconds").order.cost_now == pytest.approx((1.25 + 1.0) / 2)
    assert replace(log, seconds=None).verdict().order.seconds is None


def test_by_seconds_a_quick_option_comes_first():
    rng = np.random.default_rng(3)
    plays = [(("a", "b") if rng.random() < 0.5 else ("b", "a"), "a" if rng.random() < 0.9 else "b") for _ in range(400)]
    log = Attempts.from_plays(plays, options="ab")
    log = replace(log, seconds=np.where(log.option == 0, 30.0, 0.1))
    assert log.verdict().order.options[0] == "a"
    assert log.verdict(costs="seconds").order.options[0] == "b"


def test_under_a_deadline_an_order_waits_no_longer():
    log = Attempts.from_plays([(("a", "b"), "a"), (("b", "a"), "b")] * 40, options="ab")
    log = replace(log, seconds=np.where(log.option == 0, 9.0, 1.0)).within(2.0)
    order = log.verdict().order
    assert (order.options, order.success_now) == (("b", "a"), 0.5)
    assert order.seconds < 1.0 + 2.0
    assert order.seconds_now == 5.0
