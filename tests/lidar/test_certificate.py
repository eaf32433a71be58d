"""The proof that no other depth is possible."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from linkedbandits.lidar import Sensor
from linkedbandits.lidar.certificate import certificate, free_fit
from linkedbandits.lidar.returns import return_model, surroundings
from tests.support.photon_counts import by_definition, counts_of

STRONGEST = 5.0


def bounds_everywhere(proof, samples, successes):
    """The bound of every bin and cell, (lanes, bins, phases, signals)."""
    half = proof.pulse.half
    fired, missed = (surroundings(part, half).swapaxes(1, 2) for part in (successes, samples - successes))
    value, bound = proof._bound(fired, missed)
    shape = (*samples.shape, proof.phases.size, -1)
    return value.reshape(shape), bound.reshape(shape)


@settings(max_examples=60)
@given(
    fwhm=st.sampled_from([1.0, 3.0, 10.0]),
    ambient=st.sampled_from([0.0, 1.0, 20.0]),
    samples=st.integers(1, 3000),
    seed=st.integers(0, 10**6),
)
def test_the_bound_holds_at_every_depth_and_signal_of_its_cell(fwhm, ambient, samples, seed):
    """Depths and signals drawn at random from their cells, ends included, for counts that have a return or none."""
    rng = np.random.default_rng(seed)
    sensor = Sensor(bins=30, fwhm=fwhm, ambient=ambient, dark=1e-6)
    tried, fired = counts_of(sensor, rng.uniform(0, 30), rng.choice([0.0, 0.3, 3.0]), samples, seed)
    tried = rng.integers(0, tried + 1)
    fired = np.minimum(fired, tried)
    proof = certificate(fwhm, sensor.background, 0.05, STRONGEST, fwhm / 3)
    value, bound = bounds_everywhere(proof, tried, fired)
    ends = proof.high.reshape(proof.phases.size, -1)[0], proof.low.reshape(proof.phases.size, -1)[0]
    for _ in range(20):
        j, q, s = (rng.integers(size) for size in bound.shape[1:])
        depth = j + proof.phases[q] + rng.choice([-0.5, 0.5, rng.uniform(-0.5, 0.5)]) / proof.phases.size
        signal = rng.choice([ends[0][s], ends[1][s], rng.uniform(ends[1][s], ends[0][s])])
        actual = by_definition(sensor, depth, signal, tried[0], fired[0])
        assert actual <= bound[0, j, q, s] + 1e-6 * (1 + abs(actual))
        middle = by_definition(
            sensor, j + proof.phases[q], proof.signal.reshape(proof.phases.size, -1)[0][s], tried[0], fired[0]
        )
        assert value[0, j, q, s] == pytest.approx(middle, abs=1e-6, rel=1e-9)


def test_the_bound_is_tight_enough_to_be_of_use():
    """At counts that just decide, it exceeds the largest likelihood outside the window by less than two nats."""
    sensor = Sensor(bins=60, ambient=5.0)
    tried, fired = counts_of(sensor, np.full(40, 30.3), 0.5, 150)
    proof = certificate(3.0, sensor.background, 0.05, STRONGEST, 1.0)
    value, bound = bounds_everywhere(proof, tried, fired)
    depth = np.arange(60)[:, np.newaxis] + proof.phases
    away = np.abs(depth - 30.3) > 1
    slack = np.where(away[..., np.newaxis], bound, -np.inf).max(axis=(1, 2, 3))
    slack = slack - np.where(away[..., np.newaxis], value, -np.inf).max(axis=(1, 2, 3))
    assert slack.mean() < 2.0


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6))
def test_no_return_within_a_window_exceeds_the_free_fit(seed):
    rng = np.random.default_rng(seed)
    sensor = Sensor(bins=25, fwhm=3.0, ambient=2.0)
    tried, fired = counts_of(sensor, rng.uniform(0, 25), rng.choice([0.0, 1.0]), int(rng.integers(1, 500)), seed)
    most = free_fit(tried, fired, sensor.background, sensor.pulse.half)[0]
    for depth, signal in zip(rng.uniform(0, 25, 20), rng.choice([0.01, 0.3, 2.0, 30.0], 20), strict=True):
        assert by_definition(sensor, depth, signal, tried[0], fired[0]) <= most[int(depth)] + 1e-9


def held(samples, successes, delta=0.05, background=0.05):
    model = return_model(3.0, background, 0.05, STRONGEST)
    centre = model.estimate(samples, successes)
    return certificate(3.0, background, 0.05, STRONGEST, 1.0).holds(samples, successes, centre, np.log(1 / delta))


@given(
    fwhm=st.sampled_from([1.0, 3.0, 10.0]),
    reach=st.sampled_from([0.5, 1.0, 5.0]),
    centre=st.floats(0, 20),
)
def test_a_cell_is_left_out_only_if_all_of_it_is_within_the_window(fwhm, reach, centre):
    proof = certificate(fwhm, 0.05, 0.05, STRONGEST, reach)
    cells = proof.phases.size
    outside = proof._outside(np.arange(20)[np.newaxis], np.array([centre]))[0].reshape(20 * cells, -1)
    ends = np.arange(20 * cells + 1) / cells
    beyond = np.maximum(np.abs(ends[:-1] - centre), np.abs(ends[1:] - centre)) - reach
    clear = np.abs(beyond) > 1e-9  # at the very edge either is right but for rounding
    assert (outside == (beyond > 0)[:, np.newaxis])[clear].all()


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("cell", [0, 3, 7])
def test_a_depth_just_beyond_the_window_counts_though_the_middle_of_its_cell_is_within(side, cell):
    """By the definition: a depth outside is likelier than what is asked allows, so there is no proof.

    Its cell lies across the window's edge, and farther cells are all less likely by more than their bounds give away.
    """
    sensor = Sensor(bins=40, ambient=0.5)
    proof = certificate(3.0, sensor.background, 0.05, STRONGEST, 1.0)
    centre = 20 + proof.phases[cell] - side * (1 - 1e-3 / proof.phases.size)
    samples = np.full((1, 40), 1000)
    successes = samples * sensor.chances([centre + 0.2 * side], [0.5])
    value, _ = bounds_everywhere(proof, samples, successes)
    mean = logsumexp(value.reshape(40, -1) + proof.log_weight) - np.log(40)
    beyond = centre + side * (1 + 1e-9)
    likeliest = max(
        by_definition(sensor, beyond, signal, samples[0], successes[0]) for signal in np.linspace(0.3, 0.7, 41)
    )
    allowed = mean - likeliest
    assert allowed > 40
    assert not proof.holds(samples, successes, np.array([centre]), allowed + 1e-3).any()
    assert proof.holds(samples, successes, np.array([centre]), allowed - 20).all()  # so it is the edge that decides


def test_it_holds_with_enough_counts_and_not_with_few():
    sensor = Sensor(bins=100, ambient=5.0)
    few, plenty = (counts_of(sensor, np.linspace(10, 90, 50), 0.5, samples) for samples in (20, 1000))
    assert not held(*few).any()
    assert held(*plenty).all()


@pytest.mark.parametrize("depth", [0.0, 0.4, 99.6, 100.0])
def test_it_holds_at_the_ends_of_the_range_too(depth):
    sensor = Sensor(bins=100, ambient=5.0)
    assert held(*counts_of(sensor, depth, 0.5, 5000)).all()


def test_a_window_with_all_depths_in_it_is_no_proof_of_a_return():
    """Half of a wide pulse's width covers a short range; without a photon nothing is certain."""
    nothing = np.zeros((1, 9), dtype=np.int64)
    proof = certificate(10.0, 0.05, 0.05, STRONGEST, 5.0)
    assert not proof.holds(nothing, nothing, np.array([4.5]), np.log(20)).any()
    sensor = Sensor(bins=9, fwhm=10.0, ambient=0.45)
    assert proof.holds(*counts_of(sensor, 4.5, 3.0, 300), np.array([4.5]), np.log(20)).all()


