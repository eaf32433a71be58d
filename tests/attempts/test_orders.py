"""The order to try all options in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from linkedbandits.attempts import Attempts
from linkedbandits.attempts.orders import best_order, costs_of


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


def test_attempts_without_a_cost_cost_what_their_option_does():
    log = replace(
        Attempts.from_plays([(("a", "b", "c"), "c"), (("a", "b"), "b")]), cost=np.array([2.0, np.nan, 5.0, 4.0, 1.0])
    )
    assert costs_of(log, ()).tolist() == [3.0, 1.0, 5.0]
    unknown = replace(log, cost=np.array([2.0, 4.0, np.nan, 2.0, 4.0]))
    assert costs_of(unknown, ()).tolist() == [2.0, 4.0, 3.0]
    found = best_order(log, np.array([0.5, 0.5, 0.5]), costs_of(log, ()), False, None)
    assert found.cost_now == (2 + 1 + 5 + 4 + 1) / 2
