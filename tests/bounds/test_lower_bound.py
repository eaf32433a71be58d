"""The lower bound: never below what the paper's corollary gives, and beaten by no policy."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.assumptions import TOLD_DIFFERENCE
from linkedbandits.bounds import characteristic_time, corollary_in_kl, lower
from linkedbandits.linkage import LINKAGES
from linkedbandits.policies import describe_policy
from tests.support.every_policy import EVERY_POLICY, playable, policy_id
from tests.support.instances import no_tie, random_means


@given(no_tie, st.sampled_from(["ordered", "free"]), st.sampled_from([0.3, 0.1, 1e-6, 1e-300]))
def test_it_is_at_least_the_papers_corollary(means, linkage, delta):
    time = characteristic_time(means, linkage)
    upper_end = lower(means, delta, linkage) * (time.value / time.at_least)
    assert upper_end >= corollary_in_kl(means, delta) * (1 - 1e-9)
    assert time.at_least >= time.value * (1 - 1e-6)


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
    with pytest.raises(lb.InvalidParameter, match=r"is not between 0 and 1; try 0\.05"):
        lower([0.5, 0.4], delta)


# The bound is for policies that name the best arm whatever the means: not for one that is told the gap, nor for one
# content with an arm that is nearly the best.
CORRECT = [lb.LinkedEGE(delta=0.1, median="fresh")] + [
    policy
    for policy in EVERY_POLICY
    if policy.error_bound is not None
    and not (policy.goal.tolerance or policy.goal.neighbours or describe_policy(policy)["parameters"].get("gap"))
    and TOLD_DIFFERENCE not in {assumed.name for assumed in policy.assumptions(LINKAGES["single"])}
]


def fits(policy, means) -> bool:
    """Is there something to decide, and a cost for each arm if there are costs?"""
    return policy.goal.k < len(means) and len(policy.goal.costs) in (0, len(means))


INSTANCES = [[1.0, 0.0], [0.2, 0.8, 0.5, 0.3]]


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("policy", "linkage", "means"),
    [(*played, means) for played in playable(CORRECT) for means in INSTANCES if fits(played[0], means)],
    ids=policy_id,
)
def test_no_correct_policy_beats_the_lower_bound(policy, linkage, means):
    """Mean plays of 25 trials, plus 5 standard errors."""
    runs = lb.simulate(means, policy, linkage=linkage, trials=25, seed=13)
    allowance = 5 * runs.plays.std() / np.sqrt(25)
    least = lower(means, policy.error_bound, linkage, policy.goal.k, costs=policy.goal.costs)
    assert least <= runs.plays.mean() + allowance


def test_with_costs_it_is_that_of_the_arm_with_most_successes_per_cost():
    means, costs = [0.3, 0.5, 0.2], [1, 2, 1]
    time = lb.bounds.characteristic_time(means, "single", costs=costs)
    assert lower(means, 0.1, "single", costs=costs) == lb.bounds.divergence.kl_of_error(0.1) * time.at_least
    assert lower([0.3, 0.1], 0.1, costs=[3, 1]) == np.inf
