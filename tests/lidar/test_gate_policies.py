"""The policies of the sensor keep the contract of all policies."""

from __future__ import annotations

import pytest

import linkedbandits as lb
from linkedbandits.lidar import EvenGates, PulseGating, ShiftedGates, ThompsonGating
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
