"""MaximalSampling against its box: T plays of all arms, then the highest empirical mean."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import linkedbandits as lb
from linkedbandits.stopping.lil import LilRule
from tests.support.by_hand import ByHand


def test_it_plays_all_arms_in_order_as_often_as_told():
    run = ByHand(lb.MaximalSampling(plays=200), lanes=2, arms=3)
    assert run.request.order.tolist() == [[0, 1, 2]] * 2
    assert run.request.times.tolist() == [200, 200]


def test_it_names_the_highest_empirical_mean_not_the_most_successes():
    run = ByHand(lb.MaximalSampling(plays=10), lanes=2, arms=3)
    run.answer([4, 3, 2], [4, 3, 3], samples=[[10, 6, 3], [10, 6, 3]])  # means 0.4, 0.5, 0.67 and 0.4, 0.5, 1
    assert run.stopped == [True, True]
    assert run.arm == [2, 2]
    run = ByHand(lb.MaximalSampling(plays=10), arms=3)
    run.answer([4, 3, 1], samples=[[10, 6, 3]])
    assert run.arm == [1]


def test_an_arm_that_was_never_reached_is_not_named():
    run = ByHand(lb.MaximalSampling(plays=4), arms=3)
    run.answer([0, 4, 0], samples=[[4, 4, 0]])
    assert run.arm == [1]
    run = ByHand(lb.MaximalSampling(plays=4), arms=2)
    run.answer([4, 0], samples=[[4, 0]])
    assert run.arm == [0]


def test_to_confidence_it_looks_on_a_grid_of_plays_lane_by_lane():
    run = ByHand(lb.MaximalSampling(delta=0.1), lanes=3)
    run.state.plays = np.array([0, 100, 1000])
    first = LilRule(0.1).first_look(2)
    assert run.request.times.tolist() == [first, 5, 50]


def test_to_confidence_it_adds_up_its_counts_and_stops_by_the_lil_rule():
    run = ByHand(lb.MaximalSampling(delta=0.1), lanes=2)
    run.answer([100, 50], [100, 200], samples=[[300, 200], [300, 200]])
    assert run.stopped == [False, True]  # arm 1: means 0.25 against 0.33, and 1 against 0.33
    assert run.arm[1] == 1
    run.answer([900, 50], [0, 0], samples=[[1000, 100], [0, 0]])
    assert run.state.samples.tolist() == [[1300, 300], [300, 200]]
    assert run.state.successes.tolist() == [[1000, 100], [100, 200]]
    assert run.state.plays.tolist() == [1300, 300]  # every play tries the first arm
    assert run.stopped == [True, True]  # 1000/1300 against 100/300
    assert run.arm == [0, 1]


@pytest.mark.parametrize(
    ("policy", "status", "bound"),
    [
        (lb.MaximalSampling(plays=10), "exhausted", None),
        (lb.MaximalSampling(delta=0.1), "confident", 0.1),
        (lb.MaximalSampling(delta=0.1, calibration="plain"), "confident", None),
    ],
)
def test_it_promises_only_what_is_proved(policy, status, bound):
    assert (policy.status_at_stop, policy.error_bound) == (status, bound)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({}, "MaximalSampling takes either delta or plays; got neither"),
        ({"delta": 0.1, "plays": 10}, "MaximalSampling takes either delta or plays; got delta and plays"),
        ({"plays": 0}, "plays=0 is not a whole number of at least 1"),
        ({"plays": 2.5}, r"plays=2\.5 is not a whole number"),
        ({"delta": 1.0}, r"delta=1\.0 is not between 0 and 1; try 0\.05"),
        ({"delta": 0.1, "calibration": "loose"}, "calibration='loose' is unknown; choose 'proved' or 'plain'"),
    ],
)
def test_bad_parameters_are_named_with_the_remedy(parameters, said):
    with pytest.raises(lb.InvalidParameter, match=said):
        lb.MaximalSampling(**parameters)


@pytest.mark.statistical
def test_arms_are_sampled_as_often_as_no_earlier_arm_ends_the_play():
    """E[t_i] = T prod_{j<i} (1 - mu_j), binomially; 5 standard errors, false alarm below 2e-6 for three arms.

    A product that misses its last factor is off by hundreds of standard errors.
    """
    means, plays, trials = np.array([0.1, 0.4, 0.3, 0.2]), 500, 4000
    runs = lb.simulate(means, lb.MaximalSampling(plays=plays), trials=trials, seed=11)
    reached = np.array([1.0, 0.9, 0.9 * 0.6, 0.9 * 0.6 * 0.7])
    error = np.sqrt(plays * reached * (1 - reached) / trials)
    assert (runs.plays == plays).all()
    assert (runs.samples[:, 0] == plays).all()
    assert (np.abs(runs.samples.mean(axis=0) - plays * reached)[1:] < 5 * error[1:]).all()


@pytest.mark.statistical
def test_to_confidence_it_errs_no_more_than_allowed():
    """More errors than the limit have a chance of 1e-6 if delta = 0.02 were all spent; it is far below.

    With a fifth of the radius 14 % of the answers are wrong, and at most 3.7 % pass.
    """
    trials, delta = 2000, 0.02
    runs = lb.simulate([0.30, 0.29, 0.28], lb.MaximalSampling(delta=delta), trials=trials, seed=12)
    assert (runs.status == "confident").all()
    assert (~runs.correct).sum() <= binom.isf(1e-6, trials, delta)
