"""Play costs: within their own limits of the exact law in order, of the best rule when free, and of what is played."""

from __future__ import annotations

import copy
import pickle
from functools import cache
from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import linkedbandits as lb
from linkedbandits.bounds import expected_plays, load, play_cost
from linkedbandits.linkage import LINKAGES, find_linkage
from linkedbandits.streams import LaneStreams
from linkedbandits.world import CoinFlips
from tests.support.every_policy import EVERY_POLICY, playable, policy_id
from tests.support.instances import one_mean

arms_and_needs = st.lists(st.tuples(one_mean, st.integers(0, 60)), min_size=2, max_size=6).map(
    lambda rows: ([mean for mean, _ in rows], [need for _, need in rows])
)


def least_expected_plays(needs: tuple[int, ...], means: tuple[float, ...]) -> float:
    """The best rule of all for free plays, by dynamic programming over what is still needed."""

    @cache
    def value(left: tuple[int, ...]) -> float:
        open_arms = [arm for arm, need in enumerate(left) if need]
        if not open_arms:
            return 0.0
        orders = (order for size in range(1, len(open_arms) + 1) for order in permutations(open_arms, size))
        return 1 + min(after(order, left) for order in orders)

    def after(order: tuple[int, ...], left: tuple[int, ...]) -> float:
        expected, reached, state = 0.0, 1.0, list(left)
        for arm in order:
            state[arm] -= 1
            expected += reached * means[arm] * value(tuple(state))
            reached *= 1 - means[arm]
        return expected + reached * value(tuple(state))

    return value(needs)


@given(arms_and_needs)
def test_in_order_the_exact_expectation_lies_within_the_limits(given_arms):
    means, needs = given_arms
    cost = play_cost(needs, means)
    exact = expected_plays(needs, means).plays
    assert cost <= exact * (1 + 1e-12)
    assert exact <= cost.at_most * (1 + 1e-12)


def test_the_limit_in_order_is_not_idle():
    """Forty arms that on average all finish together: the largest of their excesses is then of the limit's order."""
    needs, means = np.round(10_000 * 0.98 ** np.arange(40)).astype(int), [0.02] * 40
    cost = play_cost(needs, means)
    exact = expected_plays(needs, means).plays
    assert cost + 0.25 * (cost.at_most - cost) < exact < cost.at_most


@given(st.lists(st.tuples(one_mean, st.integers(0, 4)), min_size=2, max_size=3))
@settings(max_examples=60)
def test_freely_the_best_rule_lies_within_the_limits(rows):
    means, needs = tuple(mean for mean, _ in rows), tuple(need for _, need in rows)
    cost = play_cost(needs, means, "free")
    least = least_expected_plays(needs, means)
    assert cost <= least * (1 + 1e-9) + 1e-12
    assert least <= cost.at_most * (1 + 1e-9)


@given(arms_and_needs, st.sampled_from(["ordered", "free", "suffix"]))
def test_the_first_order_takes_over_as_needs_grow(given_arms, linkage):
    means, needs = given_arms
    cost = play_cost(np.array(needs) * 10**12, means, linkage)
    assert cost.at_most <= cost * (1 + 1e-5) + 1


def expected_suffix_plays(needs: list[int], means: list[float]) -> float:
    """The mean of t_last + the hits before it, with t_i = max(m_i, t_{i-1} - hits), over the whole law of each t."""
    law, hits_before = {needs[0]: 1.0}, 0.0
    for need, mean in zip(needs[1:], means, strict=False):
        following: dict[int, float] = {}
        for reached, chance in law.items():
            hits_before += chance * reached * mean
            for hits, weight in enumerate(binom.pmf(np.arange(reached + 1), reached, mean)):
                after = max(need, reached - hits)
                following[after] = following.get(after, 0.0) + chance * float(weight)
        law = following
    return hits_before + sum(reached * chance for reached, chance in law.items())


@given(st.lists(st.tuples(one_mean, st.integers(0, 12)), min_size=2, max_size=5))
@settings(max_examples=60)
def test_from_some_arm_on_the_exact_expectation_lies_within_the_limits(rows):
    means, needs = [mean for mean, _ in rows], [need for _, need in rows]
    cost = play_cost(needs, means, "suffix")
    exact = expected_suffix_plays(needs, means)
    assert cost <= exact * (1 + 1e-9) + 1e-9
    assert exact <= cost.at_most * (1 + 1e-9) + 1e-9


def test_the_limit_from_some_arm_on_is_not_idle():
    """Each of many arms needs what the one before passes on: then chance adds at every arm."""
    needs, means = np.round(400 * 0.9 ** np.arange(8)).astype(int).tolist(), [0.1] * 8
    cost = play_cost(needs, means, "suffix")
    exact = expected_suffix_plays(needs, means)
    assert cost + 0.25 * (cost.at_most - cost) < exact < cost.at_most


def test_one_arm_a_play_needs_no_approximation():
    cost = play_cost([3, 4], [0.3, 0.4], "single")
    assert cost == cost.at_most == 7


def test_no_needs_take_no_plays():
    assert [play_cost([0, 0], [0.3, 0.4], linkage).at_most for linkage in LINKAGES] == [0] * len(LINKAGES)


def test_a_cost_survives_copying_and_saving():
    cost = play_cost([30, 40], [0.3, 0.4])
    for twin in (copy.deepcopy(cost), pickle.loads(pickle.dumps(cost))):
        assert twin == cost
        assert twin.at_most == cost.at_most


def test_bad_needs_are_refused():
    with pytest.raises(lb.InvalidParameter, match="need -1 of arm 1 is negative"):
        play_cost([3, -1], [0.3, 0.4])
    with pytest.raises(lb.InvalidParameter, match="3 needs for 2 arms"):
        play_cost([3, 1, 1], [0.3, 0.4])
    with pytest.raises(lb.InvalidParameter, match="outside"):
        play_cost([3, 1], [0.3, -0.4])
    with pytest.raises(lb.UnknownName, match="unknown linkage 'chained'"):
        play_cost([3, 1], [0.3, 0.4], "chained")


@pytest.mark.parametrize(
    ("rates", "complaint"),
    [
        ([0.5], "shape"),
        ([0.5, -0.1], "rate -0.1 of arm 1"),
        ([0.5, float("inf")], "rate inf of arm 1"),
        (["a", "b"], "not numbers"),
    ],
)
def test_bad_rates_are_refused(rates, complaint):
    with pytest.raises(lb.InvalidParameter, match=complaint):
        load(rates, [0.3, 0.4])


def test_the_edge_of_what_can_be_sustained():
    means = [0.3, 0.4, 0.2]
    every_play = [1.0, 0.7, 0.7 * 0.6]  # all three arms, in order, in every play
    assert load(every_play, means) == pytest.approx(1)
    assert load([0.7 * 0.6, 0.6, 1.0][::-1], means[::-1], "free") == pytest.approx(load(every_play, means, "free"))
    assert load([1, 0, 0], means, "single") == 1
    assert load([1, 1, 0], means, "single") == 2


MEANS = np.array([0.35, 0.6, 0.25, 0.15])


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
    runs = lb.simulate(MEANS, policy, linkage=linkage, trials=120, seed=11, max_plays=400)
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
