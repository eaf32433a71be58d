"""Pixels acquired in time: budgets are kept, and what is counted is what the light says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from linkedbandits.lidar import Sensor, Suffixes, Task, find_acquisition
from linkedbandits.lidar.acquiring import acquire

IN_TIME = ("synchronous", "free-running", "shifted", "thompson", "thompson-wrapped", "pulse")
LANES = 12


def acquired(name, task, lanes=LANES, seed=1):
    rates = task.sensor.rates(np.linspace(3, 36, lanes), np.full(lanes, 0.5))
    return rates, acquire(find_acquisition(name, task), task, rates, 0, np.random.SeedSequence(seed), None)


@pytest.mark.parametrize("name", IN_TIME)
@pytest.mark.parametrize("blind", [0.0, 10e-9, 100e-9])
def test_no_pixel_takes_longer_than_it_may_nor_leaves_time_that_a_cycle_would_fit_into(name, blind):
    sensor = Sensor(bins=40, ambient=8.0, dead_time=blind, gates=Suffixes(20))
    task = Task(sensor, signal=0.5, cycles=10_000, seconds=100.4 * sensor.period)
    _, found = acquired(name, task)
    assert (found.seconds <= task.seconds).all()
    assert (found.seconds > task.seconds - (2 + np.ceil(blind / sensor.period)) * sensor.period).all()
    assert (found.successes <= found.samples).all()
    assert (found.cycles > 20).all()


@pytest.mark.parametrize("name", IN_TIME)
def test_cycles_end_a_pixel_as_well(name):
    task = Task(Sensor(bins=40), signal=0.5, cycles=37, seconds=1.0)
    found = acquired(name, task)[1]
    assert (found.cycles <= 37).all()
    assert (found.cycles > 35).all()
    within = acquired(name, replace(task, seconds=None))[1]
    if name != "shifted":  # a round of windows is spread over the time that there is
        assert (within.samples == found.samples).all()


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["synchronous", "shifted", "thompson-wrapped"])
def test_a_bin_that_was_sampled_fires_with_its_chance(name):
    """60 pixels of 200 periods; chi-square over their bins, false alarm 1e-6."""
    sensor = Sensor(bins=40, ambient=4.0, dead_time=15e-9)
    rates, found = acquired(name, Task(sensor, 0.5, 10_000, seconds=200 * sensor.period), lanes=60)
    chance = -np.expm1(-rates)
    off = (found.successes - found.samples * chance) ** 2 / np.maximum(found.samples * chance * (1 - chance), 1e-300)
    told = (found.samples * chance).min() > 1 or found.samples * chance > 3
    assert chi2.sf(off[told].sum(), np.broadcast_to(told, off.shape).sum()) > 1e-6


def test_a_round_of_shifted_windows_is_spread_over_a_short_time():
    """Thirty windows or so: the last bins come first in some of them, so all bins are sampled about as often."""
    sensor = Sensor(bins=40, ambient=20.0, dead_time=100e-9)
    _, found = acquired("shifted", Task(sensor, 0.5, 10_000, seconds=120 * sensor.period), lanes=200)
    quarters = found.samples.mean(axis=0).reshape(4, 10).mean(axis=1)
    assert quarters.max() < 1.3 * quarters.min()
