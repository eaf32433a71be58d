"""The estimators, on counts where it is plain what they have to say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.lidar import ESTIMATORS, Sensor, find_estimator
from linkedbandits.lidar.estimators import (
    background_around,
    centroid,
    coates_peak,
    corrected_rates,
    histogram_peak,
    model_of,
    signal_range,
)
from linkedbandits.model import empirical_means
from tests.support.photon_counts import apart, counts_of


@given(seed=st.integers(0, 10**6), bins=st.integers(2, 30), cycles=st.integers(1, 500))
def test_coates_correction_is_the_empirical_means_of_the_arms(seed, bins, cycles):
    """Coates's formula knows the histogram and the number of cycles; the policy's counts know samples and successes."""
    means = np.random.default_rng(seed).uniform(0, 0.6, bins)
    runs = lb.simulation.simulate_lanes(means[np.newaxis], lb.MaximalSampling(plays=cycles), seed=seed)
    histogram = runs.successes[0]
    survived = cycles - np.concatenate([[0], np.cumsum(histogram)])
    coates = np.log(np.maximum(survived[:-1], 1) / np.maximum(survived[1:], 0.5))  # photons a cycle, by his formula
    seen = (survived[1:] > 0) & (survived[:-1] > 0)
    mean = empirical_means(runs.samples, runs.successes)[0]
    assert mean[seen] == pytest.approx(1 - np.exp(-coates[seen]))
    assert corrected_rates(runs.samples, runs.successes)[0][seen] == pytest.approx(coates[seen])


def test_pile_up_fools_the_histogram_and_not_the_corrected_one():
    """In bright light most cycles end early: the first bins have the most photons, the return the highest rate."""
    sensor = Sensor(bins=30, ambient=6.0)
    means = sensor.chances(np.array([22.5]), np.array([1.0]))
    runs = lb.simulation.simulate_lanes(means, lb.MaximalSampling(plays=200_000), seed=1)
    assert histogram_peak(runs.samples, runs.successes)[0] < 3
    assert coates_peak(runs.samples, runs.successes)[0] == 22.5


@pytest.mark.parametrize("name", ESTIMATORS)
def test_with_plenty_of_even_counts_every_estimator_is_right(name):
    sensor = Sensor(bins=60, ambient=3.0)
    depth = np.random.default_rng(1).uniform(5, 55, 100)
    named = np.floor(depth).astype(np.int64)
    found = find_estimator(name, sensor, 0.5)(*counts_of(sensor, depth, 0.5, 4000), named)
    assert np.abs(found - depth).max() < (1.0 if name in ("histogram", "coates") else 0.25)


@pytest.mark.parametrize("name", ["matched", "map", "answer"])
def test_the_background_is_that_of_the_pixel(name):
    """A factor of 9 to both sides of the sensor's, which is all that the estimator is told."""
    sensor = Sensor(bins=60, ambient=3.0)
    depth = np.random.default_rng(1).uniform(5, 55, 100)
    background = apart(sensor.background, 100, span=81.0)
    counts = counts_of(sensor, depth, 0.5, 40_000, background=background)
    found = find_estimator(name, sensor, 0.5)(*counts, np.floor(depth).astype(np.int64))
    assert np.abs(found - depth).max() < 0.25
    if name != "map":  # it is by one background that the centre of light is moved most
        told = find_estimator(name, sensor, 0.5, told=True)(*counts, np.floor(depth).astype(np.int64))
        assert np.abs(told - depth).max() > (0.25 if name == "answer" else 0.0)
    around = background_around(*counts, depth, model_of(sensor, 0.5))
    assert around == pytest.approx(background, rel=0.05)


def test_a_model_is_prepared_for_signals_around_the_mean():
    assert signal_range(0.5, None) == (0.05, 5.0)
    assert signal_range(0.5, 70.0) == (0.05, 70.0)
    model = model_of(Sensor(bins=60, ambient=3.0), 0.5, 20.0)
    assert (model.signals.min(), model.signals.max()) == pytest.approx((0.05, 20.0))
    assert model.expected_background == pytest.approx(0.05)
    assert model_of(Sensor(bins=60, ambient=3.0), 0.5, told=True).told


@pytest.mark.parametrize("name", ESTIMATORS)
def test_where_nothing_was_seen_there_is_no_depth(name):
    samples = np.array([[5] * 10, [0] * 10])
    found = find_estimator(name, Sensor(bins=10), 0.5)(samples, np.zeros_like(samples), np.array([3, 3]))
    assert np.isnan(found).all()


def test_a_bin_that_always_fired_has_a_finite_rate():
    rates = corrected_rates(np.array([[10, 0, 10]]), np.array([[10, 0, 0]]))[0]
    assert rates[0] == pytest.approx(np.log(21))
    assert rates[1:].tolist() == [0, 0]


def test_the_centroid_refines_a_bin_to_a_fraction_of_one():
    sensor = Sensor(bins=60, ambient=1.0)
    depth = np.random.default_rng(1).uniform(5, 55, 100)
    samples, successes = counts_of(sensor, depth, 0.5, 5000)
    answer = np.floor(depth).astype(np.int64)
    refined = centroid(samples, successes, answer, model_of(sensor, 0.5))
    assert np.abs(refined - depth).mean() < 0.1
    assert np.abs(answer + 0.5 - depth).mean() > 0.2
    far = np.zeros_like(samples)
    far[np.arange(100), (answer + 30) % 60] = 5000
    assert centroid(samples, far, answer, model_of(sensor, 0.5)) == pytest.approx(answer + 0.5)


@pytest.mark.parametrize(("fwhm", "width"), [(3.0, 3), (2.5, 3), (2.01, 3), (2.0, 2), (0.4, 1)])
def test_the_centroid_takes_in_all_bins_that_the_width_of_a_pulse_reaches(fwhm, width):
    """A part of a bin is the whole bin. Two bins of the same light, so that the centre is just between them."""
    sensor = Sensor(bins=21, fwhm=fwhm, ambient=0.0)
    samples = np.full((2, 21), 8)
    for side in (-1, 1):
        successes = np.zeros((2, 21), dtype=np.int64)
        successes[:, 10] = 4
        successes[0, 10 + side * width] = 4
        successes[1, 10 + side * (width + 1)] = 4  # one too far
        found = centroid(samples, successes, np.array([10, 10]), model_of(sensor, 0.5, told=True))
        assert found == pytest.approx([10.5 + side * width / 2, 10.5])


def test_an_unknown_estimator_is_refused_with_those_that_there_are():
    with pytest.raises(lb.UnknownName, match="histogram, coates, matched, map, answer"):
        find_estimator("magic", Sensor(), 0.5)
