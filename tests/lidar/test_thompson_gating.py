"""ThompsonGating draws its gates from the posterior."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

from linkedbandits.lidar import AnySubset, Expected, Sensor, Suffixes, ThompsonGating, WrappedThompsonGating
from linkedbandits.lidar.thompson_gating import uniform
from linkedbandits.model import Counts
from linkedbandits.testing import check_policy


@pytest.mark.statistical
def test_draws_are_uniform_over_lanes_and_over_steps():
    """Kolmogorov and Smirnov's test at level 1e-4, twice."""
    seeds = np.random.default_rng(3).integers(0, 2**63, 5000, dtype=np.uint64)
    assert kstest(uniform(seeds, np.zeros(5000, dtype=np.int64)), "uniform").pvalue > 1e-4
    assert kstest(uniform(np.full(5000, seeds[0]), np.arange(5000)), "uniform").pvalue > 1e-4


def openings(policy, state):
    return state.gate.argmax(axis=1)


def test_gates_open_anywhere_at_first_and_just_before_the_return_when_it_is_known():
    sensor = Sensor(bins=80, ambient=5.0)
    policy = ThompsonGating(sensor.fwhm, sensor.background)
    lanes = 300
    state = policy.start(lanes, 80, np.arange(lanes, dtype=np.uint64))
    first = openings(policy, state)
    assert np.unique(first).size > 50
    assert all((row == (np.arange(80) >= opens)).all() for row, opens in zip(state.gate, first, strict=True))
    chances = sensor.chances(np.full(lanes, 50.0), np.full(lanes, 0.5))
    samples = np.full((lanes, 80), 2000)
    counts = Counts(samples, np.round(samples * chances).astype(np.int64), np.full(lanes, 5000))
    policy.observe(state, counts)
    lead = round(2 * sensor.pulse.sigma)
    assert set(openings(policy, state).tolist()) <= {49 - lead, 50 - lead}
    assert (state.arm >= 49).all()
    assert (state.arm <= 50).all()


@pytest.mark.parametrize("positions", [4, 20, None])
def test_gates_open_at_the_positions_that_the_sensor_has(positions):
    """At the last one before the depth that was drawn, less the lead."""
    sensor = Sensor(bins=80, ambient=5.0, gates=Suffixes(positions))
    policy = ThompsonGating(sensor.fwhm, sensor.background, sensor=sensor)
    free = ThompsonGating(sensor.fwhm, sensor.background, sensor=Sensor(bins=80, ambient=5.0, gates=AnySubset()))
    lanes = 300
    states = [one.start(lanes, 80, np.arange(lanes, dtype=np.uint64)) for one in (policy, free)]
    opens, wanted = (openings(policy, state) for state in states)
    starts = sensor.gates.starts(80)
    assert opens.tolist() == [max(start for start in starts if start <= place) for place in wanted]
    assert set(opens.tolist()) == set(starts[starts <= wanted.max()].tolist())
    sensor.gates.check(states[0].gate, sensor)


def test_gates_are_drawn_from_what_is_expected_too():
    sensor = Sensor(bins=80, ambient=5.0)
    policy = ThompsonGating(sensor.fwhm, sensor.background)
    state = policy.start(200, 80, np.arange(200, dtype=np.uint64))
    weight = np.full((200, 80), 0.1 / 80)
    weight[:, 40] += 0.9
    policy.expect(state, Expected(np.log(weight), np.full(200, 0.5), np.full(200, 0.06)))
    lead = round(2 * sensor.pulse.sigma)
    assert (openings(policy, state) == 40 - lead).mean() > 0.8
    assert np.unique(openings(policy, state)).size > 5
    assert not state.stopped.any()


def test_windows_that_wrap_open_before_a_return_at_the_start_too_and_try_every_bin():
    """A depth in bin 0: the window opens two deviations before it, at the end of the period before."""
    sensor = Sensor(bins=80, ambient=5.0)
    policy = WrappedThompsonGating(sensor.fwhm, sensor.background)
    state = policy.start(5, 80, np.arange(5, dtype=np.uint64))
    samples = np.full((5, 80), 2000)
    chances = sensor.chances(np.full(5, 0.5), np.full(5, 0.5))
    policy.observe(state, Counts(samples, np.round(samples * chances).astype(np.int64), np.full(5, 5000)))
    lead = round(2 * sensor.pulse.sigma)
    assert set(openings(policy, state).tolist()) <= {80 - lead, 81 - lead}
    for order, first in zip(policy.request(state).order, openings(policy, state), strict=True):
        assert order.tolist() == [*range(first, 80), *range(first)]


def test_windows_that_wrap_open_at_the_positions_that_the_sensor_has():
    sensor = Sensor(bins=100, gates=Suffixes(20))
    policy = WrappedThompsonGating(sensor.fwhm, sensor.background, sensor=sensor)
    state = policy.start(300, 100, np.arange(300, dtype=np.uint64))
    assert set(openings(policy, state).tolist()) == set(range(0, 100, 5))


def test_windows_that_wrap_keep_the_contract_of_policies():
    check_policy(WrappedThompsonGating(2.0, 0.1), max_plays=300)
