"""MedianElimination: stage sizes, the better half, and its guarantee."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import linkedbandits as lb
from linkedbandits.policies.median_elimination import better_half
from tests.support.by_hand import ByHand, chance_second_wins

# eps = 0.5, delta = 0.1: stage 1 has eps_1 = 1/8, delta_1 = 1/20, and 256 ln 60 = 1048.2 samples;
# stage 2 has eps_2 = 3/32, delta_2 = 1/40, and (4096/9) ln 120 = 2178.8;
# stage 3 has eps_3 = 9/128, delta_3 = 1/80, and (65536/81) ln 240 = 4434.3.
STAGES = [1049, 2179, 4435]


def test_stages_take_their_published_number_of_samples_of_the_arms_that_are_left():
    run = ByHand(lb.MedianElimination(epsilon=0.5, delta=0.1), arms=5)
    assert run.needs == [[STAGES[0]] * 5]
    run.answer([10, 20, 30, 40, 50])
    assert run.still_in == [[2, 3, 4]]
    assert run.needs == [[0, 0] + [STAGES[1]] * 3]
    run.answer([0, 0, 90, 70, 80])
    assert run.needs == [[0, 0, STAGES[2], 0, STAGES[2]]]
    assert run.stopped == [False]
    run.answer([0, 0, 1, 0, 2])
    assert run.stopped == [True]
    assert run.arm == [4]


def test_every_stage_forgets_the_samples_before_it():
    run = ByHand(lb.MedianElimination(epsilon=0.5, delta=0.1), arms=3)
    run.answer([900, 600, 0])
    run.answer([1, 2, 0])
    assert run.arm == [1]


def test_lanes_at_different_stages_ask_for_their_own():
    run = ByHand(lb.MedianElimination(epsilon=0.5, delta=0.1), lanes=2, arms=4)
    run.state.still_in[1] = [False, True, True, False]
    run.state.stage = np.array([1, 2])
    assert run.needs == [[STAGES[0]] * 4, [0, STAGES[1], STAGES[1], 0]]
    run.answer([9, 0, 0, 8], [0, 3, 4, 0])
    assert run.still_in == [[0, 3], [2]]
    assert run.stopped == [False, True]
    assert run.arm[1] == 2


@pytest.mark.parametrize(
    ("candidates", "means", "kept"),
    [
        ([1, 1, 1, 1], [0.1, 0.4, 0.3, 0.2], [1, 2]),
        ([1, 1, 1], [0.1, 0.4, 0.3], [1, 2]),  # half of three is two
        ([1, 1], [0.1, 0.4], [1]),
        ([1, 1, 1, 1], [0.3, 0.3, 0.3, 0.3], [0, 1]),  # earlier arms win ties
        ([1, 1, 1, 1], [0.1, 0.3, 0.2, 0.2], [1, 2]),
        ([0, 1, 0, 1], [0.9, 0.0, 0.9, 0.0], [1]),  # who is out cannot come back, not even against 0
        ([0, 0, 1, 0], [0.9, 0.9, 0.1, 0.9], [2]),
    ],
)
def test_the_better_half_is_rounded_up_and_taken_from_the_candidates(candidates, means, kept):
    half = better_half(np.array([candidates], dtype=np.bool_), np.array([means]))
    assert np.flatnonzero(half[0]).tolist() == kept


def test_it_promises_an_arm_within_epsilon():
    policy = lb.MedianElimination(epsilon=0.2, delta=0.1)
    assert (policy.status_at_stop, policy.error_bound) == ("confident", 0.1)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"epsilon": 0, "delta": 0.1}, r"epsilon=0 is not in \(0, 1\]; give a number that is"),
        ({"epsilon": 1.5, "delta": 0.1}, r"epsilon=1\.5 is not in \(0, 1\]"),
        ({"epsilon": float("nan"), "delta": 0.1}, r"epsilon=nan is not in \(0, 1\]"),
        ({"epsilon": 0.1, "delta": 2}, r"delta=2 is not between 0 and 1; try 0\.05"),
    ],
)
def test_bad_parameters_are_named_with_the_remedy(parameters, said):
    with pytest.raises(lb.InvalidParameter, match=said):
        lb.MedianElimination(**parameters)


@pytest.mark.statistical
def test_of_two_arms_the_better_wins_as_often_as_its_one_stage_decides():
    """5 standard errors, false alarm 6e-7; a stage with a quarter of the samples would be off by 49 of them."""
    trials = 20_000
    wrong = chance_second_wins(STAGES[0], 0.50, 0.48)
    runs = lb.simulate([0.50, 0.48], lb.MedianElimination(epsilon=0.5, delta=0.1), trials=trials, seed=16)
    assert (runs.samples == STAGES[0]).all()
    assert abs((runs.arm != 0).mean() - wrong) < 5 * np.sqrt(wrong * (1 - wrong) / trials)


@pytest.mark.statistical
def test_it_seldom_misses_by_more_than_epsilon():
    """More misses than the limit have a chance of 1e-6 if delta were all spent; it is far below.

    Keeping the worse half, or an arm that is out, misses nearly always.
    """
    means, trials, delta, epsilon = np.linspace(0.1, 0.8, 8), 1000, 0.1, 0.15
    runs = lb.simulate(means, lb.MedianElimination(epsilon=epsilon, delta=delta), trials=trials, seed=17)
    missed = means[runs.arm] < means.max() - epsilon
    assert missed.sum() <= binom.isf(1e-6, trials, delta)
