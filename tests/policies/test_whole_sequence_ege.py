"""WholeSequenceEGE: no arm still in is left out of a play, and a round ends when the last has its samples."""

from __future__ import annotations

from math import ceil, log

import numpy as np
import pytest

import linkedbandits as lb
from tests.support.by_hand import ByHand

ROUND_1 = ceil(2 * 8**2 * log(2 * 50 / 0.1))
"""Samples of each arm in round 1 at delta 0.1: eps_1 is 1/8, delta_1 is delta/50."""
ROUND_2 = ceil(2 * 16**2 * log(2 * 400 / 0.1))


def test_all_arms_are_played_until_each_has_the_samples_of_the_round():
    run = ByHand(lb.WholeSequenceEGE(delta=0.1), arms=3)
    assert run.request.order.tolist() == [[0, 1, 2]]
    assert run.request.times.tolist() == [ROUND_1]
    run.answer([400, 100, 0], samples=[[ROUND_1, ROUND_1 - 400, ROUND_1 - 500]])
    assert run.still_in == [[0, 1, 2]]
    assert (run.request.order.tolist(), run.request.times.tolist()) == ([[0, 1, 2]], [500])


def test_then_those_far_below_the_best_are_dropped_and_the_next_round_is_finer():
    run = ByHand(lb.WholeSequenceEGE(delta=0.1), arms=3)
    run.answer([400, 100, 350], samples=[[ROUND_1] * 3])
    assert run.still_in == [[0, 2]]  # 350 of 885 is within 1/8 of 400
    assert run.state.samples.tolist() == [[0, 0, 0]]
    assert (run.request.order.tolist(), run.request.times.tolist()) == ([[0, 2, -1]], [ROUND_2])
    run.answer([1000, 0, 2000], samples=[[ROUND_2, 0, ROUND_2]])
    assert (run.stopped, run.arm) == ([True], [2])


def test_a_gap_ends_it_after_its_rounds():
    run = ByHand(lb.WholeSequenceEGE(delta=0.1, gap=0.5), arms=2)
    run.answer([400, 390], samples=[[ROUND_1] * 2])
    assert (run.stopped, run.arm, run.still_in) == ([True], [0], [[0, 1]])


def test_a_long_round_is_played_in_batches_of_a_twentieth():
    run = ByHand(lb.WholeSequenceEGE(delta=0.1), arms=2)
    run.state.plays, run.state.samples = np.array([100_000]), np.array([[100_000, ROUND_1 - 1]])
    assert run.request.times.tolist() == [5000]


def test_plays_of_the_round_are_those_of_its_first_arm():
    run = ByHand(lb.WholeSequenceEGE(delta=0.1), arms=3)
    run.state.still_in = np.array([[False, True, True]])
    run.answer([0, 5, 5], samples=[[0, 40, 35]])
    assert run.state.plays.tolist() == [40]


def test_nothing_is_proved():
    policy = lb.WholeSequenceEGE(delta=0.1)
    assert (policy.error_bound, policy.status_at_stop) == (None, "confident")
    with pytest.raises(lb.InvalidParameter, match="gap=0"):
        lb.WholeSequenceEGE(delta=0.1, gap=0)
    with pytest.raises(lb.InvalidParameter, match="delta=1"):
        lb.WholeSequenceEGE(delta=1)
