"""The characteristic time: cases with a known answer, order among the linkages, edges, ties, and a million arms."""

from __future__ import annotations

import subprocess
import sys
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import linkedbandits as lb
from linkedbandits.bounds import characteristic_time, load
from linkedbandits.bounds.divergence import kl
from linkedbandits.linkage import LINKAGES, find_linkage
from tests.support.instances import EDGES, no_tie
from tools.waiting import SECONDS


@pytest.mark.parametrize(
    ("means", "linkage", "time"),
    [
        # One arm always succeeds, one never: s + t samples carry (s + t) h(s/(s + t)) nats, so s = t = 1/(2 log 2).
        ([1, 0], "ordered", 1 / log(2)),
        ([0, 1], "ordered", 0.5 / log(2)),
        ([1, 0], "free", 0.5 / log(2)),
        ([1, 0], "single", 1 / log(2)),
        ([1, 0], "suffix", 1 / log(2)),
        ([0, 1], "suffix", 0.5 / log(2)),
        # A small gap D with variance v: 1/s + 1/t = D^2/(2 v), so that s = t = 4 v/D^2 is best for one arm a play.
        ([0.5, 0.5 + 1e-6], "single", 2e12),
        # In order, max(s, t + s/2) with the best arm first: s = 1 + sqrt 2 of t = 1 + 1/sqrt 2.
        ([0.5 + 1e-6, 0.5], "ordered", (1.5 + 2**0.5) * 0.5e12),
    ],
)
def test_times_worked_out_by_hand(means, linkage, time):
    assert characteristic_time(means, linkage).value == pytest.approx(time, rel=1e-5)


@given(no_tie)
@settings(max_examples=30)
def test_more_freedom_takes_no_more_plays_and_order_at_most_twice_as_many(means):
    free, ordered, single = (characteristic_time(means, name).value for name in ("free", "ordered", "single"))
    assert free <= ordered * (1 + 1e-9)
    assert ordered <= single * (1 + 1e-9)
    assert ordered <= 2 * free * (1 + 1e-9)


def suffix_time_by_brute_force(means: np.ndarray, best: list[int]) -> float:
    """The least plays over all shares of plays opened at each arm, with a condition at every of many pooled means.

    Written with nothing of the library but the divergence: x_g plays are opened at g, arm i gets the sum over g <= i of
    x_g prod_{g <= j < i} (1 - mu_j) samples, and t_a kl(mu_a, l) + t_b kl(mu_b, l) >= 1 for all l between the two.
    """
    arms = means.size
    samples_of = np.array([[np.prod(1 - means[g:i]) if g <= i else 0.0 for g in range(arms)] for i in range(arms)])
    rows = []
    for winner in best:
        for loser in set(range(arms)) - set(best):
            pooled = np.linspace(means[loser], means[winner], 1202)[1:-1, np.newaxis]
            rows.append(samples_of[winner] * kl(means[winner], pooled) + samples_of[loser] * kl(means[loser], pooled))
    conditions = np.concatenate(rows)
    return float(linprog(np.ones(arms), A_ub=-conditions, b_ub=-np.ones(conditions.shape[0])).fun)


@pytest.mark.parametrize("k", [1, 2])
def test_from_some_arm_on_it_is_what_a_brute_force_linear_programme_finds(k):
    """A grid of 1,200 pooled means misses the least of each condition by some millionths."""
    rng = np.random.default_rng([3, k])
    for _ in range(12):
        means = rng.uniform(0.03, 0.97, int(rng.integers(3, 6)))
        time = characteristic_time(means, "suffix", k=k)
        assert suffix_time_by_brute_force(means, list(time.best)) == pytest.approx(time.value, rel=1e-4)


@given(no_tie)
@settings(max_examples=30)
def test_to_choose_every_arm_is_worth_more_than_to_choose_where_to_begin(means):
    ordered, suffix, single = (characteristic_time(means, name).value for name in ("ordered", "suffix", "single"))
    assert ordered <= suffix * (1 + 1e-8)
    assert suffix <= single * (1 + 1e-8)


def test_easy_arms_between_hard_ones_are_where_they_differ():
    """The first and the last arm are hard to tell apart. In order the others are left out of most plays."""
    means = [0.567, 0.355, 0.456, 0.599]
    assert characteristic_time(means, "suffix").value > 1.15 * characteristic_time(means, "ordered").value


