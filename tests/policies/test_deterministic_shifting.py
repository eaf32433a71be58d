"""DeterministicShifting: every arm is the first of a play in turn, and those behind many others starve."""

from __future__ import annotations

import numpy as np
import pytest

import linkedbandits as lb
from tests.support.by_hand import ByHand


def test_each_play_begins_one_arm_later_and_the_next_sweep_at_the_first():
    run = ByHand(lb.DeterministicShifting(delta=0.1), arms=3)
    orders = []
    for _ in range(4):
        orders.append(run.request.order.tolist()[0])
        first = run.request.order[0, 0]
        run.answer([0, 0, 0], samples=[[int(arm >= first) for arm in range(3)]])
    assert orders == [[0, 1, 2], [1, 2, -1], [2, -1, -1], [0, 1, 2]]
    assert run.state.sweeps.tolist() == [1]
    assert run.state.samples.tolist() == [[2, 3, 4]]


def test_plays_that_begin_at_the_same_arm_come_in_batches_of_a_twentieth():
    run = ByHand(lb.DeterministicShifting(delta=0.1), lanes=2)
    run.state.sweeps = np.array([40, 100])
    assert run.request.times.tolist() == [2, 5]
    assert ByHand(lb.DeterministicShifting(delta=0.1, parallel=7)).request.times.tolist() == [13]  # nearly twice that


@pytest.mark.parametrize("plays", [1, 2, 7, 200])
def test_given_plays_it_takes_exactly_these(plays):
    runs = lb.simulate([0.3, 0.6, 0.2], lb.DeterministicShifting(plays=plays), trials=20, seed=1)
    assert (runs.plays == plays).all()
    assert not runs.confident.any()


def test_told_delta_it_stops_by_the_lil_rule():
    run = ByHand(lb.DeterministicShifting(delta=0.1), lanes=2)
    run.answer([100, 300], [250, 300], samples=[[500, 500], [500, 500]])
    assert run.stopped == [True, False]
    assert run.arm[0] == 1


def test_it_promises_only_what_is_proved():
    assert lb.DeterministicShifting(delta=0.1).error_bound == 0.1
    assert lb.DeterministicShifting(delta=0.1, calibration="plain").error_bound is None
    assert lb.DeterministicShifting(plays=9).error_bound is None
    with pytest.raises(lb.InvalidParameter, match="either delta or plays"):
        lb.DeterministicShifting()


@pytest.mark.statistical
def test_an_arm_behind_many_others_is_starved_as_the_paper_s_source_says():
    """The last of ten is tried in the share (1/10) sum over k of 0.2^k of the plays, 1/8; a standard error is 0.0007.

    Five of these: a false alarm has the chance 6e-7. Uniform sampling has the same of every arm.
    """
    means = np.append(np.full(9, 0.8), 0.9)
    runs = lb.simulate(means, lb.DeterministicShifting(plays=2000), trials=100, seed=2)
    expected = (0.2 ** np.arange(10)).sum() / 10
    assert abs(runs.samples[:, -1].mean() / 2000 - expected) < 0.0035
