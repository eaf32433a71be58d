"""The lower bound: tiny error probabilities, ties, and never below what the paper's corollary gives."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.bounds import characteristic_time, corollary_in_kl, lower
from tests.support.instances import no_tie, random_means


@given(no_tie, st.sampled_from(["ordered", "free"]), st.sampled_from([0.3, 0.1, 1e-6, 1e-300]))
def test_it_is_at_least_the_papers_corollary(means, linkage, delta):
    assert lower(means, delta, linkage) >= corollary_in_kl(means, delta) * (1 - 1e-9)


@settings(max_examples=50)
@given(st.integers(0, 2**32), st.integers(2, 200))
def test_it_is_at_least_the_papers_corollary_on_larger_instances(seed, arms):
    means = random_means(np.random.default_rng(seed), arms)
    assert lower(means, 0.1) >= corollary_in_kl(means, 0.1) * (1 - 1e-9)


@pytest.mark.parametrize("delta", [0.1, 1e-12, 1e-300])
def test_it_grows_with_the_logarithm_of_the_error_probability(delta):
    means = [0.3, 0.1, 0.2]
    evidence = (1 - 2 * delta) * (log(1 - delta) - log(delta))
    assert lower(means, delta, "single") == pytest.approx(evidence * characteristic_time(means, "single").value)


def test_several_best_arms():
    assert lower([0.9, 0.5, 0.1], 0.1, k=2) == pytest.approx(
        lower([0.9, 0.5, 0.1], 0.01, k=2) * lower([0.5, 0.1], 0.1) / lower([0.5, 0.1], 0.01)
    )


def test_a_tie_and_a_guess():
    assert lower([0.5, 0.5], 0.1) == np.inf
    assert lower([0.5, 0.4], 0.5) == 0
    assert lower([0.5, 0.5], 0.7) == 0


@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.5, float("nan"), "0.1"])
def test_an_error_probability_outside_its_range_is_refused(delta):
    with pytest.raises(lb.InvalidParameter, match=r"is not between 0 and 1; try delta=0\.05"):
        lower([0.5, 0.4], delta)
