"""From photons to a depth map."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.lidar import DepthMap, Photons, depth_maps, find_depths
from linkedbandits.lidar.borrowing import passes
from linkedbandits.lidar.locating import Located, locate
from linkedbandits.lidar.sensor import LEAST_BACKGROUND
from tests.support.photon_files import histogram

COUNTS, DEPTH = histogram()
PHOTONS = Photons.from_histogram(COUNTS, cycles=200, bin_seconds=1e-9)


def sure(samples, detections, sensor, *, signal, delta, tolerance, expected, progress, engine):
    """Sure of the bin with the most photons."""
    depth = detections.argmax(axis=1) + 0.5
    ones = np.ones(len(depth))
    return Located(depth, depth - 1, depth + 1, 0.5 * ones, 0.001 * ones, ones > 0, ones)


def test_depths_are_in_metres_from_where_light_of_depth_0_comes():
    found = find_depths(PHOTONS, fwhm=2.0)
    assert found.depth.shape == (3, 4)
    assert np.abs(found.depth - PHOTONS.depth(DEPTH)).max() < 0.08
    assert ((found.interval[..., 0] < found.depth) & (found.depth < found.interval[..., 1])).all()
    assert np.array_equal(found.cycles, PHOTONS.cycles)
    assert (found.source, found.delta, found.notes) == ("histogram", 0.05, ())
    moved = find_depths(replace(PHOTONS, zero_seconds=2e-9), fwhm=2.0)
    assert np.allclose(found.depth - moved.depth, 0.299792458)


def test_nothing_is_sure_where_samples_are_not_exact(monkeypatch):
    monkeypatch.setattr(depth_maps, "locate", sure)
    assert find_depths(PHOTONS, fwhm=2.0).confident.all()
    assert not find_depths(replace(PHOTONS, exact=False), fwhm=2.0).confident.any()


def test_it_says_where_a_depth_and_its_interval_disagree(monkeypatch):
    """What is sure of it is for locate to say."""

    def beside(*counts, **told):
        found = sure(*counts, **told)
        return replace(found, low=found.low + 1.5, high=found.high + 1.5, confident=found.confident & False)

    monkeypatch.setattr(depth_maps, "locate", beside)
    (note,) = find_depths(PHOTONS, fwhm=2.0).notes
    assert note == "12 depths are outside of the interval of the same pixel, and not called sure."


@pytest.mark.parametrize(
    ("photons", "signal", "said"),
    [
        (PHOTONS, 50.0, r"100 % .* less than 5 or more than 500 photons a cycle.*about 0.5 would fit"),
        (replace(PHOTONS, background=np.full((3, 4), 1e-2)), 0.5, "not within a factor of 2 of the calibrated one"),
        (replace(PHOTONS, zero_seconds=1e-6), 0.5, r"12 depths are below 0.*--zero"),
        (PHOTONS.noting("Mind the gap."), 0.5, "Mind the gap"),
    ],
)
def test_it_says_in_words_what_does_not_fit(photons, signal, said, monkeypatch):
    monkeypatch.setattr(depth_maps, "locate", sure)
    (note,) = find_depths(photons, fwhm=2.0, signal=signal).notes
    assert re.search(said, note)


def test_a_calibrated_background_that_fits_needs_no_words(monkeypatch):
    monkeypatch.setattr(depth_maps, "locate", sure)
    assert find_depths(replace(PHOTONS, background=np.full((3, 4), 1e-3)), fwhm=2.0).notes == ()


def test_where_most_bins_have_no_photon_at_all_there_is_some_background_still():
    counts = np.zeros((1, 1, 60), dtype=int)
    counts[0, 0, [30, 31, 31, 32]] = 1, 3, 3, 1
    found = find_depths(Photons.from_histogram(counts, cycles=50, bin_seconds=1e-9), fwhm=2.0, signal=0.1)
    assert found.depth == pytest.approx(31.5 * 0.1499, abs=0.1)


def expectations(monkeypatch, photons, **told):
    """What every pixel was located with, in the order of the image."""
    seen = []

    def watched(samples, detections, sensor, *, expected, **rest):
        seen.append(expected.expected(photons.bins))
        return sure(samples, detections, sensor, expected=expected, **rest)

    monkeypatch.setattr(depth_maps, "locate", watched)
    find_depths(photons, fwhm=2.0, **told)
    return seen


def test_later_pixels_begin_with_what_was_found_around_them(monkeypatch):
    first, *later = expectations(monkeypatch, PHOTONS)
    assert first.log_prior == pytest.approx(-np.log(20))
    assert first.signal.tolist() == [0.5] * len(first.signal)
    assert sum(len(each.signal) for each in (first, *later)) == 12
    for each in later:
        assert np.exp(each.log_prior).sum(axis=1) == pytest.approx(1)
        assert np.ptp(each.log_prior, axis=1).min() > 1
        assert each.background == pytest.approx(0.001, rel=1e-4)
    (alone,) = expectations(monkeypatch, PHOTONS, borrow=False)
    assert alone.log_prior == pytest.approx(-np.log(20))


def test_pixels_that_are_copied_together_change_nothing(monkeypatch):
    whole = find_depths(PHOTONS, fwhm=2.0)
    monkeypatch.setattr(depth_maps, "_PIXELS_AT_ONCE", 2)
    parts = find_depths(PHOTONS, fwhm=2.0)
    for name in ("depth", "interval", "signal", "background", "confident"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name), equal_nan=True)


def test_a_calibrated_background_is_what_is_expected_of_each_pixel(monkeypatch):
    background = np.geomspace(0.001, 0.1, 12).reshape(3, 4)
    background[2, 2] = 0.0
    (alone,) = expectations(monkeypatch, replace(PHOTONS, background=background), borrow=False)
    assert alone.background.tolist() == np.maximum(background.reshape(-1), LEAST_BACKGROUND).tolist()


@pytest.mark.parametrize("borrow", [True, False])
def test_without_a_single_photon_of_background_depths_are_found_and_sure(borrow):
    counts = np.zeros((2, 3, 60), dtype=np.int64)
    counts[..., 29:32] = 30, 60, 30
    photons = Photons.from_histogram(counts, cycles=1000, bin_seconds=1e-9)
    found = find_depths(photons, fwhm=2.0, signal=0.1, borrow=borrow)
    assert found.depth == pytest.approx(photons.depth(30.5), abs=0.02)
    assert found.confident.all()
    assert found.signal == pytest.approx(0.128, abs=0.01)


def test_where_nothing_is_found_it_says_what_to_look_at():
    counts = np.full((1, 2, 20), 3)
    (note,) = find_depths(Photons.from_histogram(counts, cycles=1000, bin_seconds=1e-9), fwhm=2.0).notes
    assert "No pixel has a depth: look at the bin width, the pulse" in note


def test_a_pixel_that_always_fires_is_spoken_of(monkeypatch):
    monkeypatch.setattr(depth_maps, "locate", sure)
    counts = COUNTS.copy()
    counts[0, 0], counts[0, 0, 0] = 0, 200
    found = find_depths(Photons.from_histogram(counts, cycles=200, bin_seconds=1e-9), fwhm=2.0)
    assert "1 pixel fires whenever it is looked at" in found.notes[-1]


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({}, r"either fwhm=3.0.*--fwhm 3.*--pulse FILE"),
        ({"fwhm": 2.0, "pulse": "p.csv"}, "both fwhm and pulse were given .--fwhm and --pulse"),
        ({"fwhm": 30.0}, r"fwhm=30.0 is no pulse within the 20 bins of histogram.*1000 ps"),
        ({"fwhm": 2.0, "delta": 1.5}, "delta=1.5"),
        ({"fwhm": 2.0, "signal": 0.0}, "signal=0.0"),
        ({"fwhm": 2.0, "tolerance": -1.0}, "tolerance=-1.0"),
    ],
)
def test_settings_without_a_meaning_are_refused(told, said):
    with pytest.raises(lb.InvalidParameter, match=said):
        find_depths(PHOTONS, **told)


def test_a_measured_pulse_may_need_its_unit_or_its_step(tmp_path):
    times = np.arange(-4, 4.1, 0.5)
    values = np.exp(-(times**2) / 2 / 0.85**2)
    np.savetxt(tmp_path / "times.csv", np.stack([times, values], axis=1), delimiter=",")
    np.savetxt(tmp_path / "values.csv", values)
    gaussian = find_depths(PHOTONS, fwhm=2.0).depth
    for name, told in [("times.csv", {"pulse_unit": "ns"}), ("values.csv", {"pulse_step": 0.5e-9})]:
        found = find_depths(PHOTONS, pulse=tmp_path / name, **told)
        assert found.depth == pytest.approx(gaussian, abs=0.01)
        with pytest.raises(lb.CannotRead, match="--pulse-"):
            find_depths(PHOTONS, pulse=tmp_path / name)
        with pytest.raises(lb.InvalidParameter, match="go with a pulse that was measured"):
            find_depths(PHOTONS, fwhm=2.0, **told)


def test_images_of_a_map_have_the_same_pixels():
    image = np.ones((2, 3))
    with pytest.raises(lb.InvalidParameter, match="is no image"):
        DepthMap(np.ones(3), np.ones((3, 2)), np.ones(3), np.ones(3), np.ones(3), np.ones(3))
    with pytest.raises(lb.InvalidParameter, match=r"interval of shape \(2, 3\).*give one of shape \(2, 3, 2\)"):
        DepthMap(image, image, image, image, image, image)


def test_no_pixel_is_expected_to_be_as_its_own_photons_are(monkeypatch):
    """Five times the photons of one pixel change what is expected of others, and never of that pixel itself."""
    generator = np.random.default_rng(5)
    counts = generator.binomial(200, 0.004, (5, 6, 40))
    counts[..., 20] += 30
    seen = []

    def watched(samples, detections, **told):
        seen.append(told["expected"].expected(40))
        return locate(samples, detections, **told)

    def expectations(detections):
        seen.clear()
        find_depths(Photons.from_histogram(detections, cycles=1000, bin_seconds=1e-9), fwhm=2.0)
        shape = detections.shape[:2]
        return {
            int(pixel): (expected.log_prior[row], expected.signal[row], expected.background[row])
            for each, expected in zip(passes(shape), seen, strict=True)
            for row, pixel in enumerate(each.pixels)
        }

    monkeypatch.setattr(depth_maps, "locate", watched)
    before = expectations(counts)
    changed = 0
    for pixel in (0, 4, 9, 14, 29):
        brighter = counts.copy()
        brighter.reshape(-1, 40)[pixel] *= 5
        after = expectations(brighter)
        assert all(np.array_equal(old, new) for old, new in zip(before[pixel], after[pixel], strict=True))
        changed += any(not np.array_equal(before[other][2], after[other][2]) for other in before)
    assert changed >= 2  # of pixels of the first passes others learn


def small_map(**changes) -> DepthMap:
    depth, ones = np.array([[1.5, np.nan], [2.25, 3.0]]), np.ones((2, 2))
    interval = np.stack([depth - 0.1, depth + 0.1], axis=-1)
    given = {"confident": depth < 2, "cycles": 10 * ones, "source": "<script>", "notes": ("a <b>note",)}
    return DepthMap(depth, interval, 0.5 * ones, 0.01 * ones, **{**given, **changes})


def test_a_map_prints_its_figures_and_not_its_images():
    assert repr(small_map()) == "DepthMap(<script>, 2 x 2: 75 % found, 1.5 to 3 m deep, 25 % sure)"


def test_one_without_a_depth_or_a_pixel_prints_too():
    none = np.full((1, 2), np.nan)
    empty = DepthMap(none, np.stack([none, none], -1), none, none, none > 0, np.zeros((1, 2)))
    assert repr(empty) == "DepthMap(1 x 2: 0 % found, 0 % sure)"
    void = np.zeros((0, 3))
    assert repr(DepthMap(void, np.zeros((0, 3, 2)), void, void, void > 0, void)) == "DepthMap(0 x 3: - found, - sure)"


def test_in_a_notebook_a_map_is_a_table_with_its_notes():
    html = small_map()._repr_html_()
    assert "Depth map: &lt;script&gt;, 2 x 2" in html
    assert "a &lt;b&gt;note" in html
    assert "<script>" not in html


def test_the_picture_of_a_map_shows_nothing_where_nothing_was_found():
    pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install 'linkedbandits[plot]'")
    figure = small_map().plot()
    titles = ["depth (m)", "width of the interval (m)", "signal (photons a cycle)"]
    assert [axes.get_title() for axes in figure.axes[:3]] == titles
    for axes in figure.axes[:3]:
        assert axes.get_images()[0].get_array().mask.tolist() == [[False, True], [False, False]]
    assert figure.axes[1].get_images()[0].get_array()[0, 0] == pytest.approx(0.2)
    assert small_map().plot("background").axes[0].get_title() == "background (photons a bin and cycle)"
    axes = figure.axes[3]
    assert small_map().plot(ax=axes) is axes


def test_a_map_has_a_row_for_each_pixel():
    pytest.importorskip("polars", reason="polars is missing; pip install 'linkedbandits[study]'")
    frame = small_map().to_polars()
    assert frame.row(2) == (1, 0, 2.25, pytest.approx(2.15), pytest.approx(2.35), 0.5, 0.01, False, 10)
