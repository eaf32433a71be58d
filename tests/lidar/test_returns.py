"""The likelihood of a return over a background that is not known, and the depth that fits best."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from linkedbandits.intervals import share_interval
from linkedbandits.lidar import Sensor
from linkedbandits.lidar.pulse import MeasuredPulse, Pulse
from linkedbandits.lidar.returns import (
    LEVEL_RATIO,
    LEVEL_SPAN,
    binary_entropy,
    few_at_a_time,
    return_model,
    shares,
    surroundings,
    surroundings_of_both,
)
from linkedbandits.lidar.sensor import LEAST_BACKGROUND
from tests.support.photon_counts import apart, by_definition, counts_of

MEASURED = MeasuredPulse.from_samples([0, 4, 8, 2, 1, 1, 0], step=0.5)


@given(
    fwhm=st.sampled_from([1.0, 3.0, 4.24, 10.0, None]),
    bins=st.integers(2, 40),
    told=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_the_table_gives_the_likelihood_of_the_definition(fwhm, bins, told, seed):
    """At every depth of the grid and every level, also where the pulse is cut off at the ends of the range."""
    sensor = Sensor(bins=bins, fwhm=fwhm or 3.0, ambient=3.0, response=None if fwhm else MEASURED)
    model = return_model(sensor.pulse, sensor.background, 0.1, 2.0, told)
    rng = np.random.default_rng(seed)
    samples = rng.integers(0, 30, (2, bins))
    successes = rng.binomial(samples, 0.2)
    level = rng.integers(0, (model.backgrounds < 5).sum(), 2)
    table = model.log_likelihood(samples, successes, level)
    assert table.shape == (2, model.signals.size, model.phases.size, bins)
    s, q, j = rng.integers(model.signals.size), rng.integers(model.phases.size), rng.integers(bins)
    for lane in range(2):
        expected = by_definition(
            sensor,
            j + model.phases[q],
            model.signals[s],
            samples[lane],
            successes[lane],
            model.backgrounds[level[lane : lane + 1]],
        )
        assert table[lane, s, q, j] == pytest.approx(expected, abs=1e-8, rel=1e-8)


def test_single_precision_is_near_enough_and_a_lane_does_not_depend_on_its_neighbours():
    sensor = Sensor(bins=60, ambient=5.0)
    model = return_model(Pulse(3.0), sensor.background, 0.05, 5.0)
    samples, successes = counts_of(sensor, np.linspace(5, 55, 9), 0.5, 200)
    level = np.arange(9) + 30
    exact = model.log_likelihood(samples, successes, level)
    rough = model.log_likelihood(samples, successes, level, rough=True)
    assert rough.dtype == np.float32
    assert np.abs(exact - rough).max() < 0.01
    alone = np.concatenate(
        [model.estimate(samples[i : i + 1], successes[i : i + 1], level[i : i + 1]) for i in range(9)]
    )
    assert np.array_equal(model.estimate(samples, successes, level), alone)
    again = model.log_likelihood(samples[4:5], successes[4:5], level[4:5], rough=True)
    assert np.array_equal(rough[4:5], again)


def test_levels_are_evenly_apart_around_what_is_expected():
    model = return_model(Pulse(3.0), 0.05, 0.05, 5.0)
    assert model.expected_background == pytest.approx(0.05)
    assert model.backgrounds[1:] / model.backgrounds[:-1] == pytest.approx(LEVEL_RATIO)
    assert model.backgrounds[0] <= 0.05 / LEVEL_SPAN
    assert model.backgrounds[-1] >= 0.05 * LEVEL_SPAN
    assert not model.told
    told = return_model(Pulse(3.0), 0.05, 0.05, 5.0, told=True)
    assert (told.told, told.backgrounds.tolist(), told.expected_background) == (True, [0.05], 0.05)
    assert return_model(Pulse(3.0), 0.0, 0.05, 5.0).expected_background == pytest.approx(LEAST_BACKGROUND)


@given(st.floats(1e-5, 10.0))
def test_the_level_of_a_background_is_the_nearest(background):
    model = return_model(Pulse(3.0), 0.05, 0.05, 5.0)
    level = model.level_of(np.array([background]))
    nearest = np.abs(np.log(model.backgrounds / background)).argmin()
    assert abs(int(level[0]) - nearest) <= (abs(np.log(background / 0.05) / np.log(LEVEL_RATIO) % 1 - 0.5) < 1e-6)
    told = return_model(Pulse(3.0), 0.05, 0.05, 5.0, told=True)
    assert told.level_of(np.array([background])).tolist() == [0]


@pytest.mark.statistical
@pytest.mark.parametrize("depth", [0.2, 25.4, 39.9])
@pytest.mark.parametrize("signal", [0.5, 50.0])
def test_the_background_away_from_a_return_is_found_whatever_the_return(depth, signal):
    """The mean over 300 pixels, each with some 40 samples of 25 bins or more, is off by 3 % with probability 1e-3.

    What is expected counts as three photons: with an expectation ten times too large that is half a percent here.
    """
    sensor = Sensor(bins=40, ambient=4.0)
    model = return_model(sensor.pulse, 0.1, 0.05, 5.0)
    samples, successes = counts_of(sensor, np.full(300, depth), signal, 400)
    found = model.background_elsewhere(samples, successes, np.full(300, depth), np.full(300, 1.0))
    assert found.mean() == pytest.approx(0.1, rel=0.02)


def test_a_few_photons_are_as_expected():
    """Without any sample it is what is expected; a told one is what it is."""
    nothing = np.zeros((2, 30), dtype=np.int64)
    expected = np.array([0.03, 0.4])
    model = return_model(Pulse(3.0), 0.1, 0.05, 5.0)
    assert model.background_elsewhere(nothing, nothing, np.zeros(2), expected) == pytest.approx(expected)
    told = return_model(Pulse(3.0), 0.1, 0.05, 5.0, told=True)
    full = np.full((2, 30), 500)
    assert told.background_elsewhere(full, full, np.zeros(2), expected).tolist() == [0.1, 0.1]
    assert np.isfinite(model.background_elsewhere(full, full, np.zeros(2), expected)).all()


def test_bins_that_a_return_reaches_do_not_count_for_the_background():
    model = return_model(Pulse(3.0), 0.1, 0.05, 5.0)
    samples = np.full((1, 40), 10**7)
    successes = samples // 20
    half = model.pulse.half
    for place in (0, 17, 39):
        changed = successes.copy()
        changed[0, max(place - half, 0) : place + half + 1] = 10**6
        found = model.background_elsewhere(samples, changed, np.array([place + 0.5]), np.array([0.05]))
        assert found[0] == pytest.approx(-np.log(0.95), rel=1e-4)
        changed[0, place - half - 1 if place > half else place + half + 1] = 10**6
        other = model.background_elsewhere(samples, changed, np.array([place + 0.5]), np.array([0.05]))
        assert other[0] > 1.01 * found[0]


@pytest.mark.parametrize("fwhm", [3.0, 4.24, 10.0])
def test_with_plenty_of_counts_the_estimate_is_right_to_a_fraction_of_a_bin(fwhm):
    """Whatever the background of the pixel is: a factor of 9 to both sides of what was expected."""
    sensor = Sensor(bins=100, fwhm=fwhm, ambient=5.0)
    depth = np.random.default_rng(3).uniform(10, 90, 200)
    background = apart(0.05, 200, span=81.0)
    model = return_model(Pulse(fwhm), sensor.background, 0.05, 5.0)
    samples, successes = counts_of(sensor, depth, 0.5, 50_000, background=background)
    found, level = model.fitted(samples, successes, np.full(200, 0.05))
    assert np.abs(found - depth).max() < 0.08 * fwhm
    assert np.abs(np.log(model.backgrounds[level] / background)).max() < np.log(LEVEL_RATIO)
    dim, bright = background < 0.02, background > 0.1
    assert dim.any()
    assert bright.any()


def test_a_background_that_is_told_wrong_looks_like_a_return_and_one_that_is_found_does_not():
    """Nothing comes back, and the background is twice what was expected."""
    sensor = Sensor(bins=100, ambient=5.0)
    samples, successes = counts_of(sensor, np.full(50, np.nan), 0.0, 300, background=np.full(50, 0.1))
    seen = []
    for told in (False, True):
        model = return_model(Pulse(3.0), 0.05, 0.05, 5.0, told)
        depth, level = model.fitted(samples, successes, np.full(50, 0.05))
        seen.append((model.evidence(samples, successes, level, depth) > 0).mean())
    assert seen[0] < 0.1
    assert seen[1] > 0.9


def test_a_prior_moves_the_estimate_where_counts_do_not_tell():
    """Two returns alike: the one that is likelier beforehand. And a prior does not overrule plenty of counts."""
    model = return_model(Pulse(3.0), 0.05, 0.05, 5.0)
    sensor = Sensor(bins=60, ambient=3.0)
    rates = 0.5 * sensor.pulse.shares(np.array([15.5]), 60) + 0.5 * sensor.pulse.shares(np.array([45.5]), 60) + 0.05
    samples = np.full((1, 60), 100)
    successes = np.round(samples * -np.expm1(-rates)).astype(np.int64)
    for place in (15, 45):
        weight = np.full((1, 60), 0.5 / 59)
        weight[0, place] = 0.5
        found, _ = model.fitted(samples, successes, np.array([0.05]), np.log(weight))
        assert found[0] == pytest.approx(place + 0.5, abs=0.3)
        sure, _ = model.fitted(*counts_of(sensor, 30.2, 0.5, 1000), np.array([0.05]), np.log(weight))
        assert sure[0] == pytest.approx(30.2, abs=0.3)


def test_evidence_speaks_for_a_return_where_there_is_one_and_against_it_where_there_is_none():
    """At every level of the true background, none of which was expected."""
    sensor = Sensor(bins=100, ambient=5.0)
    model = return_model(Pulse(3.0), sensor.background, 0.05, 5.0)
    background = apart(0.05, 100)

    def evidence(samples, successes):
        depth, level = model.fitted(samples, successes, np.full(len(samples), 0.05))
        return model.evidence(samples, successes, level, depth)

    assert (evidence(*counts_of(sensor, np.full(100, 40.0), 0.5, 150, background=background)) > 0).mean() > 0.97
    assert (evidence(*counts_of(sensor, np.full(100, np.nan), 0.0, 200, background=background)) < 0).mean() > 0.9
    nothing = np.zeros((1, 100), dtype=np.int64)
    assert evidence(nothing, nothing) == pytest.approx(0)


@pytest.mark.parametrize("samples", [3000, 1_000_000])
def test_a_dim_return_is_seen_however_many_photons_there_are(samples):
    """No level is the very background: what that costs grows with the photons, as the evidence for a return does.

    Both may have what fits them best. When just "no return" had, half of these returns were never seen.
    """
    sensor = Sensor(bins=200, ambient=20.0)
    model = return_model(Pulse(3.0), sensor.background, 0.05, 5.0)
    depth = np.linspace(5, 195, 60)
    tried, fired = counts_of(sensor, depth, 0.2, samples, background=apart(0.1, 60))
    found, level = model.fitted(tried, fired, np.full(60, 0.1))
    assert np.abs(found - depth).max() < 1
    assert (model.evidence(tried, fired, level, found) > 0).mean() > 0.97
    tried, fired = counts_of(sensor, np.full(60, np.nan), 0.0, samples, background=apart(0.1, 60))
    found, level = model.fitted(tried, fired, np.full(60, 0.1))
    assert (model.evidence(tried, fired, level, found) < 0).mean() > 0.9


def likeliest_alone(background, samples, successes):
    """The log-likelihood of counts of background alone: the largest, against that of the background given."""
    fired, missed = successes.sum(), (samples - successes).sum()
    value = [fired * np.log(-np.expm1(-b)) - missed * b for b in (background, *np.geomspace(0.01, 1, 4001))]
    return max(value) - value[0]


def test_evidence_is_the_mean_of_likelihoods_against_none_by_the_definition():
    """With a prior and without; each side with its best background in the bins that no return reaches."""
    sensor = Sensor(bins=30, ambient=3.0)
    model = return_model(Pulse(3.0), 0.1, 0.05, 5.0)
    (samples,), (successes,) = counts_of(sensor, 11.3, 0.7, 40)
    prior = np.random.default_rng(1).dirichlet(np.ones(30))
    level = model.level_of(np.array([0.13]))
    away = np.abs(np.arange(30) - 11) > model.pulse.half
    background = float(model.backgrounds[level[0]])
    better = likeliest_alone(background, samples, successes) - likeliest_alone(
        background, samples[away], successes[away]
    )
    for log_prior, weights in [(None, np.full(30, 1 / 30)), (np.log(prior)[np.newaxis], prior)]:
        terms = [
            by_definition(sensor, j + phase, signal, samples, successes, model.backgrounds[level]) + np.log(weights[j])
            for j in range(30)
            for phase in model.phases
            for signal in model.signals
        ]
        expected = logsumexp(terms) - np.log(model.cells_per_bin) - better
        found = model.evidence(samples[np.newaxis], successes[np.newaxis], level, np.array([11.3]), log_prior)
        assert found[0] == pytest.approx(expected, abs=1e-3)
    told = return_model(Pulse(3.0), 0.1, 0.05, 5.0, told=True)
    assert told.none_better(samples[np.newaxis], successes[np.newaxis], np.zeros(1), np.array([11.3])).tolist() == [0]


def test_how_probable_a_window_is_is_its_share_of_the_weight():
    """By a plain loop over all windows."""
    rng = np.random.default_rng(4)
    log_weight = rng.normal(0, 3, (3, 2, 4, 10))
    none = np.array([-20.0, 1.0, 3.0])
    for tolerance, wide in ((0.5, 4), (1.0, 8), (30.0, 40), (0.01, 1)):
        found, empty = shares(log_weight, none, tolerance)
        for lane in range(3):
            weight = np.exp(log_weight[lane]).sum(axis=0).T.reshape(-1)
            best = max(weight[start : start + wide].sum() for start in range(40 - wide + 1))
            total = weight.sum() + 2 * 4 * np.exp(none[lane])
            assert (found[lane], empty[lane]) == pytest.approx((best / total, 2 * 4 * np.exp(none[lane]) / total))


@pytest.mark.statistical
@pytest.mark.parametrize("ambient", [5.0, 15.0])
def test_of_depths_that_are_likely_to_be_right_about_that_share_is(ambient):
    """300 pixels, looked at again and again until 0.9 is reached, with unknown backgrounds a factor of 9 apart.

    If 0.9 of them are right in truth, fewer than 84 % here has a probability below 1e-3. Measured 0.93 to 0.96.
    """
    bins, pixels = 60, 300
    sensor = Sensor(bins=bins, ambient=ambient)
    rng = np.random.default_rng(5)
    depth = rng.uniform(0, bins, pixels)
    chances = sensor.chances(depth, 0.5 * 9 ** rng.uniform(-0.5, 0.5, pixels), apart(ambient / bins, pixels, 3))
    model = return_model(sensor.pulse, sensor.background, 0.05, 5.0)
    samples = np.zeros((pixels, bins), dtype=np.int64)
    successes, right, going = samples.copy(), np.zeros(pixels, dtype=np.bool_), np.ones(pixels, dtype=np.bool_)
    for more in np.diff(np.geomspace(4, 30_000, 30).astype(int), prepend=0):
        rows = np.flatnonzero(going)
        if rows.size == 0:
            break
        samples[rows] += more
        successes[rows] += rng.binomial(more, chances[rows])
        found, level = model.fitted(samples[rows], successes[rows], np.full(rows.size, sensor.background))
        weight = model.log_likelihood(samples[rows], successes[rows], level) - np.log(bins)
        sure, _ = shares(weight, model.none_better(samples[rows], successes[rows], level, found), 1.0)
        right[rows] = np.abs(found - depth[rows]) <= 1
        going[rows[sure >= 0.9]] = False
    assert going.mean() < 0.05
    assert share_interval(int(right[~going].sum()), int((~going).sum()), confidence=0.998)[1] >= 0.9
    assert right[~going].mean() > 0.84


def test_without_a_return_no_depth_is_likely():
    """The weight of "no return" counts: of 200 empty pixels less than a tenth are likely to have a depth."""
    sensor = Sensor(bins=60, ambient=6.0)
    model = return_model(sensor.pulse, sensor.background, 0.05, 5.0)
    samples, successes = counts_of(sensor, np.full(200, np.nan), 0.0, 300, background=apart(0.1, 200))
    depth, level = model.fitted(samples, successes, np.full(200, 0.1))
    weight = model.log_likelihood(samples, successes, level) - np.log(60)
    near, none = shares(weight, model.none_better(samples, successes, level, depth), 1.0)
    assert (near > 0.9).mean() < 0.1
    assert (none > 0.5).mean() > 0.9


@given(bins=st.integers(1, 12), half=st.integers(0, 15), seed=st.integers(0, 100))
def test_surroundings_have_nothing_beyond_the_ends(bins, half, seed):
    rng = np.random.default_rng(seed)
    one, other = rng.integers(0, 9, (2, 3, bins))
    found = surroundings(one, half)
    both = surroundings_of_both(one, other, half, np.float64)
    for place in range(2 * half + 1):
        for j in range(bins):
            there = j + place - half
            expected = one[:, there] if 0 <= there < bins else np.zeros(3)
            assert found[:, place, j].tolist() == expected.tolist()
    assert np.array_equal(both, np.concatenate([found, surroundings(other, half)], axis=1))


def test_the_entropy_of_a_coin():
    assert binary_entropy(np.array([0.5, 1.0, 1e-9])) == pytest.approx([np.log(2), 0.0, 2.17e-8], abs=1e-9)


def test_lanes_are_taken_a_few_at_a_time_and_each_once():
    parts = list(few_at_a_time(10, 2**16))
    assert [len(range(10)[part]) for part in parts] == [2] * 5
    assert len(list(few_at_a_time(3, 2**40))) == 3
