"""Photons: what counts are, and how often a bin could have fired."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.lidar import Photons

COUNTS = np.array([[[3, 0, 2, 1], [0, 5, 0, 0]]])


def photons(counts=COUNTS, **settings):
    return Photons.from_histogram(counts, **({"cycles": 10, "bin_seconds": 1e-10} | settings))


def simulated(chances, cycles, dead_bins, seed):
    """A free-running sensor, bin by bin: its histogram, and how often it really looked at each bin."""
    rng = np.random.default_rng(seed)
    counts, looked = np.zeros(len(chances), dtype=int), np.zeros(len(chances), dtype=int)
    blind = 0
    for _ in range(cycles):
        for place, chance in enumerate(chances):
            if blind:
                blind -= 1
                continue
            looked[place] += 1
            if rng.random() < chance:
                counts[place] += 1
                blind = dead_bins
    return counts, looked


def test_a_synchronous_sensor_reaches_a_bin_if_no_earlier_one_fired():
    assert photons().samples.tolist() == [[[10, 7, 7, 5], [10, 10, 5, 5]]]


def test_where_every_bin_can_fire_it_is_looked_at_in_every_cycle():
    assert (photons(mode="every").samples == 10).all()


@settings(max_examples=30, deadline=None)
@given(dead=st.integers(0, 25), seed=st.integers(0, 1000))
def test_a_free_running_histogram_tells_how_often_each_bin_was_not_blind(dead, seed):
    """Exactly, but for the photons whose blindness the end of the measurement cuts off."""
    counts, looked = simulated(np.linspace(0.02, 0.3, 8), 60, dead, seed)
    if not counts.any():
        return
    found = photons(
        counts[np.newaxis, np.newaxis], cycles=60, mode="free-running", dead_time=dead * 1e-10, bin_seconds=1e-10
    )
    assert np.abs(found.samples[0, 0] - looked).max() <= dead // 8 + 1
    assert (found.samples[0, 0] <= looked).all()
    assert not found.exact


def test_a_window_that_opens_later_sees_the_first_bins_last():
    turned = photons(opens=2)
    assert turned.detections.tolist() == [[[2, 1, 3, 0], [0, 0, 0, 5]]]
    assert turned.samples[0, 0].tolist() == [10, 8, 7, 4]
    assert turned.depth(0.0) == pytest.approx(photons().depth(2.0))


def test_depth_is_half_the_way_of_the_light():
    found = photons(zero_seconds=1e-10)
    assert found.bin_depth == pytest.approx(0.0149896, rel=1e-5)
    assert found.depth([1.0, 3.0]).tolist() == pytest.approx([0.0, 0.0299792], rel=1e-5)


def test_cropping_keeps_samples_cycles_and_where_depth_0_is():
    cropped = photons(cycles=[[10, 20]]).crop(columns=(1, 1), first_bin=1, last_bin=2)
    assert (cropped.detections.tolist(), cropped.samples.tolist()) == ([[[5, 0]]], [[[20, 15]]])
    assert (cropped.shape, cropped.cycles.tolist()) == ((1, 1), [[20]])
    assert cropped.depth(0.0) == pytest.approx(photons().depth(1.0))
    with pytest.raises(lb.InvalidParameter, match="rows from 0 to 1 are not within 0 to 0"):
        photons().crop(rows=(0, 1))


def test_bins_are_merged_as_if_the_sensor_had_had_wide_ones():
    merged = photons().merged(2)
    assert (merged.detections.tolist(), merged.samples.tolist()) == ([[[3, 3], [5, 0]]], [[[10, 7], [10, 5]]])
    assert merged.bin_seconds == 2e-10
    assert photons().merged(1).bins == 4
    assert photons(np.ones((1, 1, 5), dtype=int)).merged(2).bins == 2
    with pytest.raises(lb.InvalidParameter, match="merge fewer"):
        photons().merged(3)


def test_bins_are_not_merged_where_that_would_count_a_cycle_twice():
    few = photons(np.array([[[1, 0, 1, 1]]]), cycles=1000, mode="every")
    assert few.merged(2).detections.tolist() == [[[1, 2]]]
    with pytest.raises(lb.InvalidParameter, match=r"may have fired twice within 2 bins.*--merge 2"):
        photons(np.array([[[9, 9, 1, 1]]]), mode="every").merged(2)
    with pytest.raises(lb.InvalidParameter, match="read the time stamps with merge=2"):
        photons(mode="free-running", dead_time=1e-10, cycles=100).merged(2)


def test_a_frame_with_the_laser_off_is_the_background_of_each_pixel():
    dark = photons(np.array([[[2, 0, 1, 1], [0, 0, 0, 0]]]), cycles=1000, source="dark.npy")
    lit = photons().with_background(dark)
    assert lit.background[0].tolist() == pytest.approx([1e-3, 0.0], rel=0.01)
    assert lit.background_cycles.tolist() == [[1000, 1000]]
    assert lit.merged(2).background[0, 0] == pytest.approx(2e-3, rel=0.01)
    assert lit.crop(columns=(0, 0)).background.shape == (1, 1)


@pytest.mark.parametrize(
    ("dark", "said"),
    [
        (photons(np.ones((1, 3, 4), dtype=int), source="dark.npy"), r"dark.npy has shape \(1, 3, 4\).*same pixels"),
        (photons(bin_seconds=2e-10, source="dark.npy"), r"dark.npy has bins of 200 ps.*same sensor"),
    ],
)
def test_a_background_of_another_sensor_is_refused(dark, said):
    with pytest.raises(lb.InvalidParameter, match=said):
        photons().with_background(dark)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"counts": COUNTS[0]}, r"shape \(2, 4\) is not \(rows, columns, bins\).*--axes"),
        ({"counts": COUNTS[..., :1]}, "at least 2 bins"),
        ({"counts": np.zeros((0, 2, 3))}, "is empty"),
        ({"counts": -COUNTS}, "negative counts, down to -5"),
        ({"counts": COUNTS + 0.25}, r"0.25|3.25 is no whole number"),
        ({"counts": np.where(COUNTS > 4, np.nan, COUNTS)}, "1 of 8 counts are not finite"),
        ({"counts": COUNTS + 1j}, "complex128, not counts"),
        ({"counts": 0 * COUNTS}, "not one photon"),
        ({"cycles": 5}, r"row 0, column 0 has 6 photons in 5 cycles.*--cycles.*--mode"),
        ({"cycles": 4, "mode": "every"}, r"bin 1 of the pixel in row 0, column 1 has 5 photons in 4 cycles"),
        ({"cycles": 0}, "cycles from 0 to 0 are no counts"),
        ({"cycles": 10.5}, r"no whole numbers.*--cycles 1000"),
        ({"cycles": np.array([10.5])}, "no whole numbers"),
        ({"cycles": [[1, 2, 3]]}, "do not fit 1 rows and 2 columns"),
        ({"bin_seconds": 55.0}, r"bin_seconds=55.0.*--bin-width 55ps"),
        ({"bin_seconds": 1e-15}, "no bin width from 1 ps"),
        ({"bin_seconds": float("nan")}, "no bin width"),
        ({"zero_seconds": float("inf")}, "zero_seconds=-?inf is no time"),
        ({"opens": 4}, "opens=4 is no bin from 0 to 3"),
        ({"mode": "free-running"}, r"blind after each photon.*--dead-time"),
        ({"mode": "free-running", "dead_time": 50.0}, "more than a millisecond"),
        ({"mode": "free-running", "dead_time": 1e-9}, r"give the sensor's --dead-time"),
        ({"mode": "free-running", "dead_time": 1e-10, "period": 3e-10}, "a period of 3 bins is shorter than the 4"),
        ({"counts": np.array([[[255, 0]]], dtype=np.uint8), "cycles": 1000}, "are at 255, the largest.*32 bits"),
        ({"counts": np.array([[[65535, 0]]], dtype=np.uint16), "cycles": 70000}, "are at 65535"),
    ],
)
def test_what_counts_no_photons_is_refused(wrong, said):
    with pytest.raises(lb.InvalidParameter, match=said) as refused:
        photons(**(wrong | {"source": "file.npy"}))
    if "dead_time" not in str(refused.value)[:9]:
        assert str(refused.value).startswith("file.npy: ")


def test_an_unknown_mode_is_refused():
    with pytest.raises(lb.UnknownName, match="synchronous, free-running, every"):
        photons(mode="magic")


def test_a_type_that_is_full_is_no_overflow_where_there_were_no_more_cycles():
    assert photons(np.array([[[255, 0]]], dtype=np.uint8), cycles=255).detections.max() == 255


def test_samples_and_detections_given_apart_have_to_fit():
    with pytest.raises(lb.InvalidParameter, match="do not fit detections"):
        Photons(COUNTS, COUNTS[..., :2], 1e-10, 10)
    with pytest.raises(lb.InvalidParameter, match="fired 3 times but was looked at 2 times"):
        Photons(COUNTS, 0 * COUNTS + 2, 1e-10, 10)
    with pytest.raises(lb.InvalidParameter, match=r"are not \(rows, columns, bins\)"):
        Photons(COUNTS[0], COUNTS[0], 1e-10, 10)


def test_photons_print_what_they_are_and_not_their_histograms():
    photons = Photons.from_histogram(np.full((2, 3, 500), 2), cycles=5000, bin_seconds=55e-12, source="a.npy")
    assert repr(photons) == (
        "Photons(a.npy, synchronous: 2 x 3 pixels, 500 bins of 55 ps, 5,000 cycles, 1,000 photons a pixel)"
    )
    counts = np.zeros((1, 2, 4), int)
    counts[0, 0, 1] = 1
    free = Photons.from_histogram(counts, cycles=[[5, 7]], bin_seconds=1e-9, mode="free-running", dead_time=2e-9)
    assert repr(free).endswith("4 bins of 1,000 ps, 5 to 7 cycles, 0.5 photons a pixel, samples not exact)")
