"""Which bound a policy is measured by."""

from __future__ import annotations

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.assumptions import ToldDifference
from linkedbandits.bounds import for_policy
from linkedbandits.bounds.for_policy import MOST_ARMS, BoundAsTold, lower_as_told
from linkedbandits.linkage import Single
from tests.support.every_policy import EVERY_POLICY, of_as_many_arms

MEANS = [0.5, 0.2, 0.1, 0.15]
GAP, ODDS = ToldDifference(gap=0.3), ToldDifference(odds_ratio=2.0)


@pytest.mark.parametrize(
    ("policy", "told", "difference"),
    [
        (lb.LinkedElimination(0.1), None, {}),
        (lb.UniformSampling(0.1), None, {}),
        (lb.LinkedLead(0.1, odds_ratio=2.0), ODDS, {"odds_ratio": 2.0}),
        (lb.LinkedLead(0.1, lift=1.0), ODDS, {"odds_ratio": 2.0}),
        (lb.LinkedLead(0.1, gap=0.3), GAP, {"gap": 0.3}),
        (lb.LinkedEGE(0.1, gap=0.3), GAP, {"gap": 0.3}),
        (lb.LinkedEGE(0.1), None, {}),
        (lb.WholeSequenceEGE(0.1, gap=0.3), GAP, {"gap": 0.3}),
        (lb.LinkedDuels(0.1, gap=0.3), GAP, {"gap": 0.3}),
        (lb.LinkedDuels(0.1), None, {}),
        (lb.LinkedElimination(0.1, k=2), None, {"k": 2}),
        (lb.LinkedElimination(0.1, costs=[1, 2, 3, 4]), None, {"costs": [1, 2, 3, 4]}),
    ],
    ids=repr,
)
@pytest.mark.parametrize("linkage", ["ordered", "single"])
def test_it_is_the_bound_for_what_the_policy_looks_for_and_was_told(policy, told, difference, linkage):
    found = lower_as_told(policy, MEANS, linkage)
    assert found == BoundAsTold(lb.bounds.lower(MEANS, 0.1, linkage, **difference), told)
    assert found.ratio(found.plays * 3) == pytest.approx(3)


@pytest.mark.parametrize(
    ("policy", "means", "reason"),
    [
        (lb.LinkedHalving(plays=60), MEANS, "it is not told how often it may be wrong"),
        (lb.LinkedElimination(0.6), MEANS, "with delta 0.6 a guess is good enough"),
        (lb.LinkedElimination(0.5), MEANS, "with delta 0.5 a guess is good enough"),
        (lb.LinkedElimination(0.1, epsilon=0.1), MEANS, "less than the best is enough for it"),
        (lb.LinkedElimination(0.1, neighbours=1), MEANS, "less than the best is enough for it"),
        (lb.LinkedElimination(0.1, k=4), MEANS, "4 of 4 arms leave none out"),
        (lb.LinkedElimination(0.1), [0.4, 0.4], "arms tie, and no number of plays tells them apart"),
        (
            lb.LinkedLead(0.1, gap=0.4),
            MEANS,
            "the best arm is ahead by 0.3, less than gap=0.4, which it is told",
        ),
        (
            lb.LinkedLead(0.1, odds_ratio=5.0),
            MEANS,
            "the odds of the best arm are 4 times those of the second, less than odds_ratio=5, which it is told",
        ),
        (lb.LinkedLead(0.1, gap=0.4), [0.4, 0.4], "the best arm is ahead by 0, less than gap=0.4, which it is told"),
    ],
    ids=repr,
)
def test_where_there_is_none_it_is_said_why(policy, means, reason):
    found = lower_as_told(policy, means)
    assert (found.plays, found.reason, found.ratio(100.0)) == (None, reason, None)


def test_many_arms_have_the_bound_only_where_it_is_soon_found():
    means = np.r_[0.5, np.full(MOST_ARMS, 0.2)]
    reason = f"for more than {MOST_ARMS} arms it is not computed"
    for policy in (
        lb.LinkedLead(0.1, gap=0.3),
        lb.LinkedElimination(0.1, k=2),
        lb.LinkedElimination(0.1, costs=[1.0] * means.size),
    ):
        assert lower_as_told(policy, means).reason == reason
    assert lower_as_told(lb.LinkedElimination(0.1), means).plays == lb.bounds.lower(means, 0.1)


def test_it_is_computed_once_for_an_instance_and_what_was_told(monkeypatch):
    asked = []
    computed = for_policy.characteristic_time

    def counted(*args, **kwargs):
        asked.append(kwargs["gap"])
        return computed(*args, **kwargs)

    monkeypatch.setattr(for_policy, "characteristic_time", counted)
    means = [0.51, 0.2, 0.1]
    for delta in (0.1, 0.01):
        for policy in (lb.LinkedLead(delta, gap=0.3), lb.LinkedEGE(delta, gap=0.3), lb.LinkedLead(delta, gap=0.2)):
            lower_as_told(policy, means)
    assert asked == [0.3, 0.2]


def test_a_linkage_of_ones_own_is_not_taken_for_another_of_its_name():
    class OneOfTwo(Single):
        name = "ordered"
        __hash__ = None

    bound = lower_as_told(lb.LinkedElimination(0.1), MEANS, OneOfTwo()).plays
    assert bound == pytest.approx(lb.bounds.lower(MEANS, 0.1, "single"))


def test_a_programme_that_is_not_solved_is_no_bound(monkeypatch):
    def unsolved(*args, **kwargs):
        raise lb.LinkedBanditError("the linear programme was not solved; try other means")

    monkeypatch.setattr(for_policy, "characteristic_time", unsolved)
    found = lower_as_told(lb.LinkedLead(0.1, gap=0.3), [0.52, 0.2, 0.1])
    assert (found.plays, found.reason) == (None, "the linear programme was not solved; try other means")


@pytest.mark.parametrize("policy", EVERY_POLICY, ids=repr)
def test_every_policy_has_a_bound_or_a_reason(policy):
    found = lower_as_told(policy, of_as_many_arms([0.6, 0.3, 0.2, 0.1], policy), "single")
    assert (found.plays is None) == (found.reason is not None)
    assert found.told == policy.told_difference
