"""Pixels acquired: what a policy is told, and what is kept of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from linkedbandits.lidar import Sensor, Task, find_acquisition
from linkedbandits.lidar.acquiring import acquire
from linkedbandits.lidar.expected import Expected
from linkedbandits.lidar.exposure import Exposure
from linkedbandits.lidar.gates import Suffixes, Windows

SENSOR = Sensor(bins=40, ambient=2.0)
TASK = Task(SENSOR, signal=0.7, cycles=1500, delta=0.05)
DEPTH = np.array([8.3, 20.1, 31.7, np.nan])


def acquired_by(name, task=TASK, depth=DEPTH, expected=None, seed=0):
    rates = task.sensor.rates(depth, np.full(depth.size, 0.7))
    return acquire(find_acquisition(name, task), task, rates, 0, np.random.SeedSequence(seed), expected)


@pytest.mark.parametrize("name", ["pulse", "thompson", "free-running", "even", "synchronous"])
def test_counts_are_those_of_the_cycles_and_time_goes_on(name):
    found = acquired_by(name)
    assert found.samples.shape == found.successes.shape == (4, 40)
    assert ((found.successes >= 0) & (found.successes <= found.samples)).all()
    assert (found.samples <= found.cycles[:, np.newaxis]).all()
    if name != "free-running":  # there a cycle may see several photons
        assert (found.successes.sum(axis=1) <= found.cycles).all()
    assert (found.seconds >= 0.999 * found.cycles * SENSOR.period).all()
    assert (found.cycles <= 1500).all()


@pytest.mark.parametrize("name", ["pulse", "free-running"])
def test_pixels_end_by_themselves_and_one_without_a_return_goes_on_to_the_end(name):
    found = acquired_by(name, replace(TASK, cycles=6000))
    assert found.stopped.tolist() == found.proved.tolist() == [True, True, True, False]
    assert (found.cycles[:3] < 6000).all()
    assert found.cycles[3] == 6000
    assert np.abs(found.bin[:3] + 0.5 - DEPTH[:3]).max() <= 1.5


@pytest.mark.parametrize("name", ["thompson", "even", "synchronous"])
def test_ways_without_a_guarantee_prove_nothing_and_use_all_cycles(name):
    found = acquired_by(name)
    assert not found.proved.any()
    assert (found.cycles > 1490).all()


def test_the_same_seed_gives_the_same_counts_and_another_one_others():
    one, same, other = (acquired_by("pulse", seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.successes, same.successes)
    assert np.array_equal(one.seconds, same.seconds)
    assert not np.array_equal(one.successes, other.successes)


def test_what_was_expected_is_kept_in_the_order_of_the_pixels():
    """Pixels end at different times; what belongs to one stays with it."""
    weight = np.full((4, 40), 0.5 / 40)
    weight[np.arange(4), [8, 20, 31, 5]] += 0.5
    expected = Expected(np.log(weight), np.full(4, 0.7), np.array([0.05, 0.05, 0.05, 0.4]))
    found = acquired_by("pulse", expected=expected)
    assert np.array_equal(found.log_prior, expected.log_prior)
    model = find_acquisition("pulse", TASK).policy.model
    assert model.backgrounds[found.level[3]] == pytest.approx(0.05, rel=0.2)
    assert len(set(found.cycles.tolist())) > 2


def test_every_gate_is_one_that_the_sensor_can_open(monkeypatch):
    """For each kind of gates, look after look."""
    seen = []
    expose = Exposure.expose

    def watched(exposure, gate, cycles):
        seen.append(gate.copy())
        return expose(exposure, gate, cycles)

    monkeypatch.setattr(Exposure, "expose", watched)
    for gates in (Suffixes(), Suffixes(5), Windows(1.5e-9, 3e-9)):
        sensor = replace(SENSOR, gates=gates)
        for name in ("pulse", "thompson") if isinstance(gates, Suffixes) else ("pulse",):
            seen.clear()
            acquired_by(name, replace(TASK, sensor=sensor, cycles=120))
            assert len(seen) > 10
            for gate in seen:
                gates.check(gate, sensor)


def test_plays_in_no_order_take_no_time_that_could_be_told():
    assert np.isnan(acquired_by("free").seconds).all()


def test_shifted_windows_take_more_than_their_cycles():
    found = acquired_by("shifted", replace(TASK, cycles=202))
    assert found.cycles == pytest.approx(202)
    assert (found.seconds > 202 * SENSOR.period).all()


IN_TIME = ("synchronous", "free-running", "shifted", "thompson", "thompson-wrapped", "pulse")
LANES = 12


def acquired_in_time(name, task, lanes=LANES, seed=1):
    rates = task.sensor.rates(np.linspace(3, 36, lanes), np.full(lanes, 0.5))
    return rates, acquire(find_acquisition(name, task), task, rates, 0, np.random.SeedSequence(seed), None)


@pytest.mark.parametrize("name", IN_TIME)
@pytest.mark.parametrize("blind", [0.0, 10e-9, 100e-9])
def test_no_pixel_takes_longer_than_it_may_nor_leaves_time_that_a_cycle_would_fit_into(name, blind):
    sensor = Sensor(bins=40, ambient=8.0, dead_time=blind, gates=Suffixes(20))
    task = Task(sensor, signal=0.5, cycles=10_000, seconds=100.4 * sensor.period)
    _, found = acquired_in_time(name, task)
    assert (found.seconds <= task.seconds).all()
    assert (found.seconds > task.seconds - (2 + np.ceil(blind / sensor.period)) * sensor.period).all()
    assert (found.successes <= found.samples).all()
    assert (found.cycles > 20).all()


@pytest.mark.parametrize("name", IN_TIME)
def test_cycles_end_a_pixel_as_well(name):
    task = Task(Sensor(bins=40), signal=0.5, cycles=37, seconds=1.0)
    found = acquired_in_time(name, task)[1]
    assert (found.cycles <= 37).all()
    assert (found.cycles > 35).all()
    within = acquired_in_time(name, replace(task, seconds=None))[1]
    if name != "shifted":  # a round of windows is spread over the time that there is
        assert (within.samples == found.samples).all()


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["synchronous", "shifted", "thompson-wrapped"])
def test_a_bin_that_was_sampled_fires_with_its_chance(name):
    """60 pixels of 200 periods; chi-square over their bins, false alarm 1e-6."""
    sensor = Sensor(bins=40, ambient=4.0, dead_time=15e-9)
    rates, found = acquired_in_time(name, Task(sensor, 0.5, 10_000, seconds=200 * sensor.period), lanes=60)
    chance = -np.expm1(-rates)
    off = (found.successes - found.samples * chance) ** 2 / np.maximum(found.samples * chance * (1 - chance), 1e-300)
    told = (found.samples * chance).min() > 1 or found.samples * chance > 3
    assert chi2.sf(off[told].sum(), np.broadcast_to(told, off.shape).sum()) > 1e-6


def test_a_round_of_shifted_windows_is_spread_over_a_short_time():
    """Thirty windows or so: the last bins come first in some of them, so all bins are sampled about as often."""
    sensor = Sensor(bins=40, ambient=20.0, dead_time=100e-9)
    _, found = acquired_in_time("shifted", Task(sensor, 0.5, 10_000, seconds=120 * sensor.period), lanes=200)
    quarters = found.samples.mean(axis=0).reshape(4, 10).mean(axis=1)
    assert quarters.max() < 1.3 * quarters.min()