@pytest.mark.parametrize("depth", [0.2, 4.5, 8.8])
def test_the_mean_likelihood_has_every_bin_once_and_none_beyond_the_range(depth):
    """With all depths in the window, the mean alone decides: it has to reach what is needed."""
    tried, fired = counts_of(Sensor(bins=9, fwhm=10.0, ambient=0.45), depth, 3.0, 300)
    proof = certificate(10.0, 0.05, 0.05, STRONGEST, 5.0)
    value, _ = bounds_everywhere(proof, tried, fired)
    mean = logsumexp(value.reshape(9, -1) + proof.log_weight) - np.log(9)
    assert proof.holds(tried, fired, np.array([4.5]), mean - 1e-9).all()
    assert not proof.holds(tried, fired, np.array([4.5]), mean + 1e-9).any()


@pytest.mark.parametrize("signal", [0.01, 0.02, 0.035, 0.05, 0.07])
def test_dim_returns_are_certain_in_the_end(signal):
    """About the weakest signal expected, and below it. With one cell for all these no counts were enough."""
    sensor = Sensor(bins=100, ambient=1.0)
    samples = int(400 / signal + 40 / signal**2)
    assert held(*counts_of(sensor, np.linspace(10, 90, 20), signal, samples), background=sensor.background).all()


