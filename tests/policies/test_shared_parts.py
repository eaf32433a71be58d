"""The parts that many policies share: guarantees, effort or confidence, batches, tolerance in places."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import linkedbandits as lb
from linkedbandits.linkage import LINKAGES
from linkedbandits.policy import within_reach_of_all

PROVED = [lb.LinkedElimination(0.02), lb.LinkedLead(0.02, gap=0.1), lb.LinkedDuels(0.02)]


@pytest.mark.parametrize("policy", PROVED, ids=lambda policy: policy.name)
def test_a_policy_with_a_guarantee_stops_confident_with_delta_as_its_bound(policy):
    runs = lb.simulate([0.9, 0.3, 0.2], policy, linkage="free", trials=2, seed=1)
    assert policy.error_bound == 0.02
    assert runs.confident.all()


def test_a_policy_without_a_guarantee_is_never_confident():
    runs = lb.simulate([0.0, 1.0, 0.0], lb.LinkedHalving(plays=60), trials=5, max_plays=200)
    assert runs.error_bound is None
    assert set(runs.status.tolist()) == {"exhausted"}


@given(st.floats(1e-9, 1, exclude_max=True), st.integers(1, 2**62), st.sampled_from(["proved", "plain"]))
def test_only_the_proved_calibration_of_a_given_confidence_has_an_error_bound(delta, plays, calibration):
    sure = lb.MaximalSampling(delta=delta, calibration=calibration)
    assert (sure.status_at_stop, sure.error_bound) == ("confident", delta if calibration == "proved" else None)
    spent = lb.MaximalSampling(plays=plays, calibration=calibration)
    assert (spent.status_at_stop, spent.error_bound) == ("exhausted", None)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({}, "UniformSampling takes either delta or samples; got neither"),
        ({"delta": 0.1, "samples": 3}, "UniformSampling takes either delta or samples; got delta and samples"),
        ({"samples": 0}, "samples=0 is not a whole number of at least 1"),
        ({"delta": 1.0}, "delta=1.0 is not between 0 and 1"),
        ({"delta": 0.1, "calibration": "loose"}, "calibration='loose' is unknown"),
        ({"samples": 3, "calibration": "loose"}, "calibration='loose' is unknown"),
    ],
)
def test_effort_and_confidence_exclude_each_other(parameters, said):
    with pytest.raises(lb.InvalidParameter, match=f"^{said}"):
        lb.UniformSampling(**parameters)


def test_parallel_replaces_the_batch_and_nothing_else():
    policy = lb.LilUCB(0.1, parallel=4)
    assert policy.fitted_to(LINKAGES["ordered"], 9) == lb.LilUCB(0.1, parallel=9)
    assert policy.fitted_to(LINKAGES["free"], None) is policy


@given(still_in=arrays(np.bool_, (3, 9)), places=st.integers(1, 4))
def test_an_arm_is_within_reach_if_no_arm_left_is_farther(still_in, places):
    found = within_reach_of_all(still_in, places)
    arms = np.arange(9)
    for lane in np.flatnonzero(still_in.any(axis=1)):
        farthest = np.abs(arms[:, np.newaxis] - arms[still_in[lane]]).max(axis=1)
        assert (found[lane] == (farthest <= places)).all()
