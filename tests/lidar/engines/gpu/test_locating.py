"""Counts located on a card are located as the reference does."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar import Sensor
from linkedbandits.lidar.engines.gpu import locating
from linkedbandits.lidar.engines.gpu.locating import NUMBERS, locate_counts
from linkedbandits.lidar.expected import Expected
from linkedbandits.lidar.locating import locate
from linkedbandits.lidar.returns import return_model
from tests.support.around import said_around
from tests.support.cards import needs_card
from tests.support.cupy_on_cpu import OutOfMemoryError
from tests.support.kernel_pixels import BACKGROUND, SIGNAL, make_pixels
from tests.support.kernels_on_cpu import needs_compiler

BINS = 60
SENSOR = Sensor(bins=BINS, ambient=BACKGROUND * BINS)


def located(pixels, progress=None, expected=None):
    """What the card finds, and what the reference does."""
    model = return_model(SENSOR.pulse, SENSOR.background, SIGNAL / 10, SIGNAL * 10)
    if expected is None:
        expected = Expected(pixels.expected.log_prior, pixels.expected.signal, pixels.expected.background)
    found = locate_counts(
        pixels.samples,
        pixels.fired,
        SENSOR.pulse,
        model,
        expected,
        needed=log(1 / 0.05),
        tolerance=1.0,
        strongest=SIGNAL * 10,
        progress=progress,
    )
    its = locate(
        pixels.samples, pixels.fired, SENSOR, signal=SIGNAL, strongest=SIGNAL * 10, delta=0.05, expected=expected
    )
    return found, its


def check(found, its):
    assert found.shape == (NUMBERS, its.depth.size)
    np.testing.assert_allclose(found[0], its.depth, rtol=1e-6)
    np.testing.assert_allclose(np.clip(found[1:3], 0, BINS), [its.low, its.high], atol=1e-9)
    np.testing.assert_allclose(found[3:5], [its.signal, its.background], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found[5], its.probable, rtol=1e-3, atol=1e-5)
    assert np.isfinite(its.depth).any()
    assert (found[2] - found[1] < BINS).any()


@needs_compiler
def test_it_locates_what_the_reference_locates(card_on_cpu, monkeypatch):
    monkeypatch.setattr(locating, "_PIXELS_AT_ONCE", 9)
    monkeypatch.setattr(locating, "_THREADS", 4)
    told = []
    check(*located(make_pixels(SENSOR.pulse, bins=BINS, count=20), told.append))
    assert told == [9, 9, 2]


@needs_compiler
def test_what_pixels_around_say_is_spread_over_the_bins_on_the_card(card_on_cpu, monkeypatch):
    monkeypatch.setattr(locating, "_PIXELS_AT_ONCE", 9)
    pixels = make_pixels(SENSOR.pulse, bins=BINS, count=20)
    around = said_around(np.linspace(5, 55, 20), seed=2)
    found, its = located(pixels, expected=around)
    check(found, its)
    assert not np.array_equal(found[5], located(pixels)[0][5])


@needs_compiler
def test_a_card_without_memory_says_what_to_do(card_on_cpu, monkeypatch):
    def no_memory(*_, **__):
        raise OutOfMemoryError("Out of memory allocating 4 bytes.")

    monkeypatch.setattr(card_on_cpu, "arange", no_memory)
    with pytest.raises(InvalidParameter, match="card 0 is used up"):
        located(make_pixels(SENSOR.pulse, bins=BINS, count=14))


def test_counts_that_a_card_cannot_hold_are_refused():
    pixels = make_pixels(SENSOR.pulse, bins=BINS, count=14)
    pixels.samples[3, 7] = 2**31
    with pytest.raises(InvalidParameter, match=r"2,147,483,648 looks .* use engine=\"compiled\""):
        located(pixels)


@needs_card
def test_it_does_on_a_real_card():
    pixels = make_pixels(SENSOR.pulse, bins=BINS, count=40)
    check(*located(pixels))
    check(*located(pixels, expected=said_around(np.linspace(5, 55, 40), seed=2)))
