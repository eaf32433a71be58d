"""What is kept of pixels on a device."""

from __future__ import annotations

import numpy as np

from linkedbandits.lidar.engines.engine import Light
from linkedbandits.lidar.engines.gpu.device import on_host
from linkedbandits.lidar.engines.gpu.pixel_arrays import PixelArrays, bytes_of_pixel

LIGHT = Light(np.array([3.0, np.nan]), np.array([0.5, 1.0]), np.array([0.01, 0.02]))
NUMBERS = np.array([7, 9], dtype=np.int64)


def test_nothing_was_seen_yet(card_on_cpu):
    pixels = PixelArrays(LIGHT, NUMBERS, bins=5)
    assert pixels.count == 2
    assert np.array_equal(pixels.scene[0], NUMBERS)
    for mine, its in zip(pixels.scene[1:], LIGHT, strict=True):
        assert np.array_equal(mine, its, equal_nan=True)
    gone, last, armed, detections = pixels.clocks
    assert (last == -np.inf).all()
    assert not any(each.any() for each in (gone, armed, detections, pixels.cycles, pixels.stopped, pixels.certain))
    assert pixels.samples().shape == (2, 5)
    assert not pixels.samples().any()


def test_samples_are_the_running_sums_of_marks(card_on_cpu):
    pixels = PixelArrays(LIGHT, NUMBERS, bins=5)
    pixels.marks[0] = [4, 0, -1, 0, -3]
    assert on_host(pixels.samples()).tolist() == [[4, 4, 3, 3, 0], [0, 0, 0, 0, 0]]


def test_a_pixel_takes_no_more_memory_than_is_said(card_on_cpu):
    for bins in (40, 1000):
        pixels = PixelArrays(LIGHT, NUMBERS, bins)
        kept = [each for each in vars(pixels).values() if isinstance(each, np.ndarray)]
        beside = 3 * 4 * bins + bins // 8  # worth, chance, prior and gates, which a policy adds
        assert sum(each.nbytes for each in kept) / 2 + beside <= bytes_of_pixel(bins)
