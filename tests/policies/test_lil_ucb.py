"""LilUCB: the published heuristic's bonus, choice and stopping rule."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest
from scipy.stats import binom

import linkedbandits as lb
from tests.support.by_hand import ByHand


def bonus(samples: int, delta: float) -> float:
    """the published formula with eps = 0, beta = 1/2, d = delta/5, sigma^2 = 1/4; log log T needs T >= 2."""
    return (1 + 1 / 2) * sqrt(2 / 4 * log(log(max(samples, 2)) / (delta / 5)) / samples)


def test_every_arm_is_sampled_once_before_any_is_chosen():
    run = ByHand(lb.LilUCB(delta=0.1), lanes=2, arms=3)
    assert run.needs == [[1, 1, 1]] * 2
    run.answer([0, 1, 0], [0, 0, 0])
    assert run.needs == [[0, 1, 0], [1, 0, 0]]  # the highest bound, the first of equals


def test_bounds_are_empirical_mean_plus_the_published_bonus():
    run = ByHand(lb.LilUCB(delta=0.1), arms=3)
    run.answer([1, 30, 700], samples=[[1, 60, 1000]])
    expected = [1 + bonus(1, 0.1), 0.5 + bonus(60, 0.1), 0.7 + bonus(1000, 0.1)]
    assert run.state.bound[0] == pytest.approx(expected, rel=1e-12)


def test_only_the_arm_that_was_sampled_gets_a_new_bound():
    run = ByHand(lb.LilUCB(delta=0.1), arms=2)
    run.answer([1, 0])
    before = run.state.bound[0, 1]
    run.answer([0, 0], samples=[[1, 0]])
    assert run.state.bound[0].tolist() == [pytest.approx(0.5 + bonus(2, 0.1)), before]


def test_an_arm_seen_often_is_sampled_in_batches_of_a_twentieth():
    run = ByHand(lb.LilUCB(delta=0.1), lanes=3)
    run.answer([9, 0], [90, 0], [900, 0], samples=[[10, 10], [100, 100], [1000, 1000]])
    assert run.needs == [[1, 0], [5, 0], [50, 0]]


@pytest.mark.parametrize(
    ("samples", "stops"),
    [
        ([6, 1], False),  # lambda = 1 + 10/2 = 6: stop at 1 + 6 * 1
        ([7, 1], True),
        ([1, 7], True),
        ([43, 6, 1, 0, 0], True),  # lambda = 1 + 10/5 = 3: 1 + 3 * 7 = 22
        ([21, 6, 1, 0, 0], False),
        ([22, 6, 1, 0, 0], True),
    ],
)
def test_it_stops_when_one_arm_has_most_of_the_samples(samples, stops):
    run = ByHand(lb.LilUCB(delta=0.1), arms=len(samples))
    run.answer([0] * len(samples), samples=[samples])
    assert run.stopped == [stops]
    assert run.arm == [int(np.argmax(samples))]


def test_the_heuristic_promises_nothing():
    assert lb.LilUCB(delta=0.1).error_bound is None
    assert lb.LilUCB(delta=0.1).status_at_stop == "confident"


@pytest.mark.parametrize("delta", [0.0, 1, -1, "a", None])
def test_bad_parameters_are_named_with_the_remedy(delta):
    with pytest.raises(lb.InvalidParameter, match=f"delta={delta!r} is not between 0 and 1; try 0.05"):
        lb.LilUCB(delta)


@pytest.mark.statistical
def test_a_run_ends_just_past_its_stopping_point():
    """No chance involved: the last batch is at most a twentieth of the answer's samples."""
    runs = lb.simulate([0.3, 0.6, 0.4, 0.2], lb.LilUCB(delta=0.1), linkage="single", trials=200, seed=22)
    most = runs.samples.max(axis=1)
    needed = 1 + (1 + 10 / 4) * (runs.plays - most)
    assert np.array_equal(runs.arm, runs.samples.argmax(axis=1))
    assert (most >= needed).all()
    assert (most <= needed * 1.05 + 1).all()


@pytest.mark.statistical
def test_it_errs_no_more_than_allowed():
    """More errors than the limit have a chance of 1e-6 if delta = 0.1 were all spent; there are next to none.

    With a tenth of the bonus 61 % of the answers are wrong.
    """
    trials, delta = 500, 0.1
    runs = lb.simulate([0.3, 0.4, 0.35, 0.3], lb.LilUCB(delta=delta), linkage="single", trials=trials, seed=23)
    assert (~runs.correct).sum() <= binom.isf(1e-6, trials, delta)
