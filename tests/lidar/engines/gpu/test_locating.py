"""Counts located on a card are located as the reference does."""

from __future__ import annotations

import numpy as np
import pytest

from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar import Sensor
from linkedbandits.lidar.engines.gpu import locating
from linkedbandits.lidar.expected import Expected
from linkedbandits.lidar.locating import locate
from tests.support.around import said_around
from tests.support.cards import needs_card
from tests.support.cupy_on_cpu import OutOfMemoryError
from tests.support.kernel_pixels import BACKGROUND, SIGNAL, make_pixels
from tests.support.kernels_on_cpu import needs_compiler

BINS = 60
SENSOR = Sensor(bins=BINS, ambient=BACKGROUND * BINS)


def located(pixels, progress=None, expected=None):
    """What the card finds, and what the reference does."""
    if expected is None:
        expected = Expected(pixels.expected.log_prior, pixels.expected.signal, pixels.expected.background)
    told = {"signal": SIGNAL, "strongest": SIGNAL * 10, "delta": 0.05, "expected": expected}
    found = locate(pixels.samples, pixels.fired, SENSOR, **told, engine="gpu", progress=progress)
    return found, locate(pixels.samples, pixels.fired, SENSOR, **told)


def check(found, its):
    np.testing.assert_allclose(found.depth, its.depth, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose([found.low, found.high], [its.low, its.high], atol=1e-9)
    np.testing.assert_allclose([found.signal, found.background], [its.signal, its.background], rtol=1e-4, atol=1e-9)
    np.testing.assert_allclose(found.probable, its.probable, rtol=1e-3, atol=1e-5)
    assert np.array_equal(found.confident, its.confident)
    assert found.confident.any()
    assert (found.high - found.low < BINS).any()


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
    assert not np.array_equal(found.probable, located(pixels)[0].probable)


@needs_compiler
def test_what_a_card_finds_outside_of_its_interval_is_not_called_sure(card_on_cpu, monkeypatch):
    """First photons of 2.8 signal photons a cycle, as they are on average, and a depth that only the grid has."""
    sensor = Sensor(bins=40, ambient=1.0)
    chances = sensor.chances(np.linspace(15, 20, 6), np.full(6, 2.8))
    reached = np.cumprod(np.column_stack([np.ones(6), 1 - chances[:, :-1]]), axis=1)
    samples, fired = (np.rint(20_000 * each).astype(np.int64) for each in (reached, reached * chances))
    found = locate(samples, fired, sensor, engine="gpu")
    assert found.confident.all()
    assert ((found.low <= found.depth) & (found.depth <= found.high)).all()
    monkeypatch.setattr("linkedbandits.lidar.locating.refine", lambda *given: given[4])
    grid = locate(samples, fired, sensor, engine="gpu")
    outside = (grid.depth < grid.low) | (grid.depth > grid.high)
    assert outside.any()
    assert not grid.confident[outside].any()


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
