"""The policies of the sensor keep the contract of all policies."""

from __future__ import annotations

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.lidar import EvenGates, PulseGating, Sensor, ShiftedGates, ThompsonGating
from linkedbandits.linkage import find_linkage
from linkedbandits.live import Run
from linkedbandits.model import leading_arms
from linkedbandits.simulation import simulate_lanes
from linkedbandits.testing import check_policy

POLICIES = [
    PulseGating(1.0, 0.1, delta=0.1),
    PulseGating(3.0, 0.1),
    ThompsonGating(2.0, 0.1),
    ShiftedGates(plays=60, shifts=3),
    EvenGates(),
]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_every_policy_of_the_sensor_keeps_the_contract(policy):
    check_policy(policy, max_plays=300)


@pytest.mark.parametrize("kind", [PulseGating, ThompsonGating])
def test_a_budget_ends_with_the_bin_that_the_policy_answers_with(kind):
    """Gates leave some bins with hardly a sample, and one of those often has the highest mean."""
    sensor = Sensor(bins=100, ambient=5.0)
    depth = np.random.default_rng(1).uniform(10, 90, 60)
    policy = kind(fwhm=sensor.fwhm, background=sensor.background)
    chances = sensor.chances(depth, np.full(60, 0.5))
    outcomes = simulate_lanes(chances, policy, seed=1, max_plays=300)
    assert (np.abs(outcomes.top[:, 0] + 0.5 - depth) <= 1.5).mean() > 0.95
    leading = leading_arms(outcomes.samples, outcomes.successes, np.ones_like(chances, dtype=bool), 1)
    assert (np.abs(leading[:, 0] + 0.5 - depth) <= 1.5).mean() < 0.6


@pytest.mark.parametrize(("policy", "named"), [(PulseGating(fwhm=3.0, background=0.05), 7), (EvenGates(), 3)])
def test_a_live_run_recommends_it_too(policy, named):
    """Bin 3 has the only success, and the policy says 7."""
    run = Run(policy, find_linkage("ordered"), 20, seed=1)
    content = run.content()
    content["samples"][3] = content["successes"][3] = 1
    content["state"]["arm"]["values"] = [7]
    run.fill(content, run.answers)
    assert run.recommend().top == (named,)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"fwhm": 0.0}, "fwhm"),
        ({"background": -0.1}, "background"),
        ({"background": float("nan")}, "background"),
        ({"weakest": 0.0}, "weakest"),
        ({"weakest": 2.0, "strongest": 2.0}, "strongest"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"delta": 1.0}, "delta"),
    ],
)
def test_parameters_without_a_meaning_are_refused_by_name(wrong, named):
    with pytest.raises(lb.InvalidParameter, match=named):
        PulseGating(**({"fwhm": 3.0, "background": 0.05} | wrong))
