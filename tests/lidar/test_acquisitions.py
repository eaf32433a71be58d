"""The acquisitions by name, and the tasks they are for."""

from __future__ import annotations

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.intervals import share_interval
from linkedbandits.lidar import ACQUISITIONS, Scene, Sensor, Task, capture, find_acquisition
from linkedbandits.lidar.acquiring import acquire
from linkedbandits.lidar.gates import AnySubset, Suffixes, Windows
from linkedbandits.lidar.sensor import MODES
from linkedbandits.simulation import simulate_lanes


@pytest.mark.parametrize("name", ACQUISITIONS)
def test_no_acquisition_takes_more_cycles_than_it_may(name):
    task = Task(Sensor(bins=40, ambient=3.0), signal=0.5, cycles=137)
    made = find_acquisition(name, task)
    rates = task.sensor.rates(np.linspace(5, 35, 6), np.full(6, 0.5))
    acquired = acquire(made, task, rates, 0, np.random.SeedSequence(0), None)
    assert (acquired.cycles <= task.cycles).all()
    assert (acquired.cycles > task.cycles - 2).all()


@pytest.mark.statistical
@pytest.mark.parametrize(("fwhm", "places"), [(0.5, 1), (3.0, 1), (4.24, 2), (10.0, 5)])
def test_elimination_over_bins_finds_a_bin_within_the_pulse(fwhm, places):
    """Wherever the depth is: also between two bins, which tie. Of 300 pixels at most 1 % are wrong; delta is 0.05."""
    task = Task(Sensor(bins=60, fwhm=fwhm, ambient=2.0), signal=1.0, cycles=50_000, delta=0.05)
    assert task.neighbours == places
    depth = np.concatenate([np.linspace(0.0, 59.9, 250), np.arange(5.0, 55.0)])
    policy = find_acquisition("elimination", task).policy
    outcomes = simulate_lanes(task.sensor.chances(depth, np.full(300, 1.0)), policy, max_plays=task.cycles, seed=2)
    assert outcomes.confident.all()
    wrong = np.abs(outcomes.top[:, 0] - np.floor(depth)) > places
    assert share_interval(int(wrong.sum()), 300, confidence=0.98)[1] <= 0.05


@pytest.mark.statistical
def test_elimination_is_seldom_sure_of_a_bin_where_nothing_returns():
    """At most 0.05 · 60/57 of pixels; 400 of them with 40 or more has probability 1e-4."""
    task = Task(Sensor(bins=60, ambient=2.0), signal=1.0, cycles=3000, delta=0.05)
    policy = find_acquisition("elimination", task).policy
    outcomes = simulate_lanes(task.sensor.chances(np.zeros(400), np.zeros(400)), policy, max_plays=task.cycles, seed=2)
    assert outcomes.confident.sum() < 40


def test_a_range_of_few_bins_leaves_elimination_something_to_decide():
    assert Task(Sensor(bins=4, fwhm=10.0), 0.5, 10).neighbours == 1


@pytest.mark.parametrize(("fwhm", "tolerance"), [(3.0, 1.0), (4.24, 1.0), (10.0, 5.0)])
def test_a_right_depth_is_within_a_bin_or_half_the_width_of_a_wide_pulse(fwhm, tolerance):
    assert Task(Sensor(fwhm=fwhm), 0.5, 10).tolerance == tolerance


def test_the_name_that_equal_samples_had_before_is_still_read():
    task = Task(Sensor(bins=40), signal=1.0, cycles=30)
    assert find_acquisition("suffix", task) == find_acquisition("even", task)
    assert "suffix" not in ACQUISITIONS
    wall = Scene("wall", np.full((2, 3), 2.5), np.ones((2, 3)))
    old, new = (capture(wall, task, name, seed=3) for name in ("suffix", "even"))
    assert old.acquisition == new.acquisition == "even"
    assert np.array_equal(old.depth, new.depth, equal_nan=True)


def test_an_unknown_acquisition_is_refused_with_those_that_there_are():
    with pytest.raises(lb.UnknownName, match=r"synchronous, free-running, shifted, even, free.*pulse, auto"):
        find_acquisition("magic", Task(Sensor(), 0.5, 10))


def test_a_shifted_window_does_not_fit_into_one_cycle():
    with pytest.raises(lb.InvalidParameter, match="cycles=1 "):
        find_acquisition("shifted", Task(Sensor(), 0.5, 1))


@pytest.mark.parametrize("name", ["even", "free", "elimination", "halving"])
def test_what_plans_by_cycles_has_no_budget_in_time(name):
    task = Task(Sensor(bins=40), 0.5, 100, seconds=1e-5)
    with pytest.raises(lb.InvalidParameter, match=rf"{name} plans by cycles.*cycles alone, or use synchronous"):
        find_acquisition(name, task)


