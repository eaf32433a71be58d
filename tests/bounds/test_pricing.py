"""Prices: the closed forms against enumeration, and what a convex search relies on."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bounds.instances import LINKAGES, one_mean
from linkedbandits.bounds.pricing import linkage_name, quote
from linkedbandits.errors import UnknownName
from linkedbandits.linkage import Single

arms_and_samples = st.lists(st.tuples(one_mean, st.floats(0, 100)), min_size=2, max_size=7).map(
    lambda rows: (np.array([mean for mean, _ in rows]), np.array([samples for _, samples in rows]))
)


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


@given(arms_and_samples, st.sampled_from(LINKAGES))
def test_prices_add_up_to_the_plays(given_arms, linkage):
    means, samples = given_arms
    quoted = quote(samples, means, linkage)
    assert quoted.prices @ samples == pytest.approx(quoted.plays)
    assert (quoted.prices >= 0).all()


@given(arms_and_samples, st.integers(0, 2**32), st.sampled_from(LINKAGES))
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


def test_a_linkage_is_known_by_its_name_or_stands_for_itself():
    assert linkage_name("free") == "free"
    assert linkage_name(Single()) == "single"


def test_a_linkage_without_a_theory_is_refused():
    class Circular(Single):
        name = "circular"

    with pytest.raises(UnknownName, match="ordered, free, single"):
        linkage_name("circular")
    with pytest.raises(UnknownName, match="no theory for linkage 'circular'"):
        linkage_name(Circular())