@given(no_tie, st.sampled_from(list(LINKAGES)))
@settings(max_examples=30)
def test_the_proportions_use_up_every_play(means, linkage):
    time = characteristic_time(means, linkage)
    assert load(time.proportions, means, linkage) == pytest.approx(1, rel=1e-9)
    assert time.at_least <= time.value <= time.at_least * (1 + 1e-8)
    assert time.best == (int(means.argmax()),)
    assert time.unique
    assert time.reason is None


@given(no_tie, st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_free_plays_do_not_care_for_the_order(means, random):
    shuffled = means.tolist()
    random.shuffle(shuffled)
    value = characteristic_time(means, "free").value
    assert characteristic_time(shuffled, "free").value == pytest.approx(value, rel=1e-8)


@given(no_tie, st.sampled_from(list(LINKAGES)), st.floats(0, 1))
@settings(max_examples=30)
def test_one_more_rival_never_helps(means, linkage, share):
    longer = np.append(means, share * np.sort(means)[-2])
    assert characteristic_time(longer, linkage).value >= characteristic_time(means, linkage).value * (1 - 1e-9)


@pytest.mark.parametrize("linkage", list(LINKAGES))
@pytest.mark.parametrize(
    ("means", "k", "best"),
    [
        ([0.3, 0.1, 0.3], 1, (0, 2)),
        ([0.0, 0.0], 1, (0, 1)),
        ([1.0, 1.0, 0.2], 1, (0, 1)),
        ([0.5] * 7, 1, tuple(range(7))),
        ([0.9, 0.4, 0.4, 0.1], 2, (0, 1, 2)),
    ],
)
def test_a_tie_takes_for_ever_and_says_so(means, k, best, linkage):
    time = characteristic_time(means, linkage, k=k)
    assert time.value == time.at_least == np.inf
    assert not time.unique
    assert time.best == best
    assert np.isnan(time.proportions).all()
    assert "share the mean" in time.reason


def test_a_tie_elsewhere_does_no_harm():
    assert characteristic_time([0.9, 0.9, 0.4, 0.4], k=2).best == (0, 1)
    assert characteristic_time([0.9, 0.9, 0.4, 0.4], k=2).value < np.inf


@pytest.mark.parametrize("linkage", list(LINKAGES))
@pytest.mark.parametrize("means", EDGES, ids=str)
def test_means_at_and_near_the_edges(means, linkage):
    time = characteristic_time(means, linkage)
    assert 0 < time.value < np.inf
    assert time.at_least == pytest.approx(time.value, rel=1e-8)
    assert load(time.proportions, means, linkage) == pytest.approx(1)


def test_a_time_beyond_floating_point_is_infinite_with_its_reason():
    time = characteristic_time([1e-300, 0.0])
    assert time.value == np.inf
    assert time.unique
    assert "more plays" in time.reason


@pytest.mark.parametrize("linkage", list(LINKAGES))
def test_several_best_arms(linkage):
    means = [0.2, 0.7, 0.4, 0.6]
    two = characteristic_time(means, linkage, k=2)
    assert two.best == (1, 3)
    assert two.at_least == pytest.approx(two.value, rel=1e-7)
    assert load(two.proportions, means, linkage) == pytest.approx(1)
    # To know the best two one must tell 0.6 from 0.4.
    assert two.value >= characteristic_time([0.4, 0.6], "free").value * (1 - 1e-9)


@pytest.mark.parametrize("linkage", list(LINKAGES))
def test_several_best_arms_with_a_tiny_gap_beside_a_wide_one(linkage):
    time = characteristic_time([0.9, 0.5, 0.5 - 1e-6, 0.0, 1.0], linkage, k=3)
    assert time.best == (0, 1, 4)
    assert time.at_least == pytest.approx(time.value, rel=1e-6)


def test_bad_input_names_the_value_and_the_remedy():
    with pytest.raises(lb.InvalidParameter, match="k=2 of 2 arms leaves none out; choose k up to 1"):
        characteristic_time([0.1, 0.2], k=2)
    with pytest.raises(lb.InvalidParameter, match="k=0"):
        characteristic_time([0.1, 0.2], k=0)
    with pytest.raises(lb.InvalidParameter, match=r"1\.5 of arm 1"):
        characteristic_time([0.1, 1.5])
    with pytest.raises(lb.InvalidParameter, match="at least two"):
        characteristic_time([0.1])
    with pytest.raises(lb.UnknownName, match=", ".join(LINKAGES)):
        characteristic_time([0.1, 0.2], "orderd")


MANY_ARMS = """
import resource
import numpy as np
from linkedbandits.bounds import characteristic_time
from linkedbandits.linkage import LINKAGES, find_linkage

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
means = np.random.default_rng(3).random(200_000) * 0.9
means[123456] = 0.95
for linkage in LINKAGES:
    time = characteristic_time(means, linkage)
    assert time.best == (123456,), time.best
    assert time.at_least >= time.value * (1 - 1e-8), linkage
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.slow
def test_a_million_arms_would_stay_well_below_a_gigabyte():
    """A fifth of them stays below a fifth of half of it."""
    done = subprocess.run(
        [sys.executable, "-c", MANY_ARMS], capture_output=True, text=True, check=True, timeout=SECONDS
    )
    assert float(done.stdout) < 100  # MiB


def by_brute_force(means, costs, linkage):
    """One condition for each rival and each of very many pairs of means that are worth the same."""
    means, costs, link = np.array(means), np.array(costs), find_linkage(linkage)
    best = (means / costs).argmax()
    conditions = []
    for rival in range(means.size):
        if rival != best:
            slope = costs[rival] / costs[best]
            for place in min(1, 1 / slope) * np.linspace(0, 1, 402)[1:-1]:
                row = np.zeros(means.size)
                row[best], row[rival] = kl(means[best], place), kl(means[rival], slope * place)
                conditions.append(row)
    rows = link.cost_rows(means)
    plays = np.zeros(rows.shape)
    np.add.at(plays, (rows.row, rows.column), rows.value)
    needed = np.zeros((len(conditions), plays.shape[1]))
    needed[:, : means.size] = conditions
    goal = np.zeros(plays.shape[1])
    goal[means.size] = 1
    limits = np.concatenate([np.zeros(len(plays)), -np.ones(len(needed))])
    return linprog(goal, A_ub=np.concatenate([plays, -needed]), b_ub=limits, method="highs").fun


@pytest.mark.parametrize("linkage", ["ordered", "single"])
@pytest.mark.parametrize(
    ("means", "costs"),
    [
        ([0.5, 0.3], [1, 2]),
        ([0.2, 0.6, 0.35], [1, 5, 2]),
        ([0.9, 0.7, 0.75, 0.1], [3, 1, 2, 0.3]),
        ([1, 0.5], [1, 1.5]),
    ],
    ids=str,
)
def test_with_costs_it_is_what_a_programme_with_all_conditions_finds(means, costs, linkage):
    found = characteristic_time(means, linkage, costs=costs)
    assert found.value == pytest.approx(by_brute_force(means, costs, linkage), rel=4e-3)
    assert found.at_least <= found.value <= found.at_least * (1 + 1e-7)
    assert found.best == (int((np.array(means) / costs).argmax()),)


@pytest.mark.parametrize("linkage", list(LINKAGES))
def test_equal_costs_are_as_none(linkage):
    means = [0.3, 0.5, 0.2]
    assert characteristic_time(means, linkage, costs=[4, 4, 4]).value == pytest.approx(
        characteristic_time(means, linkage).value, rel=1e-7
    )


def test_arms_that_tie_per_cost_are_never_told_apart():
    tied = characteristic_time([0.3, 0.1, 0.05], costs=[3, 1, 1])
    assert (tied.value, tied.unique, tied.best) == (np.inf, False, (0, 1))
    assert tied.reason == "arms 0 and 1 share the mean per cost 0.1; no number of plays tells which is best"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"costs": [1, 2]}, "2 costs for 3 arms; give one for each arm"),
        ({"costs": [1, 2, -1]}, "cost -1.0 of arm 2 is not positive and finite"),
        ({"costs": [1, 2, 3], "k": 2}, "k=2 goes with no costs; leave out one or the other"),
        ({"costs": [1, 2, 3], "gap": 0.1}, "a told difference goes with no costs"),
        ({"costs": [1, 2, 3], "odds_ratio": 1.1}, "a told difference goes with no costs"),
    ],
    ids=str,
)
def test_what_does_not_go_with_costs_is_refused(given, said):
    with pytest.raises(lb.InvalidParameter, match=said):
        characteristic_time([0.5, 0.4, 0.3], **given)
