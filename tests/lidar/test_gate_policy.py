"""Policies that open gates by a model of the return: their parameters, counts and gates; and the contract of all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.lidar import EvenGates, PulseGating, Sensor, ShiftedGates, ThompsonGating
from linkedbandits.lidar.expected import Expected
from linkedbandits.lidar.gate_policy import GateState
from linkedbandits.lidar.sensor import LEAST_BACKGROUND
from linkedbandits.linkage import find_linkage
from linkedbandits.live import Run
from linkedbandits.model import Counts, leading_arms
from linkedbandits.simulation import simulate_lanes
from linkedbandits.testing import check_policy

POLICIES = [
    PulseGating(1.0, 0.1, delta=0.1),
    PulseGating(1.0, 0.1, likely=0.9, told=True),
    PulseGating(3.0, 0.1),
    ThompsonGating(2.0, 0.1),
    ShiftedGates(plays=60, shifts=3),
    EvenGates(),
]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_every_policy_of_the_sensor_keeps_the_contract(policy):
    check_policy(policy, max_plays=150)


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
    run.fill_from(content, run.answers)
    assert run.decide().top == (named,)


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
    lanes = np.broadcast_to(cycles, opened.shape[0])
    known = PulseGating(3.0, 0.05).nothing_known(*opened.shape)
    return GateState(**(known | {"cycles": lanes, "gate": opened}))


@given(st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=1, max_size=4))
def test_a_gate_is_its_bins_in_order_of_time_and_nothing_else(gates):
    request = PulseGating(3.0, 0.05).request(gate_state(gates))
    opened = [np.flatnonzero(gate).tolist() for gate in gates]
    assert request.order.tolist() == [bins + [-1] * (5 - len(bins)) for bins in opened]


def test_a_gate_is_kept_for_a_share_of_the_cycles_so_far_and_for_one_at_least():
    policy = PulseGating(3.0, 0.05)
    assert policy.growth == 0.12
    request = policy.request(gate_state([[True, False]] * 5, [0, 8, 20, 25, 1000]))
    assert request.times.tolist() == [1, 1, 2, 3, 120]


def test_counts_are_added_up_and_so_are_the_cycles():
    state = gate_state([[True, True, False], [False, False, True]], [10, 20])
    state.add(Counts(np.array([[7, 4, 0], [0, 0, 3]]), np.array([[3, 1, 0], [0, 0, 3]])), np.array([8, 3]))
    state.add(Counts(np.array([[1, 1, 0], [0, 0, 1]]), np.array([[0, 0, 0], [0, 0, 1]])), np.array([1, 1]))
    assert state.samples.tolist() == [[8, 5, 0], [0, 0, 4]]
    assert state.successes.tolist() == [[3, 1, 0], [0, 0, 4]]
    assert state.cycles.tolist() == [19, 24]


def test_without_any_background_the_model_keeps_to_the_least_that_it_can_work_with():
    assert PulseGating(3.0, 0.0).model.expected_background == pytest.approx(LEAST_BACKGROUND)
    assert PulseGating(3.0, 0.05).model.expected_background == pytest.approx(0.05)
    state = PulseGating(3.0, 0.0).start(1, 20, np.zeros(1, dtype=np.uint64))
    assert state.expected_background.tolist() == [LEAST_BACKGROUND]


def test_the_model_is_prepared_for_the_signals_that_it_is_told_of():
    signals = ThompsonGating(3.0, 0.05, weakest=0.2, strongest=0.9).model.signals
    assert (signals.min(), signals.max()) == pytest.approx((0.2, 0.9))


@pytest.mark.parametrize("kind", [PulseGating, ThompsonGating])
def test_a_sensor_with_other_bins_is_refused(kind):
    policy = kind(fwhm=3.0, background=0.05, sensor=Sensor(bins=40))
    with pytest.raises(lb.InvalidParameter, match="the sensor has 40 bins, and there are 50 arms; make them equal"):
        policy.start(2, 50, np.zeros(2, dtype=np.uint64))


def test_the_pulse_is_that_of_the_sensor():
    sensor = Sensor(bins=40, fwhm=4.0, jitter=1e-9)
    assert PulseGating(3.0, 0.05, sensor=sensor).pulse == sensor.pulse != sensor.response
    assert PulseGating(3.0, 0.05).pulse.fwhm == 3.0


def test_only_a_told_background_has_one_level():
    assert PulseGating(3.0, 0.05, told=True).model.backgrounds.tolist() == [0.05]
    assert PulseGating(3.0, 0.05).model.backgrounds.size > 50


def test_at_first_all_bins_are_alike_and_the_signal_is_between_the_weakest_and_the_strongest():
    policy = PulseGating(3.0, 0.05, weakest=0.1, strongest=10.0)
    state = policy.start(2, 8, np.zeros(2, dtype=np.uint64))
    assert state.log_prior == pytest.approx(-np.log(8))
    assert state.expected_signal.tolist() == pytest.approx([1.0, 1.0])
    assert state.expected_background.tolist() == [0.05, 0.05]
    assert policy.model.backgrounds[state.level] == pytest.approx(0.05)
    assert not policy.proved(state).any()


def test_what_is_expected_changes_the_first_gate_and_the_level():
    """A pixel that is expected around bin 50 opens no gate at bin 0; one of which nothing is known does."""
    sensor = Sensor(bins=80, ambient=8.0)
    policy = PulseGating(3.0, 0.1, sensor=sensor)
    state = policy.start(2, 80, np.zeros(2, dtype=np.uint64))
    weight = np.full((2, 80), 1 / 80)
    weight[0] = 0.05 / 80
    weight[0, 48:52] += 0.95 / 4
    policy.expect(state, Expected(np.log(weight), np.array([0.5, 0.5]), np.array([0.4, 0.0])))
    assert not state.gate[0, :40].any()
    assert state.gate[0, 48:52].all()
    assert state.gate[1, :20].any()
    assert policy.model.backgrounds[state.level[0]] == pytest.approx(0.4, rel=0.08)
    assert state.expected_background.tolist() == [0.4, LEAST_BACKGROUND]
    assert not state.stopped.any()


@pytest.mark.parametrize("kind", [PulseGating, ThompsonGating])
def test_the_background_is_learned_from_the_pixel_itself(kind):
    """Nine times what was expected, and a ninth of it."""
    sensor = Sensor(bins=80, ambient=8.0)
    policy = kind(fwhm=3.0, background=0.1)
    background = np.array([0.9, 0.1, 0.011])
    state = policy.start(3, 80, np.zeros(3, dtype=np.uint64))
    samples = np.full((3, 80), 2000)
    successes = np.round(samples * sensor.chances(np.full(3, 33.3), np.full(3, 2.0), background)).astype(np.int64)
    for _ in range(2):
        policy.observe(state, Counts(samples, successes))
    assert policy.model.backgrounds[state.level] == pytest.approx(background, rel=0.08)


def test_cycles_may_be_more_than_the_samples_of_any_bin():
    """With a sensor in time some cycles see nothing at all; they count."""
    policy = PulseGating(3.0, 0.05)
    state = policy.start(1, 20, np.zeros(1, dtype=np.uint64))
    counts = Counts(np.full((1, 20), 3), np.zeros((1, 20), dtype=np.int64), plays=np.array([3]))
    policy.observe(state, counts)
    assert state.cycles.tolist() == [3]
    policy.observe_in_time(state, counts, np.array([9]))
    assert state.cycles.tolist() == [12]
    assert state.samples[0, 0] == 6


def test_bins_that_no_gate_can_see_have_hardly_any_weight():
    """Or a pixel without a return would look for it there for ever."""
    sensor = Sensor(bins=40, rise=2.5 * Sensor(bins=40).bin_seconds)
    state = PulseGating(3.0, 0.05, sensor=sensor).start(2, 40, np.zeros(2, dtype=np.uint64))
    weight = np.exp(state.log_prior)
    assert weight.sum(axis=1) == pytest.approx(1.0)
    assert (weight[:, :3] < 1e-6).all()
    assert weight[:, 3:] == pytest.approx(1 / 37, rel=1e-4)


def test_an_experiment_that_knows_its_sensor_is_saved_and_goes_on_with_the_same_policy():
    sensor = Sensor(bins=20)
    policy = PulseGating(3.0, 0.05, delta=0.1, sensor=sensor)
    experiment = lb.Experiment(range(20), policy, max_plays=500)
    for _ in range(30):
        experiment.tell(experiment.ask().id, hit=None)
    text = experiment.to_json()
    again = lb.Experiment.from_json(text, policy=PulseGating(3.0, 0.05, delta=0.1, sensor=Sensor(bins=20)))
    assert again.ask().arms == lb.Experiment.from_json(text, policy=policy).ask().arms
    with pytest.raises(lb.LinkedBanditError):
        lb.Experiment.from_json(text, policy=PulseGating(3.0, 0.05, delta=0.1, sensor=Sensor(bins=20, dead_time=0.0)))
