"""The acquisitions by name, and the tasks they are for."""

from __future__ import annotations

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.lidar import ACQUISITIONS, Sensor, Task, find_acquisition
from linkedbandits.simulation import simulate_lanes


@pytest.mark.parametrize("name", ACQUISITIONS)
def test_no_acquisition_takes_more_cycles_than_it_may(name):
    task = Task(Sensor(bins=40, ambient=3.0), signal=0.5, cycles=137)
    made = find_acquisition(name, task)
    chances = task.sensor.chances(np.linspace(5, 35, 6), np.full(6, 0.5))
    outcomes = simulate_lanes(chances, made.policy, linkage=made.linkage, max_plays=task.cycles)
    assert (outcomes.plays * made.cost <= task.cycles).all()
    assert (outcomes.plays * made.cost > task.cycles - 2).all()


def test_elimination_over_bins_finds_a_bin_of_the_pulse():
    task = Task(Sensor(bins=20, ambient=1.0), signal=2.0, cycles=100_000, delta=0.05)
    made = find_acquisition("elimination", task)
    depth = np.linspace(4, 16, 12).round() + 0.5  # where no two bins tie
    outcomes = simulate_lanes(task.sensor.chances(depth, np.full(12, 2.0)), made.policy, max_plays=task.cycles)
    assert outcomes.confident.all()
    assert (np.abs(outcomes.top[:, 0] + 0.5 - depth) <= 1).all()


@pytest.mark.parametrize(("fwhm", "tolerance"), [(3.0, 1.0), (4.24, 1.0), (10.0, 5.0)])
def test_a_right_depth_is_within_a_bin_or_half_the_width_of_a_wide_pulse(fwhm, tolerance):
    assert Task(Sensor(fwhm=fwhm), 0.5, 10).tolerance == tolerance


def test_an_unknown_acquisition_is_refused_with_those_that_there_are():
    with pytest.raises(lb.UnknownName, match=r"synchronous, suffix, free.*pulse"):
        find_acquisition("magic", Task(Sensor(), 0.5, 10))


def test_a_shifted_window_does_not_fit_into_one_cycle():
    with pytest.raises(lb.InvalidParameter, match="cycles=1 "):
        find_acquisition("shifted", Task(Sensor(), 0.5, 1))


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
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