@pytest.mark.parametrize(("fwhm", "tolerance"), [(3.0, 1.0), (4.24, 1.0), (10.0, 5.0)])
@pytest.mark.parametrize("ambient", [1.0, 20.0])
@pytest.mark.parametrize("mean", [0.2, 1.0])
def test_counts_without_noise_decide_for_a_tenth_of_the_mean_signal(fwhm, tolerance, ambient, mean):
    """Where bounds over cells grow faster than the evidence no samples are enough: so it was in bright light."""
    sensor = Sensor(bins=200, fwhm=fwhm, ambient=ambient)
    samples = np.full((1, 200), 1e7)
    proof = certificate(fwhm, sensor.background, mean / 10, 10 * mean, tolerance)
    for depth in (100.0, 100.3, 100.5):
        successes = samples * sensor.chances([depth], [mean / 10])
        assert proof.holds(samples, successes, np.array([depth]), np.log(20)).all()


def test_it_is_made_for_signals_of_any_strength():
    assert np.isfinite(certificate(3.0, 0.05, 10.0, 1e6, 1.0).fires).all()


def test_two_returns_are_not_one_depth():
    """A second pulse of nearly the same height, far away: no depth is certain, whatever the counts."""
    sensor = Sensor(bins=100, ambient=5.0)
    rates = 0.5 * sensor.pulse.shares(np.array([20.0]), 100) + 0.499 * sensor.pulse.shares(np.array([70.0]), 100) + 0.05
    samples = np.full((1, 100), 3000)
    successes = np.round(samples * -np.expm1(-rates)).astype(np.int64)
    assert not held(samples, successes).any()


@pytest.mark.statistical
def test_without_a_return_nothing_is_certain():
    """Of 150 pixels without a return, at 25 looks each and delta = 0.5, not one was certain when this was written.

    By the theorem each may be with probability 0.5. Depth and signal pay for their prior, so there are far fewer; and
    with the best likelihood in place of the mean, which pays nothing, there are 119. More than 15 would be a fault.
    """
    sensor = Sensor(bins=50, ambient=2.5)
    rng = np.random.default_rng(8)
    tried = np.zeros((150, 50), dtype=np.int64)
    fired = tried.copy()
    ever = np.zeros(150, dtype=np.bool_)
    chances = sensor.chances(np.full(150, np.nan), np.zeros(150))
    for more in np.geomspace(5, 400, 25).astype(int):
        fired = fired + rng.binomial(more, chances)
        tried = tried + more
        ever |= held(tried, fired, delta=0.5)
    assert ever.sum() <= 15
