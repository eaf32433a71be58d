"""Bounds for policies that are told a difference: against a brute-force programme, and what must hold of any."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import linkedbandits as lb
from linkedbandits.bounds import characteristic_time, lower
from linkedbandits.bounds.divergence import kl
from linkedbandits.linkage import LINKAGES, find_linkage

TOLD = [{"gap": 0.1}, {"odds_ratio": 1.5}]


def behind(x, gap=None, odds_ratio=None):
    return x - gap if gap is not None else x / (x + odds_ratio * (1 - x))


def by_brute_force(means, linkage, **told):
    """One condition for each rival and each of very many places to which it could be ahead."""
    means, link = np.array(means), find_linkage(linkage)
    best = means.argmax()
    conditions = []
    for rival in range(means.size):
        if rival != best:
            for x in np.linspace(means[rival], 1, 402)[1:-1]:
                y = behind(x, **told)
                if y > 0:
                    row = kl(means, np.minimum(means, y))
                    row[rival] = kl(means[rival], x)
                    conditions.append(row)
    rows = link.cost_rows(means)
    costs = np.zeros(rows.shape)
    np.add.at(costs, (rows.row, rows.column), rows.value)
    needed = np.zeros((len(conditions), costs.shape[1]))
    needed[:, : means.size] = conditions
    goal = np.zeros(costs.shape[1])
    goal[means.size] = 1
    limits = np.concatenate([np.zeros(len(costs)), -np.ones(len(needed))])
    return linprog(goal, A_ub=np.concatenate([costs, -needed]), b_ub=limits, method="highs").fun


@pytest.mark.parametrize("linkage", ["ordered", "single"])
@pytest.mark.parametrize("told", TOLD, ids=str)
@pytest.mark.parametrize("means", [[0.5, 0.3], [0.2, 0.6, 0.35], [0.9, 0.7, 0.75, 0.1]], ids=str)
def test_it_is_what_a_programme_with_all_conditions_finds(means, told, linkage):
    found = characteristic_time(means, linkage, **told)
    assert found.value == pytest.approx(by_brute_force(means, linkage, **told), rel=2e-3)
    assert found.at_least <= found.value <= found.at_least * (1 + 1e-7)


@settings(max_examples=5)
@given(st.lists(st.floats(0.01, 0.9), min_size=2, max_size=6), st.floats(0.02, 0.1), st.sampled_from(list(LINKAGES)))
def test_the_more_is_told_the_less_is_needed(others, ahead, linkage):
    means = [*others, max(others) + ahead]
    plain = characteristic_time(means, linkage).at_least
    told = [characteristic_time(means, linkage, gap=share * ahead).value for share in (0.1, 0.5, 1.0)]
    assert told[2] <= told[1] * (1 + 1e-6)
    assert told[1] <= told[0] * (1 + 1e-6)
    assert told[0] <= plain * (1 + 1e-6)


def test_told_next_to_nothing_it_is_the_bound_of_those_who_are_told_nothing():
    means = [0.3, 0.2, 0.1]
    for told in ({"gap": 1e-9}, {"odds_ratio": 1 + 1e-9}):
        assert characteristic_time(means, **told).value == pytest.approx(characteristic_time(means).value, rel=1e-5)


def test_means_at_the_edges():
    for means in ([1.0, 0.5, 0.0], [0.5, 0.0, 0.0], [1.0, 0.0]):
        for told in ({"gap": 0.3}, {"odds_ratio": 2.0}):
            time = characteristic_time(means, **told)
            assert 0 < time.at_least <= time.value < characteristic_time(means).value * (1 + 1e-6)


def test_the_lower_bound_takes_the_end_of_the_bracket_that_is_proved():
    means = [0.4, 0.3, 0.25]
    time = characteristic_time(means, gap=0.1)
    assert lower(means, 0.1, gap=0.1) == lb.bounds.divergence.kl_of_error(0.1) * time.at_least
    plain = characteristic_time(means)
    assert plain.at_least < plain.value
    assert lower(means, 0.1) == lb.bounds.divergence.kl_of_error(0.1) * plain.at_least


def test_a_policy_that_is_told_stays_above_its_bound():
    means = [0.5, 1 / 3, 1 / 3]
    for told in ({"odds_ratio": 2.0}, {"gap": 1 / 6}):
        runs = lb.simulate(means, lb.LinkedLead(0.05, **told), trials=500, seed=1)
        assert 1.2 * lower(means, 0.05, **told) < runs.plays.mean() < lower(means, 0.05) * 1.5


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"gap": 0.2}, "the best arm is ahead by 0.1, less than gap=0.2; tell at most that"),
        ({"odds_ratio": 3.0}, "the odds of the best arm are 1.5 times those of the second, less than odds_ratio=3"),
        ({"gap": 0.05, "odds_ratio": 1.2}, "both given; say one"),
        ({"gap": 0.05, "k": 2}, "k=2 goes with no told difference"),
        ({"gap": 0.0}, r"gap=0.0 is not in \(0, 1\]"),
        ({"odds_ratio": 1.0}, "odds_ratio=1.0 is no ratio above 1"),
    ],
    ids=str,
)
def test_what_cannot_be_told_is_refused(given, said):
    with pytest.raises(lb.InvalidParameter, match=said):
        lower([0.5, 0.4, 0.3], 0.1, **given)
