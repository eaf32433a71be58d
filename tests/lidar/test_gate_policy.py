"""Policies that open gates by a model of the return: their parameters, counts and gates; and the contract of all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.lidar import EvenGates, PulseGating, Sensor, ShiftedGates, ThompsonGating
from linkedbandits.lidar.gate_policy import GateState
from linkedbandits.lidar.sensor import LEAST_BACKGROUND
from linkedbandits.linkage import find_linkage
from linkedbandits.live import Run
from linkedbandits.model import Counts, leading_arms
from linkedbandits.policy import open_lanes
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


@pytest.mark.parametrize("kind", [PulseGating, ThompsonGating])
@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"fwhm": 0.0}, "fwhm"),
        ({"background": -0.1}, "background"),
        ({"background": float("nan")}, "background"),
        ({"weakest": 0.0}, "weakest"),
        ({"strongest": -1.0}, "strongest"),
        ({"weakest": 2.0, "strongest": 2.0}, "strongest=2.0 is not above weakest=2.0; raise it"),
    ],
)
def test_parameters_without_a_meaning_are_refused_by_name(kind, wrong, named):
    with pytest.raises(lb.InvalidParameter, match=f"^{named}"):
        kind(**({"fwhm": 3.0, "background": 0.05} | wrong))


def gate_state(gate, cycles=0):
    """The state of a lane for each row of a gate, as it is before anything was counted."""
    opened = np.array(gate, dtype=np.bool_)
    nothing = np.zeros(opened.shape, dtype=np.int64)
    lanes = np.broadcast_to(cycles, opened.shape[0])
    return GateState(**open_lanes(*opened.shape), cycles=lanes, samples=nothing, successes=nothing, gate=opened)


@given(st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=1, max_size=4))
def test_a_gate_is_its_bins_in_order_of_time_and_nothing_else(gates):
    request = PulseGating(3.0, 0.05).request(gate_state(gates))
    opened = [np.flatnonzero(gate).tolist() for gate in gates]
    assert request.order.tolist() == [bins + [-1] * (5 - len(bins)) for bins in opened]


def test_a_gate_is_kept_for_a_share_of_the_cycles_so_far_and_for_one_at_least():
    policy = PulseGating(3.0, 0.05)
    assert policy.growth == 0.1
    request = policy.request(gate_state([[True, False]] * 5, [0, 9, 20, 25, 1000]))
    assert request.times.tolist() == [1, 1, 2, 2, 100]


def test_counts_are_added_up_and_so_are_the_cycles():
    state = gate_state([[True, True, False], [False, False, True]], [10, 20])
    state.add(Counts(np.array([[7, 4, 0], [0, 0, 3]]), np.array([[3, 1, 0], [0, 0, 3]]), plays=np.array([8, 3])))
    state.add(Counts(np.array([[1, 1, 0], [0, 0, 1]]), np.array([[0, 0, 0], [0, 0, 1]]), plays=np.array([1, 1])))
    assert state.samples.tolist() == [[8, 5, 0], [0, 0, 4]]
    assert state.successes.tolist() == [[3, 1, 0], [0, 0, 4]]
    assert state.cycles.tolist() == [19, 24]


def test_without_any_background_the_model_keeps_to_the_least_that_it_can_work_with():
    assert PulseGating(3.0, 0.0).model.background == LEAST_BACKGROUND > 0
    assert PulseGating(3.0, 0.05).model.background == 0.05


def test_the_model_is_prepared_for_the_signals_that_it_is_told_of():
    signals = ThompsonGating(3.0, 0.05, weakest=0.2, strongest=0.9).model.signals
    assert (signals.min(), signals.max()) == pytest.approx((0.2, 0.9))
