"""The price of order: its bound, and the exploration that the documentation draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from linkedbandits.bounds import price_of_order
from linkedbandits.bounds.ordered_against_free import draw, explore, main, worst_with_best_mean
from tests.support.instances import no_tie


@given(no_tie)
@settings(max_examples=80)
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


def test_the_search_for_the_worst_keeps_to_its_terms():
    means = worst_with_best_mean(0.6, 20, np.random.default_rng(1), looks=20)
    assert means.max() == 0.6
    assert np.count_nonzero(means == 0.6) == 1
    assert price_of_order(means).ratio > 1.4


@pytest.mark.slow
def test_the_exploration_and_its_figure(tmp_path):
    pytest.importorskip("matplotlib")
    families = explore(np.random.default_rng(1), draws=3, starts=0, looks=10)
    assert max(family.largest for family in families) > 1.5
    assert all(1 <= family.median <= family.largest <= 2 for family in families)
    for family in families:
        assert price_of_order(family.worst).ratio == pytest.approx(family.largest)
    draw(tmp_path / "figure.png", families, cells=5)
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_the_command_wants_a_path(capsys):
    assert main([]) == 2
    assert "FIGURE.png" in capsys.readouterr().err
