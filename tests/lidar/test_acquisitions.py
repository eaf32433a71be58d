"""The acquisitions by name, and the tasks they are for."""

from __future__ import annotations

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.intervals import share_interval
from linkedbandits.lidar import ACQUISITIONS, Scene, Sensor, Task, capture, find_acquisition
from linkedbandits.simulation import simulate_lanes


@pytest.mark.parametrize("name", ACQUISITIONS)
def test_no_acquisition_takes_more_cycles_than_it_may(name):
    task = Task(Sensor(bins=40, ambient=3.0), signal=0.5, cycles=137)
    made = find_acquisition(name, task)
    chances = task.sensor.chances(np.linspace(5, 35, 6), np.full(6, 0.5))
    outcomes = simulate_lanes(chances, made.policy, linkage=made.linkage, max_plays=task.cycles)
    assert (outcomes.plays * made.cost <= task.cycles).all()
    assert (outcomes.plays * made.cost > task.cycles - 2).all()


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
    with pytest.raises(lb.UnknownName, match=r"synchronous, even, free.*pulse"):
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
    ],
)
def test_what_makes_no_task_is_refused_by_name(wrong, named):
    with pytest.raises(lb.InvalidParameter, match=named):
        Task(**({"sensor": Sensor(), "signal": 0.5, "cycles": 10} | wrong))


def test_models_are_prepared_for_ten_times_the_signal_unless_told():
    assert Task(Sensor(), 0.5, 10).signals == (0.05, 5.0)
    assert Task(Sensor(), 0.5, 10, strongest=70.0).signals == (0.05, 70.0)
