"""The proofs of the kernel are those of PulseGating, pixel by pixel."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from linkedbandits.lidar.certificate import Certificate
from linkedbandits.lidar.expected import Expected
from linkedbandits.lidar.pulse import Pulse
from linkedbandits.lidar.two_returns import MORE, gain_of_two
from tests.support.kernel_pixels import MEASURED, make_pixels
from tests.support.kernels_on_cpu import compiled, needs_compiler, run

pytestmark = needs_compiler

CYCLES = 10**9
"""So many that the time of the next try shows what it is made of."""


def certify(pixels, *, level, needed, tolerance=1.0, strongest=inf, threads=1, promising=None, alike=False, blocks=4):
    tables, count = pixels.tables, pixels.count
    promising = np.ones(count, dtype=np.bool_) if promising is None else promising
    arm, next_try = np.full((2, count), -1, dtype=np.int32)
    certain, stopped = np.zeros((2, count), dtype=np.uint8)
    listed = np.flatnonzero(promising).astype(np.int32)[::-1].copy()
    active = np.concatenate([listed, np.full(3, 2**30, dtype=np.int32)])  # what is behind the list is never read
    room, size = tables.room(tolerance, pixels.bins), tables.shared_bytes(tolerance, pixels.bins)
    cycles = np.full(count, CYCLES, dtype=np.int32)
    run(
        compiled("certify.cu", tables.macros(pixels.bins)),
        "certify",
        blocks,
        active,
        np.array([listed.size], dtype=np.int32),
        np.zeros(1, dtype=np.int32),
        *pixels.counts,
        None if alike else pixels.log_prior,
        pixels.expected.signal,
        pixels.expected.background,
        level.astype(np.int32),
        cycles,
        arm,
        next_try,
        certain,
        stopped,
        *pixels.model_tables,
        tables.cells,
        tables.cumulative,
        tables.levels,
        tables.knots,
        tables.told,
        tolerance,
        strongest,
        needed,
        room,
        shared_bytes=size,
        threads=threads,
    )
    return arm, next_try, certain.astype(bool), stopped.astype(bool)


def by_numpy(pixels, *, level, needed, tolerance=1.0, strongest=inf):
    """The end of PulseGating._decide."""
    model, expected = pixels.model, pixels.expected
    depth = model.estimate(pixels.samples, pixels.fired, level, expected.log_prior)
    proof = Certificate(pixels.pulse, tolerance, strongest, model.told)
    certain, times = proof.attempt(pixels.samples, pixels.fired, depth, needed, expected)
    fit = proof.fit_at(pixels.samples, pixels.fired, depth, expected)
    two = gain_of_two(pixels.pulse, pixels.samples, pixels.fired, depth, tolerance, *fit)
    certain &= two <= MORE
    return np.clip(np.floor(depth), 0, pixels.bins - 1), np.ceil(np.clip(times, 1.05, 1.5) * CYCLES), certain


def levels_of(pixels):
    _, level = pixels.model.fitted(pixels.samples, pixels.fired, pixels.expected.background, pixels.expected.log_prior)
    return level


@pytest.mark.parametrize("needed", [3.0, 12.0])
@pytest.mark.parametrize(
    ("pulse", "tolerance", "told"),
    [
        (Pulse(3.0), 1.0, False),
        (Pulse(3.0), 1.0, True),
        (Pulse(0.8), 1.0, False),
        (MEASURED, 1.0, False),
        (Pulse(8.0), 4.0, False),
    ],
)
def test_the_kernel_proves_what_numpy_proves(pulse, tolerance, told, needed):
    pixels = make_pixels(pulse, told=told, count=60)
    level = levels_of(pixels)
    arm, next_try, certain, stopped = certify(pixels, level=level, needed=needed, tolerance=tolerance)
    its_arm, its_try, its_certain = by_numpy(pixels, level=level, needed=needed, tolerance=tolerance)
    assert np.array_equal(arm, its_arm)
    assert np.array_equal(certain, its_certain)
    assert np.array_equal(stopped, its_certain)
    np.testing.assert_allclose(next_try, its_try, rtol=0, atol=20)
    assert 5 < certain.sum() < 55
    assert ((its_try > 1.051 * CYCLES) & (its_try < 1.499 * CYCLES)).any() or needed < 10


def test_a_limit_of_the_signal_is_kept():
    pixels = make_pixels(Pulse(3.0), count=60, seed=5)
    pixels = replace(pixels, fired=np.maximum(pixels.fired, pixels.samples * (pixels.samples < 30)))
    level = levels_of(pixels)
    for strongest in (0.3, 2.0, inf):
        found = certify(pixels, level=level, needed=4.0, strongest=strongest)
        its = by_numpy(pixels, level=level, needed=4.0, strongest=strongest)
        assert np.array_equal(found[2], its[2])


@pytest.mark.parametrize("threads", [2, 8])
def test_any_number_of_threads_gives_the_same(threads):
    pixels = make_pixels(Pulse(3.0), count=30, seed=3)
    level = levels_of(pixels)
    one = certify(pixels, level=level, needed=5.0)
    many = certify(pixels, level=level, needed=5.0, threads=threads)
    assert 3 < one[2].sum() < 27
    for mine, its in zip(one, many, strict=True):
        np.testing.assert_allclose(mine, its, rtol=0, atol=2)


def test_without_a_prior_all_bins_have_the_same():
    pixels = make_pixels(Pulse(3.0))
    level = levels_of(pixels)
    flat = np.full_like(pixels.expected.log_prior, -np.log(pixels.bins))
    same = replace(pixels, expected=Expected(flat, pixels.expected.signal, pixels.expected.background))
    arm, next_try, certain, _ = certify(pixels, level=level, needed=5.0, alike=True)
    its_arm, its_try, its_certain = by_numpy(same, level=level, needed=5.0)
    assert np.array_equal(arm, its_arm)
    assert np.array_equal(certain, its_certain)
    np.testing.assert_allclose(next_try, its_try, rtol=0, atol=20)


@pytest.mark.parametrize("blocks", [1, 100])
def test_what_is_not_promising_is_left_alone(blocks):
    pixels = make_pixels(Pulse(3.0))
    promising = np.arange(pixels.count) % 2 == 1
    arm, next_try, certain, stopped = certify(
        pixels, level=levels_of(pixels), needed=3.0, promising=promising, blocks=blocks
    )
    assert (arm[::2] == -1).all()
    assert (next_try[::2] == -1).all()
    assert not certain[::2].any()
    assert not stopped[::2].any()
    assert (arm[1::2] >= 0).all()
    assert certain[1::2].any()


def test_where_all_depths_are_near_enough_there_still_has_to_be_a_return():
    pixels = make_pixels(Pulse(3.0), bins=4, count=60, seed=7)
    level = levels_of(pixels)
    found = certify(pixels, level=level, needed=3.0, tolerance=5.0)
    its = by_numpy(pixels, level=level, needed=3.0, tolerance=5.0)
    assert np.array_equal(found[2], its[2])
    np.testing.assert_allclose(found[1], its[1], rtol=0, atol=20)
    assert (its[1] > 1.1 * CYCLES).any()
    assert (its[1] < 1.06 * CYCLES).any()
