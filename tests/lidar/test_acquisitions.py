"""The acquisitions by name, and the tolerance that fits the physics."""

from __future__ import annotations

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.lidar import ACQUISITIONS, Sensor, Task, find_acquisition
from linkedbandits.lidar.acquisitions import bin_tolerance
from linkedbandits.simulation import simulate_lanes


@pytest.mark.parametrize("name", ACQUISITIONS)
def test_no_acquisition_takes_more_cycles_than_it_may(name):
    task = Task(Sensor(bins=40, ambient=3.0), signal=0.5, cycles=137)
    made = find_acquisition(name, task)
    chances = task.sensor.chances(np.linspace(5, 35, 6), np.full(6, 0.5))
    outcomes = simulate_lanes(chances, made.policy, linkage=made.linkage, max_plays=task.cycles)
    assert (outcomes.plays * made.cost <= task.cycles).all()
    assert (outcomes.plays * made.cost > task.cycles - 2).all()


@pytest.mark.parametrize(("fwhm", "ambient", "signal"), [(3.0, 5.0, 0.5), (4.24, 1.0, 1.0), (10.0, 5.0, 0.5)])
def test_a_bin_within_the_tolerance_of_the_best_is_within_the_tolerance_in_depth(fwhm, ambient, signal):
    """Wherever the true depth lies; and a tolerance a third larger would let a bin in that is too far off."""
    task = Task(Sensor(bins=60, fwhm=fwhm, ambient=ambient), signal, cycles=100)
    depth = np.random.default_rng(2).uniform(25, 35, 500)
    chance = task.sensor.chances(depth, np.full(500, signal))
    off = np.abs(np.arange(60) + 0.5 - depth[:, np.newaxis])

    def farthest(epsilon):
        near = chance >= chance.max(axis=1, keepdims=True) - epsilon
        return np.where(near, off, 0.0).max()

    assert farthest(0.98 * bin_tolerance(task)) <= task.tolerance
    assert farthest(1.35 * bin_tolerance(task)) > task.tolerance


def test_elimination_over_bins_finds_a_bin_of_the_pulse():
    task = Task(Sensor(bins=20, ambient=1.0), signal=2.0, cycles=100_000, delta=0.05)
    made = find_acquisition("elimination", task)
    depth = np.linspace(4, 16, 12)
    outcomes = simulate_lanes(task.sensor.chances(depth, np.full(12, 2.0)), made.policy, max_plays=task.cycles)
    assert outcomes.confident.all()
    assert (np.abs(outcomes.top[:, 0] + 0.5 - depth) <= 1).all()


@pytest.mark.parametrize(("fwhm", "tolerance"), [(3.0, 1.0), (4.24, 1.0), (10.0, 5.0)])
def test_a_right_depth_is_within_a_bin_or_half_the_width_of_a_wide_pulse(fwhm, tolerance):
    assert Task(Sensor(fwhm=fwhm), 0.5, 10).tolerance == tolerance


def test_an_unknown_acquisition_is_refused_with_those_that_there_are():
    with pytest.raises(lb.UnknownName, match=r"synchronous, suffix, free.*pulse"):
        find_acquisition("magic", Task(Sensor(), 0.5, 10))
