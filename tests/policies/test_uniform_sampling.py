"""UniformSampling against its box: SuffixSample(S, t), then the highest empirical mean."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import linkedbandits as lb
from linkedbandits.policies.uniform_sampling import suffix_sample
from linkedbandits.stopping.lil import LilRule
from tests.support.by_hand import ByHand, chance_second_wins


def test_suffix_sample_asks_the_same_of_every_arm_of_its_set():
    arms = np.array([[True, True, True], [False, True, True]])
    assert suffix_sample(arms, np.array([5, 7])).samples.tolist() == [[5, 5, 5], [0, 7, 7]]


def test_it_takes_its_samples_once_and_names_the_first_of_the_highest():
    run = ByHand(lb.UniformSampling(samples=30), lanes=2, arms=3)
    assert run.needs == [[30, 30, 30]] * 2
    run.answer([3, 9, 8], [3, 8, 8])
    assert run.stopped == [True, True]
    assert run.arm == [1, 1]


def test_to_confidence_it_asks_for_what_is_missing_to_the_next_look_lane_by_lane():
    run = ByHand(lb.UniformSampling(delta=0.1), lanes=3)
    run.state.samples = np.array([0, 100, 1000])
    first = LilRule(0.1).first_look(2)
    assert run.needs == [[first] * 2, [5, 5], [50, 50]]


def test_to_confidence_it_adds_up_its_samples_and_stops_by_the_lil_rule():
    run = ByHand(lb.UniformSampling(delta=0.1), lanes=2)
    first = LilRule(0.1).first_look(2)
    run.answer([first, 0], [first // 2, 0])  # 1 against 0 is the only outcome that ends it at the first look
    assert run.stopped == [True, False]
    assert run.arm[0] == 0
    run.answer([0, 0], [0, 1])
    assert run.state.samples.tolist() == [int(np.ceil(1.05 * first))] * 2
    assert run.state.successes.tolist() == [[first, 0], [first // 2, 1]]


@pytest.mark.parametrize(("calibration", "stops"), [("proved", False), ("plain", True)])
def test_the_plain_calibration_stops_earlier(calibration, stops):
    run = ByHand(lb.UniformSampling(delta=0.1, calibration=calibration))
    run.answer([140, 60], samples=[[200, 200]])  # radii at 200 samples: 0.21 proved, 0.16 plain
    assert run.stopped == [stops]


@pytest.mark.parametrize(
    ("policy", "status", "bound"),
    [
        (lb.UniformSampling(samples=10), "exhausted", None),
        (lb.UniformSampling(delta=0.1), "confident", 0.1),
        (lb.UniformSampling(delta=0.1, calibration="plain"), "confident", None),
    ],
)
def test_it_promises_only_what_is_proved(policy, status, bound):
    assert (policy.status_at_stop, policy.error_bound) == (status, bound)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({}, "UniformSampling takes either delta or samples; got neither"),
        ({"delta": 0.1, "samples": 10}, "UniformSampling takes either delta or samples; got delta and samples"),
        ({"samples": -3}, "samples=-3 is not a whole number of at least 1"),
        ({"samples": True}, "samples=True is not a whole number"),
        ({"delta": 0.0}, r"delta=0\.0 is not between 0 and 1; try 0\.05"),
        ({"delta": 0.1, "calibration": "loose"}, "calibration='loose' is unknown; choose 'proved' or 'plain'"),
    ],
)
def test_bad_parameters_are_named_with_the_remedy(parameters, said):
    with pytest.raises(lb.InvalidParameter, match=said):
        lb.UniformSampling(**parameters)


@pytest.mark.statistical
@pytest.mark.parametrize("linkage", ["ordered", "single"])
def test_plays_are_those_of_suffix_sample(linkage):
    """E[T] = t (1 + mu_1 + ... + mu_{n-1}), with variance t sum mu (1 - mu); 5 standard errors, false alarm 6e-7.

    Counting the last arm's successes too would be off by 48 of them.
    """
    means, samples, trials = np.array([0.1, 0.4, 0.25, 0.02]), 300, 10_000
    runs = lb.simulate(means, lb.UniformSampling(samples=samples), linkage=linkage, trials=trials, seed=13)
    assert (runs.samples == samples).all()
    if linkage == "single":
        assert (runs.plays == 4 * samples).all()
    else:
        before = means[:-1]
        error = np.sqrt(samples * (before * (1 - before)).sum() / trials)
        assert abs(runs.plays.mean() - samples * (1 + before.sum())) < 5 * error


@pytest.mark.statistical
def test_the_better_arm_wins_as_often_as_two_binomials_say():
    """5 standard errors, false alarm 6e-7; giving ties to the second arm would be off by 20 of them."""
    trials = 20_000
    wrong = chance_second_wins(50, 0.5, 0.4)
    runs = lb.simulate([0.5, 0.4], lb.UniformSampling(samples=50), trials=trials, seed=14)
    assert abs(runs.error_rate() - wrong) < 5 * np.sqrt(wrong * (1 - wrong) / trials)


@pytest.mark.statistical
def test_to_confidence_it_errs_no_more_than_allowed():
    """More errors than the limit have a chance of 1e-6 if delta = 0.02 were all spent; it is far below.

    With a fifth of the radius 15 % of the answers are wrong, and at most 3.7 % pass.
    """
    trials, delta = 2000, 0.02
    runs = lb.simulate([0.30, 0.29, 0.28], lb.UniformSampling(delta=delta), trials=trials, seed=15)
    assert (runs.status == "confident").all()
    assert (~runs.correct).sum() <= binom.isf(1e-6, trials, delta)
