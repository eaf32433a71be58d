"""Prices: the closed forms against enumeration, and what a convex search relies on."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import linkedbandits as lb
from linkedbandits.linkage import LINKAGES, Quote, Single, find_linkage
from tests.support.instances import one_mean

arms_and_samples = st.lists(st.tuples(one_mean, st.floats(0, 100)), min_size=2, max_size=7).map(
    lambda rows: (np.array([mean for mean, _ in rows]), np.array([samples for _, samples in rows]))
)


def quote(samples: np.ndarray, means: np.ndarray, linkage: str) -> Quote:
    return find_linkage(linkage).quote(samples, means)


def dearest_set(samples: np.ndarray, means: np.ndarray) -> float:
    """The largest over all sets B of sum_B mu t / (1 - prod_B (1 - mu)): the price of free plays, by enumeration."""
    largest = 0.0
    for size in range(1, means.size + 1):
        for chosen in combinations(range(means.size), size):
            arms = list(chosen)
            ends = -np.expm1(np.log1p(-np.minimum(means[arms], 1 - 1e-16)).sum())
            value = (means[arms] @ samples[arms]) / ends if ends > 0 else samples[arms].max()
            largest = max(largest, float(value))
    return largest


@given(arms_and_samples)
def test_free_plays_cost_what_the_dearest_set_does(given_arms):
    means, samples = given_arms
    assert quote(samples, means, "free").plays == pytest.approx(dearest_set(samples, means), rel=1e-9)


@given(arms_and_samples)
def test_ordered_plays_cost_what_the_dearest_arm_does(given_arms):
    means, samples = given_arms
    reached = [samples[i] + means[:i] @ samples[:i] for i in range(means.size)]
    assert quote(samples, means, "ordered").plays == pytest.approx(max(reached))


@given(arms_and_samples, st.sampled_from(list(LINKAGES)))
def test_prices_add_up_to_the_plays(given_arms, linkage):
    means, samples = given_arms
    quoted = quote(samples, means, linkage)
    assert quoted.prices @ samples == pytest.approx(quoted.plays)
    assert (quoted.prices >= 0).all()


@given(arms_and_samples, st.integers(0, 2**32), st.sampled_from(list(LINKAGES)))
def test_prices_never_overstate_the_plays_of_other_samples(given_arms, seed, linkage):
    """Plays are convex in the samples, and the prices a subgradient."""
    means, samples = given_arms
    others = samples * np.random.default_rng(seed).exponential(size=samples.size)
    assert quote(samples, means, linkage).prices @ others <= quote(others, means, linkage).plays * (1 + 1e-9)


@given(arms_and_samples)
def test_more_freedom_costs_no_more_plays(given_arms):
    means, samples = given_arms
    free, ordered, single = (quote(samples, means, linkage).plays for linkage in ("free", "ordered", "single"))
    assert samples.max() <= free * (1 + 1e-12) <= ordered * (1 + 1e-9) <= single * (1 + 1e-8)
    assert ordered <= 2 * free * (1 + 1e-9)


def test_arms_that_never_succeed_cost_only_the_most_needed_of_them():
    assert quote(np.array([3.0, 5.0, 4.0]), np.zeros(3), "free").plays == 5
    assert quote(np.array([3.0, 5.0, 4.0]), np.zeros(3), "ordered").plays == 5


def test_a_million_sure_arms_do_not_overflow():
    assert quote(np.ones(10**5), np.ones(10**5), "free").plays == pytest.approx(10**5)


@given(arms_and_samples, st.sampled_from(list(LINKAGES)))
def test_the_price_of_many_lanes_is_the_quote_of_each(given_arms, linkage):
    means, samples = given_arms
    lanes = np.array([samples, samples[::-1], np.zeros_like(samples)])
    prices = find_linkage(linkage).price(lanes, np.array([means, means[::-1], means]))
    assert prices[0] == pytest.approx(quote(samples, means, linkage).plays, rel=1e-12)
    assert prices[1] == pytest.approx(quote(samples[::-1], means[::-1], linkage).plays, rel=1e-12)
    assert prices[2] == 0


@given(arms_and_samples, st.sampled_from(list(LINKAGES)))
def test_a_linear_programme_that_is_told_the_rows_and_the_missing_prices_finds_the_plays(given_arms, linkage):
    """With the samples fixed and the quoted prices as one more row, the fewest plays are those of the quote."""
    means, samples = given_arms
    rows, quoted = find_linkage(linkage).cost_rows(means), quote(samples, means, linkage)
    matrix = np.zeros((rows.shape[0] + 1, rows.shape[1]))
    np.add.at(matrix, (rows.row, rows.column), rows.value)
    matrix[-1, : means.size], matrix[-1, means.size] = quoted.prices, -1
    goal = np.zeros(rows.shape[1])
    goal[means.size] = 1
    fixed = [(amount, amount) for amount in samples] + [(0, None)] * (rows.shape[1] - samples.size)
    solved = linprog(goal, A_ub=matrix, b_ub=np.zeros(matrix.shape[0]), bounds=fixed)
    assert solved.fun == pytest.approx(quoted.plays, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("mean", [1e-9, 1e-15, 1e-16, 1e-100, 1e-300])
def test_rare_successes_cost_freely_what_the_longest_need_does(mean):
    """Two arms alike cost 96/(1 - mean/2): to sixteen digits the 96 samples, whatever is left of 1 - mean."""
    means, samples = np.full(2, mean), np.full(2, 96.0)
    free = find_linkage("free")
    assert free.price(samples[np.newaxis], means[np.newaxis]) == pytest.approx([96 / (1 - mean / 2)], rel=1e-15)
    assert free.quote(samples, means).plays == pytest.approx(96 / (1 - mean / 2), rel=1e-15)


def test_a_linkage_is_known_by_its_name_or_stands_for_itself():
    own = Single()
    assert find_linkage("free") is LINKAGES["free"]
    assert find_linkage(own) is own


def test_a_linkage_of_ones_own_has_bounds_like_any_other():
    class Circular(Single):
        name = "circular"

    time = lb.bounds.characteristic_time([0.2, 0.6], Circular())
    assert time.linkage == "circular"
    assert time.value == lb.bounds.characteristic_time([0.2, 0.6], "single").value


def test_a_linkage_with_parts_missing_is_told_which():
    class Unpriced:
        name = "unpriced"
        fulfil = plan = allows = price = None

    with pytest.raises(lb.InvalidParameter, match="has no words, in_order, tries_one, quote, cost_rows, "):
        lb.bounds.lower([0.2, 0.6], 0.1, Unpriced())
