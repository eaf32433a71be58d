"""SuffixUCB: the suffix from the highest upper confidence bound on."""

from __future__ import annotations

import pytest
from scipy.stats import binom

import linkedbandits as lb
from tests.support.by_hand import ByHand


def test_an_arm_not_yet_seen_goes_first():
    run = ByHand(lb.SuffixUCB(delta=0.1), lanes=2, arms=3)
    assert run.request.order.tolist() == [[0, 1, 2]] * 2
    assert run.request.times.tolist() == [1, 1]
    run.answer([1, 0, 0], [0, 1, 0], samples=[[1, 0, 0], [1, 1, 0]])
    assert run.request.order.tolist() == [[1, 2, -1], [2, -1, -1]]


def test_the_suffix_starts_at_the_highest_mean_plus_radius():
    run = ByHand(lb.SuffixUCB(delta=0.1), lanes=3, arms=3)
    run.answer([50, 90, 50], [90, 50, 50], [500, 500, 4], samples=[[100] * 3, [100] * 3, [1000, 1000, 10]])
    # Equal counts: the highest mean. Of nearly equal means, the one with the fewest samples.
    assert run.request.order.tolist() == [[1, 2, -1], [0, 1, 2], [2, -1, -1]]


def test_a_first_arm_seen_often_is_played_in_batches_of_a_twentieth():
    run = ByHand(lb.SuffixUCB(delta=0.1), lanes=2)
    run.answer([90, 0], [0, 900], samples=[[100, 900], [200, 1000]])
    assert run.request.order[:, 0].tolist() == [0, 1]
    assert run.request.times.tolist() == [5, 50]


def test_it_adds_up_its_counts_and_stops_by_the_lil_rule():
    run = ByHand(lb.SuffixUCB(delta=0.1), lanes=2)
    run.answer([100, 300], [250, 300], samples=[[500, 500], [500, 500]])
    assert run.stopped == [True, False]
    assert run.arm[0] == 1
    run.answer([0, 0], [0, 400], samples=[[0, 0], [500, 500]])
    assert run.state.samples.tolist() == [[500, 500], [1000, 1000]]
    assert run.state.successes.tolist() == [[100, 300], [250, 700]]
    assert (run.stopped, run.arm) == ([True, True], [1, 1])


def test_it_promises_only_what_is_proved():
    assert lb.SuffixUCB(delta=0.1).error_bound == 0.1
    assert lb.SuffixUCB(delta=0.1, calibration="plain").error_bound is None
    assert lb.SuffixUCB(delta=0.1).status_at_stop == "confident"


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"delta": 1}, r"delta=1 is not between 0 and 1; try 0\.05"),
        ({"delta": 0.1, "calibration": "loose"}, "calibration='loose' is unknown; choose 'proved' or 'plain'"),
    ],
)
def test_bad_parameters_are_named_with_the_remedy(parameters, said):
    with pytest.raises(lb.InvalidParameter, match=said):
        lb.SuffixUCB(**parameters)


def test_one_arm_a_play_is_refused_with_the_linkages_that_work():
    with pytest.raises(lb.InvalidParameter, match=r"SuffixUCB asks for suffixes.*use linkage 'ordered', 'free'"):
        lb.simulate([0.1, 0.2], lb.SuffixUCB(delta=0.1), linkage="single")


@pytest.mark.statistical
def test_it_errs_no_more_than_allowed():
    """More errors than the limit have a chance of 1e-6 if delta = 0.02 were all spent; it is far below.

    With a fifth of the radius 22 % of the answers are wrong, and at most 4.4 % pass.
    """
    trials, delta = 1000, 0.02
    runs = lb.simulate([0.30, 0.31, 0.30], lb.SuffixUCB(delta=delta), trials=trials, seed=24)
    assert (runs.status == "confident").all()
    assert (~runs.correct).sum() <= binom.isf(1e-6, trials, delta)


@pytest.mark.statistical
def test_whatever_follows_the_most_promising_arm_is_sampled_along():
    """An arm that almost never succeeds, after the best one, is reached by nearly every play that starts there."""
    runs = lb.simulate([0.1, 0.5, 0.01], lb.SuffixUCB(delta=0.1), trials=100, seed=25)
    reached = runs.samples.mean(axis=0) / runs.plays.mean()
    assert reached[1] > 0.9
    assert reached[2] == pytest.approx(0.5, abs=0.05)  # half of them end at arm 1
    assert reached[0] < 0.1
