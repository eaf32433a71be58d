"""The likelihood of a return, and the depth that fits best."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkedbandits.lidar import Sensor
from linkedbandits.lidar.returns import few_at_a_time, return_model
from tests.support.photon_counts import by_definition, counts_of


@given(fwhm=st.sampled_from([1.0, 3.0, 4.24, 10.0]), bins=st.integers(2, 40), seed=st.integers(0, 1000))
def test_the_table_gives_the_likelihood_of_the_definition(fwhm, bins, seed):
    """At every depth of the grid, also where the pulse is cut off at the ends of the range."""
    sensor = Sensor(bins=bins, fwhm=fwhm, ambient=3.0)
    model = return_model(fwhm, sensor.background, 0.1, 2.0)
    rng = np.random.default_rng(seed)
    samples = rng.integers(0, 30, (2, bins))
    successes = rng.binomial(samples, 0.2)
    table = model.log_likelihood(samples, successes)
    assert table.shape == (2, model.signals.size, model.phases.size, bins)
    s, q, j = rng.integers(model.signals.size), rng.integers(model.phases.size), rng.integers(bins)
    for lane in range(2):
        expected = by_definition(sensor, j + model.phases[q], model.signals[s], samples[lane], successes[lane])
        assert table[lane, s, q, j] == pytest.approx(expected, abs=1e-9)


def test_single_precision_is_near_enough_and_a_lane_does_not_depend_on_its_neighbours():
    sensor = Sensor(bins=60, ambient=5.0)
    model = return_model(3.0, sensor.background, 0.05, 5.0)
    samples, successes = counts_of(sensor, np.linspace(5, 55, 9), 0.5, 200)
    exact = model.log_likelihood(samples, successes)
    rough = model.log_likelihood(samples, successes, np.float32)
    assert np.abs(exact - rough).max() < 0.01
    alone = np.concatenate([model.estimate(samples[i : i + 1], successes[i : i + 1]) for i in range(9)])
    assert np.array_equal(model.estimate(samples, successes), alone)
    assert np.array_equal(rough[4:5], model.log_likelihood(samples[4:5], successes[4:5], np.float32))


@pytest.mark.parametrize("fwhm", [3.0, 4.24, 10.0])
def test_with_plenty_of_counts_the_estimate_is_right_to_a_fraction_of_a_bin(fwhm):
    sensor = Sensor(bins=100, fwhm=fwhm, ambient=5.0)
    depth = np.random.default_rng(3).uniform(10, 90, 200)
    model = return_model(fwhm, sensor.background, 0.05, 5.0)
    found = model.estimate(*counts_of(sensor, depth, 0.5, 5000))
    assert np.abs(found - depth).max() < 0.08 * fwhm


def test_evidence_speaks_for_a_return_where_there_is_one_and_against_it_where_there_is_none():
    sensor = Sensor(bins=100, ambient=5.0)
    model = return_model(3.0, sensor.background, 0.05, 5.0)
    assert model.evidence(*counts_of(sensor, np.full(50, 40.0), 0.5, 60)).min() > 0
    assert (model.evidence(*counts_of(sensor, np.full(50, np.nan), 0.0, 200)) < 0).mean() > 0.9
    nothing = np.zeros((1, 100), dtype=np.int64)
    assert model.evidence(nothing, nothing) == pytest.approx(0)


def test_lanes_are_taken_a_few_at_a_time_and_each_once():
    parts = list(few_at_a_time(10, 2**16))
    assert [len(range(10)[part]) for part in parts] == [2] * 5
    assert len(list(few_at_a_time(3, 2**40))) == 3
