"""Depth from counts that are there already."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.errors import InvalidParameter
from linkedbandits.intervals import share_interval
from linkedbandits.lidar import Sensor, locating
from linkedbandits.lidar.certificate import Certificate
from linkedbandits.lidar.expected import Expected
from linkedbandits.lidar.locating import locate
from tests.support.around import said_around
from tests.support.photon_counts import apart, by_definition, counts_of
from tools.photon_arrivals import Light, first_photons

SENSOR = Sensor(bins=60, ambient=3.0)


def test_with_plenty_of_counts_everything_is_found():
    """Of backgrounds a factor of 9 apart, with just the mean known."""
    depth = np.linspace(3, 57, 40)
    background = apart(0.05, 40)
    found = locate(*counts_of(SENSOR, depth, 0.7, 3000, background=background), SENSOR)
    assert found.depth == pytest.approx(depth, abs=0.3)
    assert ((found.low <= depth) & (depth <= found.high)).all()
    assert (found.high - found.low).max() < 2
    assert found.signal == pytest.approx(0.7, rel=0.25)
    assert found.background == pytest.approx(background, rel=0.1)
    assert found.confident.mean() > 0.95
    assert found.probable.min() > 0.99


def test_where_nothing_comes_back_there_is_no_depth_and_no_interval():
    samples, successes = counts_of(SENSOR, np.full(40, np.nan), 0.0, 400, background=apart(0.05, 40))
    found = locate(samples, successes, SENSOR)
    empty = np.isnan(found.depth)
    assert empty.mean() > 0.85
    assert not found.confident.any()
    assert (found.signal[empty] == 0).all()
    assert (found.probable[empty] == 0).all()
    assert (found.low.tolist(), found.high.tolist()) == ([0.0] * 40, [60.0] * 40)
    assert found.background == pytest.approx(apart(0.05, 40), rel=0.2)


@pytest.mark.parametrize("fired", [0, 300])
def test_counts_that_say_nothing_have_no_depth(fired):
    samples = np.full((2, 60), 300)
    found = locate(samples, np.full((2, 60), fired), SENSOR)
    assert np.isnan(found.depth).all()
    assert not found.confident.any()
    nothing = locate(np.zeros((2, 60), dtype=np.int64), np.zeros((2, 60), dtype=np.int64), SENSOR)
    assert np.isnan(nothing.depth).all()
    assert not nothing.confident.any()


@pytest.mark.statistical
@pytest.mark.parametrize("signal", [0.05, 5.0])
def test_intervals_have_the_true_depth_whatever_was_expected(signal):
    """Signals expected ten times too large or small, backgrounds unknown. Of 150 pixels at delta = 0.2 at most 19 may
    be outside of theirs; right code has hardly any, and fails with a probability below 1e-9."""
    rng = np.random.default_rng(3)
    depth = rng.uniform(0, 60, 150)
    counts = counts_of(SENSOR, depth, 0.5, 120, background=apart(0.05, 150))
    found = locate(*counts, SENSOR, signal=signal, delta=0.2)
    outside = (depth < found.low) | (depth > found.high)
    assert share_interval(int(outside.sum()), 150, confidence=0.98)[1] < 0.2
    assert (found.high - found.low < 60).mean() > 0.2
    sure_and_wrong = found.confident & (np.abs(found.depth - depth) > 1)
    assert sure_and_wrong.sum() <= 3


def test_what_is_expected_of_a_pixel_tells_where_counts_do_not():
    depth = np.linspace(3, 57, 80)
    samples, successes = counts_of(SENSOR, depth, 0.5, 35)
    weight = np.exp(-np.abs(np.arange(60) + 0.5 - depth[:, np.newaxis]))
    weight = 0.2 / 60 + 0.8 * weight / weight.sum(axis=1, keepdims=True)
    near = Expected(np.log(weight / weight.sum(axis=1, keepdims=True)), np.full(80, 0.5), np.full(80, 0.05))
    alone, told = (locate(samples, successes, SENSOR, expected=expected) for expected in (None, near))
    wrong = [(~(np.abs(one.depth - depth) <= 1)).mean() for one in (alone, told)]
    assert wrong[1] < wrong[0] / 2
    assert told.probable.mean() > alone.probable.mean()
    bright = replace(near, background=np.full(80, 5.0))
    assert np.isfinite(locate(samples, successes, SENSOR, expected=bright).depth).mean() > 0.5


@pytest.mark.parametrize("engine", ["numpy", "compiled", "gpu"])
def test_what_is_expected_is_checked_whoever_computes(engine):
    counts = counts_of(SENSOR, np.array([5.0, 20.0]), 0.5, 35)
    with pytest.raises(InvalidParameter, match="counts of 2 pixels, and of 3"):
        locate(*counts, SENSOR, expected=said_around(np.array([5.0, 20.0, 30.0])), engine=engine)
    with pytest.raises(InvalidParameter, match="no number"):
        locate(*counts, SENSOR, expected=said_around(np.array([5.0, np.nan])), engine=engine)


@pytest.mark.parametrize("engine", ["numpy", "compiled"])
def test_what_pixels_around_say_is_spread_over_the_bins(engine):
    depth = np.linspace(3, 57, 30)
    counts = counts_of(SENSOR, depth, 0.5, 35)
    found, its = (
        locate(*counts, SENSOR, expected=expected, engine=engine)
        for expected in (said_around(depth), said_around(depth).expected(60))
    )
    for name in ("depth", "low", "high", "signal", "background", "confident", "probable"):
        np.testing.assert_allclose(getattr(found, name), getattr(its, name), rtol=1e-6, err_msg=name)
    assert not np.array_equal(found.depth, locate(*counts, SENSOR, engine=engine).depth, equal_nan=True)


def test_a_smaller_delta_needs_a_wider_interval():
    counts = counts_of(SENSOR, np.full(20, 31.4), 0.7, 400)
    narrow, wide = (locate(*counts, SENSOR, delta=delta) for delta in (0.5, 1e-6))
    assert (wide.low <= narrow.low).all()
    assert (wide.high >= narrow.high).all()
    assert (wide.high - wide.low).mean() > (narrow.high - narrow.low).mean()


def test_it_says_how_many_pixels_have_finished():
    seen = []
    locate(*counts_of(SENSOR, np.full(300, 30.0), 0.5, 20), SENSOR, progress=seen.append)
    assert sum(seen) == 300
    assert len(seen) > 1


@pytest.mark.parametrize(("wrong", "named"), [({"delta": 1.5}, "delta=1.5"), ({"tolerance": 0.0}, "tolerance=0.0")])
def test_settings_without_a_meaning_are_refused_by_name(wrong, named):
    with pytest.raises(lb.InvalidParameter, match=named):
        locate(*counts_of(SENSOR, 30.0, 0.5, 20), SENSOR, **wrong)


@pytest.mark.parametrize(("depth", "sure"), [(-1.5, False), (15.5, False), (0.0, True), (7.3, True)])
def test_a_return_from_beyond_the_range_is_not_called_sure_within_it(depth, sure, monkeypatch):
    """Counts as they are on average, and no doubt of two returns. Known to be within the range, it would be certain."""
    monkeypatch.setattr(locating, "MORE", np.inf)
    sensor = Sensor(bins=14, ambient=0.7)
    samples = np.full((1, 14), 4000)
    successes = np.rint(samples * sensor.chances(np.full(1, depth), np.full(1, 0.5))).astype(np.int64)
    found = locate(samples, successes, sensor, signal=0.5)
    expected = Expected.alike(1, 14, 0.5, 0.05)
    assert Certificate(sensor.pulse, 1.0).holds(samples, successes, found.depth, np.log(20), expected).all()
    assert found.confident.tolist() == [sure]
    assert 0 <= found.low[0] <= found.high[0] <= 14


def photons_of(signal, pixels=40, cycles=20_000, seed=4):
    """Looks and first photons of a sensor that stops at the first one, from photons that arrive one by one."""
    rng = np.random.default_rng(seed)
    depth = rng.uniform(10, 50, pixels)
    fired = first_photons(Light(signal, 1.0, 3.0, 60, cycles), depth, rng)
    return cycles - fired.cumsum(axis=1) + fired, fired, depth


SIGNALS = [0.5, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0]


@pytest.mark.statistical
@pytest.mark.parametrize("engine", ["numpy", "compiled"])
def test_every_depth_lies_in_its_own_interval_however_strong_the_signal(engine):
    """With 0.5 photons a cycle expected. Of 320 intervals at delta = 0.05 more than 40 miss the true depth with a
    probability below 1e-6. Depths are off by 0.02 bins, so that the mean of 40 is by 0.02 with less than 1e-6."""
    missed = 0
    for signal in SIGNALS:
        samples, fired, depth = photons_of(signal)
        found = locate(samples, fired, SENSOR, engine=engine)
        assert found.confident.all(), signal
        assert ((found.low <= found.depth) & (found.depth <= found.high)).all(), signal
        missed += int(((depth < found.low) | (depth > found.high)).sum())
        assert abs((found.depth - depth).mean()) < 0.02, signal
        assert found.signal == pytest.approx(signal, rel=0.1)
    assert missed <= 40


@pytest.mark.parametrize("signal", [0.5, 2.8, 8.0])
def test_no_depth_signal_and_background_nearby_is_likelier(signal):
    samples, fired, _ = photons_of(signal, pixels=5)
    found = locate(samples, fired, SENSOR)
    for pixel in range(5):
        best = np.array([found.depth[pixel], found.signal[pixel], found.background[pixel]])

        def log_likelihood(at, pixel=pixel):
            gain = by_definition(SENSOR, at[0], at[1], samples[pixel], fired[pixel], at[2])
            alone = -np.expm1(-at[2])
            total = fired[pixel].sum()
            return gain + total * np.log(alone) - (samples[pixel].sum() - total) * at[2]

        for change in np.array(np.meshgrid([-1, 0, 1], [-1, 0, 1], [-1, 0, 1])).reshape(3, -1).T:
            other = best * (1 + np.array([1e-4, 1e-2, 1e-2]) * change)
            assert log_likelihood(other) <= log_likelihood(best) + 1e-6


def not_refined(pulse, samples, successes, expected, fit, strongest):
    return fit


def test_what_lies_outside_of_its_own_interval_is_not_called_sure(monkeypatch):
    """A depth that is read off a grid of signals does, where photons pile up."""
    samples, fired, _ = photons_of(2.8)
    monkeypatch.setattr(locating, "refine", not_refined)
    found = locate(samples, fired, SENSOR)
    outside = (found.depth < found.low) | (found.depth > found.high)
    assert outside.mean() > 0.5
    assert not found.confident[outside].any()


@pytest.mark.parametrize("engine", ["numpy", "compiled"])
def test_where_no_interval_is_proved_no_depth_is_sure_whatever_the_tolerance(engine):
    samples, fired, _ = photons_of(0.1, cycles=150)
    found = locate(samples, fired, SENSOR, tolerance=1000.0, engine=engine)
    everything = (found.low == 0) & (found.high == 60)
    assert (everything & np.isfinite(found.depth)).sum() > 10
    assert not found.confident[everything].any()
    bright = locate(*photons_of(0.5, cycles=1000)[:2], SENSOR, tolerance=1000.0, engine=engine)
    assert (bright.high - bright.low < 5).all()
