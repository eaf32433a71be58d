"""Theory against play: no policy samples faster than a linkage allows, and none beats the lower bound."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.bounds import load, lower, play_cost
from linkedbandits.linkage import LINKAGES, find_linkage
from linkedbandits.policies import describe_policy
from linkedbandits.streams import LaneStreams
from linkedbandits.world import CoinFlips
from tests.support.every_policy import EVERY_POLICY, policy_id

MEANS = np.array([0.35, 0.6, 0.25, 0.15])


def playable(policies: list[Any]) -> list[tuple[Any, str]]:
    """Each policy with each linkage that allows its plays."""
    return [(policy, name) for policy in policies for name in LINKAGES if find_linkage(name).allows(policy.asks)]


def limits(linkage: str) -> np.ndarray:
    """Every price vector of the linkage: rates w can be sustained if prices @ w <= 1 for each of them."""
    arms = MEANS.size
    if linkage == "single":
        return np.ones((1, arms))
    if linkage == "ordered":
        return np.tril(np.tile(MEANS, (arms, 1)), -1) + np.eye(arms)
    if linkage == "suffix":
        return suffix_limits()
    sets = [list(chosen) for size in range(1, arms + 1) for chosen in combinations(range(arms), size)]
    prices = np.zeros((len(sets), arms))
    for row, chosen in zip(prices, sets, strict=True):
        row[chosen] = MEANS[chosen] / (1 - np.prod(1 - MEANS[chosen]))
    return prices


def suffix_limits() -> np.ndarray:
    """For every set of arms that plays are opened at: of each the chance to end before the next, of the last one 1."""
    arms = MEANS.size
    rows = []
    for size in range(1, arms + 1):
        for opened in combinations(range(arms), size):
            row = np.zeros(arms)
            for first, following in pairwise([*opened, arms]):
                row[first] = 1 - np.prod(1 - MEANS[first:following]) if following < arms else 1
            rows.append(row)
    return np.array(rows)


@pytest.mark.statistical
@pytest.mark.parametrize(("policy", "linkage"), playable(EVERY_POLICY), ids=policy_id)
def test_no_policy_samples_outside_what_the_linkage_can_do(policy, linkage):
    """prices @ samples - plays has mean 0 or less, whatever the policy and whenever it stops (Wald).

    Some 300 such means are tested at 5 standard errors each: a sound library fails at one seed in 10,000.
    """
    runs = lb.simulate(MEANS, policy, linkage=linkage, trials=500, seed=11, max_plays=20_000)
    beyond = runs.samples @ limits(linkage).T - runs.plays[:, np.newaxis]
    error = beyond.std(axis=0, ddof=1) / np.sqrt(beyond.shape[0])
    assert (beyond.mean(axis=0) <= 5 * error + 1e-9).all()
    rates = runs.samples.sum(axis=0) / runs.plays.sum()
    assert load(rates, MEANS, linkage) <= 1 + 5 * error.max() / runs.plays.mean() + 1e-9


@pytest.mark.statistical
@pytest.mark.parametrize("linkage", ["ordered", "free", "suffix"])
def test_playing_every_arm_in_every_play_reaches_the_limit(linkage):
    """The last arm's limit is met with equality: 100,000 plays put 5 standard errors below 0.02."""
    runs = lb.simulate(MEANS, lb.MaximalSampling(plays=1000), linkage=linkage, trials=100, seed=12)
    rates = runs.samples.sum(axis=0) / runs.plays.sum()
    assert load(rates, MEANS, linkage) == pytest.approx(1, abs=0.02)


@pytest.mark.statistical
@pytest.mark.parametrize("linkage", list(LINKAGES))
def test_needs_cost_what_the_theory_says(linkage):
    """1000 trials of a sum of independent hits: 5 standard errors around the limits of the expectation."""
    needs = [900, 500, 1200, 800]
    lanes = range(1000)
    world = CoinFlips(np.broadcast_to(MEANS, (1000, MEANS.size)), LaneStreams(14, MEANS.size, lanes))
    fulfilled = find_linkage(linkage).fulfil(np.array([needs for _ in lanes]), np.full(1000, 10**9), world)
    cost = play_cost(needs, MEANS, linkage)
    error = 5 * fulfilled.plays.std() / np.sqrt(1000)
    assert cost - error <= fulfilled.plays.mean() <= cost.at_most + error


# The bound is for policies that name the best arm whatever the means: not for one that is told the gap, nor for one
# content with an arm that is nearly the best.
CORRECT = [lb.LinkedEGE(delta=0.1, median="fresh")] + [
    policy
    for policy in EVERY_POLICY
    if policy.error_bound is not None
    and not (policy.goal.tolerance or policy.goal.neighbours or describe_policy(policy)["parameters"].get("gap"))
]


INSTANCES = [[0.2, 0.6, 0.5], [1.0, 0.0], [0.1, 0.05, 0.04, 0.03]]


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("policy", "linkage", "means"),
    [(*played, means) for played in playable(CORRECT) for means in INSTANCES if played[0].goal.k < len(means)],
    ids=policy_id,
)
def test_no_correct_policy_beats_the_lower_bound(policy, linkage, means):
    """Mean plays of 100 trials, plus 5 standard errors."""
    runs = lb.simulate(means, policy, linkage=linkage, trials=100, seed=13)
    allowance = 5 * runs.plays.std() / 10
    assert lower(means, policy.error_bound, linkage, policy.goal.k) <= runs.plays.mean() + allowance
