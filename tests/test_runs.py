"""The figures people ask of a set of runs, computed by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.intervals import share_interval


@pytest.fixture
def runs():
    """Ten trials of three arms, two of which are equally good; one trial is wrong and two ran out."""
    return lb.Runs(
        means=np.array([0.5, 0.2, 0.5]),
        top=np.array([[0, 2, 0, 1, 0, 2, 0, 0, 2, 0]]).T,
        plays=np.arange(10, 110, 10),
        samples=np.tile([3, 2, 1], (10, 1)),
        confident=np.array([True] * 8 + [False] * 2),
    )


def test_status_tells_confidence_from_an_exhausted_budget(runs):
    assert runs.status.tolist() == ["confident"] * 8 + ["budget"] * 2


def test_any_of_several_best_arms_is_right(runs):
    assert np.flatnonzero(~runs.correct).tolist() == [3]
    assert runs.error_rate() == pytest.approx(0.1)


def test_so_is_an_arm_within_so_many_places_of_one():
    means = np.array([0.1, 0.2, 0.3, 0.1, 0.1, 0.3])
    top = np.arange(6)[:, np.newaxis]
    far = [
        np.flatnonzero(~lb.Runs(means, top, top, top, top > 0, neighbours=places).correct).tolist() for places in (0, 1)
    ]
    assert far == [[0, 1, 3, 4], [0]]


def test_of_an_order_the_first_arm_alone_is_judged():
    means, top = np.array([0.5, 0.4, 0.1]), np.array([[0, 2], [0, 1], [1, 0]])
    judged = [lb.Runs(means, top, top, top, top[:, 0] > 0, in_order=ordered).correct.tolist() for ordered in (0, 1)]
    assert judged == [[False, True, True], [True, True, False]]


def test_the_summary_has_the_figures_of_the_runs(runs):
    summary = runs.summary()
    assert summary.trials == 10
    assert summary.plays_mean == 55
    assert summary.plays_standard_error == pytest.approx(np.sqrt(825 / 10))
    assert summary.plays_median == 55
    assert summary.plays_90 == pytest.approx(91)
    assert summary.samples_mean == 6
    assert summary.error_rate == pytest.approx(0.1)
    assert summary.error_interval == share_interval(1, 10)
    assert summary.confident == 0.8


def test_the_summary_becomes_plain_json(runs):
    data = json.loads(json.dumps(runs.summary().to_dict()))
    assert data["plays_mean"] == 55
    assert data["error_interval"] == list(share_interval(1, 10))


def test_plays_near_the_largest_count_do_not_overflow():
    many = np.full(100, 2**62)
    runs = lb.Runs(np.array([0.1, 0.1]), np.zeros((100, 1), int), many, np.tile(many[:, None], 2), many > 0)
    summary = runs.summary()
    assert summary.plays_mean == 2.0**62
    assert summary.samples_mean == 2.0**63


def test_the_k_best_are_right_as_a_set_in_any_order():
    means = np.array([0.9, 0.5, 0.5, 0.1])
    top = np.array([[0, 1], [2, 0], [1, 2], [0, 3]])
    runs = lb.Runs(means, top, np.ones(4, int), np.ones((4, 4), int), np.ones(4, bool))
    assert runs.correct.tolist() == [True, True, True, False]
    assert runs.arm.tolist() == [0, 2, 1, 0]


def test_within_the_tolerance_is_right():
    means = np.array([0.5, 0.4, 0.39])
    runs = lb.Runs(means, np.array([[0], [1], [2]]), np.ones(3, int), np.ones((3, 3), int), np.ones(3, bool), 0.1)
    assert runs.correct.tolist() == [True, True, False]


def test_with_costs_the_arm_with_most_successes_per_cost_is_right():
    means, top = np.array([0.5, 0.9, 0.3]), np.arange(3)[:, np.newaxis]
    right = [
        lb.Runs(means, top, top, top, top[:, 0] > 0, costs=costs).correct.tolist()
        for costs in ((), (1.0, 2.0, 1.0), (5.0, 9.0, 1.0))
    ]
    assert right == [[False, True, False], [True, False, False], [False, False, True]]


def test_of_arms_that_tie_per_cost_but_for_rounding_each_is_right():
    means, costs = np.array([0.3, 0.1, 0.2999]), (3.0, 1.0, 3.0)
    assert means[0] / costs[0] != means[1] / costs[1]
    top = np.arange(3)[:, np.newaxis]
    assert lb.Runs(means, top, top, top, top[:, 0] > 0, costs=costs).correct.tolist() == [True, True, False]