def test_windows_that_wrap_are_refused_where_afterpulses_outlast_the_dead_time():
    sensor = Sensor(bins=40, dead_time=0.0, afterpulsing=0.1, afterpulse_time=1e-9)
    assert find_acquisition("thompson", Task(sensor, 0.5, 10)).gates is not None
    with pytest.raises(lb.InvalidParameter, match="afterpulsing to 0"):
        find_acquisition("thompson-wrapped", Task(sensor, 0.5, 10))


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"seconds": 0.0}, "seconds=0.0"),
        ({"seconds": 1e-8}, "seconds=1e-08 is less than a laser cycle"),
        ({"signal": 0.0}, "signal=0.0"),
        ({"signal": np.inf}, "signal=inf"),
        ({"cycles": 0}, "cycles=0"),
        ({"delta": 2.0}, "delta=2.0"),
        ({"delta": np.nan}, "delta=nan"),
        ({"strongest": np.inf}, "strongest=inf"),
        ({"strongest": 0.4}, "strongest=0.4"),
        ({"likely": 1.5}, "likely=1.5"),
    ],
)
def test_what_makes_no_task_is_refused_by_name(wrong, named):
    with pytest.raises(lb.InvalidParameter, match=named):
        Task(**({"sensor": Sensor(), "signal": 0.5, "cycles": 10} | wrong))


def test_models_are_prepared_for_ten_times_the_signal_unless_told():
    assert Task(Sensor(), 0.5, 10).signals == (0.05, 5.0)
    assert Task(Sensor(), 0.5, 10, strongest=70.0).signals == (0.05, 70.0)


@pytest.mark.parametrize("name", ["even", "elimination", "halving"])
def test_policies_of_bins_play_what_the_gates_of_a_sensor_allow(name):
    """Any subset is the linkage ordered; a gate that opens late and stays open is the linkage suffix."""
    made = [
        find_acquisition(name, Task(Sensor(bins=40, gates=gates), 0.5, 100)).linkage
        for gates in (AnySubset(), Suffixes())
    ]
    assert made == ["ordered", "suffix"]
    for gates, words in [(Suffixes(8), "8"), (Windows(2e-9, 2e-9), "2")]:
        task = Task(Sensor(bins=40, gates=gates), 0.5, 100)
        with pytest.raises(lb.InvalidParameter, match=f"^{name} may open at any bin.*{words}.*use pulse or thompson"):
            find_acquisition(name, task)


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("synchronous", "synchronous"),
        ("shifted", "shifted"),
        ("free-running", "free-running"),
        ("pulse", "gated"),
        ("thompson", "gated"),
        ("even", "gated"),
    ],
)
def test_a_mode_that_the_sensor_lacks_is_refused_with_those_that_it_has(name, mode):
    others = tuple(one for one in MODES if one != mode)
    assert find_acquisition(name, Task(Sensor(bins=40), 0.5, 100)).mode == mode
    with pytest.raises(
        lb.InvalidParameter, match=f"{name} needs the mode {mode}, and this sensor has {', '.join(others)}"
    ):
        find_acquisition(name, Task(Sensor(bins=40, modes=others), 0.5, 100))


@pytest.mark.parametrize("name", ["synchronous", "shifted", "even", "free", "elimination", "halving"])
@pytest.mark.parametrize("trouble", [{"rise": 1e-9}, {"afterpulsing": 0.05, "afterpulse_time": 100e-9}])
def test_what_is_not_simulated_for_a_sensor_is_refused_with_a_remedy(name, trouble):
    task = Task(Sensor(bins=40, **trouble), 0.5, 100)
    with pytest.raises(
        lb.InvalidParameter, match=f"{name} is simulated for gates.*use pulse, thompson or free-running"
    ):
        find_acquisition(name, task)
    for other in ("pulse", "thompson", "free-running"):
        assert find_acquisition(other, task).gates is not None


def test_nothing_is_proved_where_afterpulses_outlast_the_dead_time():
    task = Task(Sensor(bins=40, afterpulsing=0.05, afterpulse_time=100e-9), 0.5, 100, delta=0.05)
    made = find_acquisition("pulse", task)
    assert (made.policy.delta, made.sure_of) == (None, None)
    short = Task(Sensor(bins=40, afterpulsing=0.05, afterpulse_time=1e-9), 0.5, 100, delta=0.05)
    made = find_acquisition("pulse", short)
    assert (made.policy.delta, made.sure_of) == (0.05, "map")


def test_pulse_is_made_for_the_task():
    sensor = Sensor(bins=40, fwhm=10.0, ambient=4.0)
    task = Task(sensor, 0.5, 100, delta=0.05, strongest=70.0, likely=0.9, told=True)
    policy = find_acquisition("pulse", task).policy
    assert policy.sensor is sensor
    assert (policy.delta, policy.tolerance, policy.likely, policy.told) == (0.05, 5.0, 0.9, True)
    assert (policy.weakest, policy.strongest, policy.signal_limit) == (0.05, 70.0, 70.0)
    assert policy.background == pytest.approx(0.1)
    plain = find_acquisition("pulse", Task(sensor, 0.5, 100)).policy
    assert (plain.delta, plain.likely, plain.told, plain.signal_limit) == (None, None, False, np.inf)
    assert find_acquisition("thompson", task).policy.told
