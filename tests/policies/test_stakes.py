"""Bets on a few odds ratios, where arms are few."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkedbandits.policies.linked_elimination import MANY_ARMS, ODDS_RATIOS, at_odds_ratios, shares_of_capital

one_mean = st.floats(1e-12, 1 - 1e-12)
one_count = st.floats(1, 1e15)


@pytest.mark.parametrize("arms", [2, 3, 9, 10, 1000])
def test_the_shares_are_all_of_the_capital(arms):
    shares = shares_of_capital(arms)
    assert shares.sum() == pytest.approx(1, abs=1e-15)
    assert (shares >= 0).all()
    assert (shares.size == 1) == (arms >= MANY_ARMS)


@given(one_mean, one_mean, st.tuples(one_count, one_count, one_count, one_count))
def test_the_two_are_probabilities_around_their_pooled_mean_and_the_leader_is_above(rival, leader, counts):
    pair = [np.array([number]) for number in (rival, leader, *counts)]
    below, above = at_odds_ratios((pair[0], pair[1]), (pair[2], pair[3]), (pair[4], pair[5]))
    assert below.shape == above.shape == (1, ODDS_RATIOS.size)
    assert ((below > 0) & (below <= above) & (above < 1)).all()
    share = counts[2] / (counts[2] + counts[3])
    pooled = share * rival + (1 - share) * leader
    assert share * below + (1 - share) * above == pytest.approx(np.full_like(below, pooled), rel=1e-9)


def test_ratios_are_as_they_are_called_until_what_was_seen_excludes_them():
    few, many = np.array([5.0]), np.array([1e9])
    means = np.array([0.5]), np.array([0.5])
    below, above = at_odds_ratios(means, (few, few), (few, few))
    odds = above / (1 - above) * (1 - below) / below
    assert odds[0, 0] == pytest.approx(1.2, rel=0.01)
    assert odds[0, 1] == pytest.approx(1.8, rel=0.02)
    below, above = at_odds_ratios(means, (many, many), (few, few))
    assert (above - below > 0).all()
    assert (above - below < 1e-4).all()
