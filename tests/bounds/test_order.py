"""The price of order, and its bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from linkedbandits.bounds import price_of_order
from tests.support.instances import no_tie


@given(no_tie)
@settings(max_examples=40)
def test_the_ratio_keeps_to_its_bound(means):
    price = price_of_order(means)
    assert 1 <= price.ratio <= price.at_most * (1 + 1e-9)
    assert price.at_most <= 2
    assert price.ratio == pytest.approx(price.ordered / price.free)


def test_a_sure_arm_ahead_of_hopeless_ones_is_the_worst_case():
    assert price_of_order([1.0] + [0.0] * 9).ratio == pytest.approx(2)


def test_a_crowd_of_low_arms_ahead_of_a_close_pair_comes_near_it():
    means = np.concatenate([np.full(1000, 0.005), [0.007, 0.01]])
    assert price_of_order(means).ratio > 1.9


def test_growing_means_cost_nothing_to_keep_in_order():
    assert price_of_order(np.arange(1, 11) / 10).ratio == pytest.approx(1)


def test_a_tie_has_no_ratio():
    price = price_of_order([0.5, 0.5])
    assert np.isnan(price.ratio)
    assert price.ordered == price.free == np.inf


def test_several_best_arms_have_a_price_too():
    assert 1 <= price_of_order([0.9, 0.1, 0.5, 0.2], k=2).ratio <= 2
