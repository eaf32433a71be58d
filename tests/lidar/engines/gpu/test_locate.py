"""What the kernel locates is what linkedbandits.lidar.locating does."""

from __future__ import annotations

from dataclasses import replace
from math import inf, log

import numpy as np
import pytest

from linkedbandits.lidar.certificate import Certificate
from linkedbandits.lidar.pulse import Pulse
from linkedbandits.lidar.returns import LEAST_EVIDENCE, shares
from linkedbandits.lidar.two_returns import gain_of_two
from tests.support.kernel_pixels import MEASURED, make_pixels
from tests.support.kernels_on_cpu import compiled, needs_compiler, run

pytestmark = needs_compiler


def locate(pixels, *, delta, tolerance=1.0, strongest=inf, threads=1):
    tables, count = pixels.tables, pixels.count
    found = np.full((7, count), -7.0)
    run(
        compiled("locate.cu", tables.macros(pixels.bins)),
        "locate",
        count,
        np.arange(count, dtype=np.int32),
        *pixels.counts,
        pixels.log_prior,
        pixels.expected.signal,
        pixels.expected.background,
        found,
        np.int64(count),
        *pixels.model_tables,
        tables.cells,
        tables.cumulative,
        tables.levels,
        tables.knots,
        tables.window(tolerance, pixels.bins),
        tolerance,
        strongest,
        log(1 / delta),
        tables.room(tolerance, pixels.bins),
        shared_bytes=tables.shared_bytes(tolerance, pixels.bins),
        threads=threads,
    )
    return found


def by_numpy(pixels, *, delta, tolerance=1.0, strongest=inf):
    model, these, tried, fired = pixels.model, pixels.expected, pixels.samples, pixels.fired
    certificate = Certificate(pixels.pulse, tolerance, strongest, within_range=False)
    depth, level = model.fitted(tried, fired, these.background, these.log_prior)
    seen = model.evidence(tried, fired, level, depth, these.log_prior) > LEAST_EVIDENCE
    low, high = certificate.interval(tried, fired, depth, log(1 / delta), these)
    strength, background = certificate.fit_at(tried, fired, depth, these)
    two = gain_of_two(pixels.pulse, tried, fired, depth, tolerance, strength, background)
    weight = model.log_likelihood(tried, fired, level) + these.log_prior[:, np.newaxis, np.newaxis]
    probable, _ = shares(weight, model.none_better(tried, fired, level, depth), tolerance)
    found = np.array([depth, low, high, strength, background, probable, two])
    found[np.ix_([0, 3, 5], ~seen)] = [[np.nan], [0.0], [0.0]]
    return found


@pytest.mark.parametrize(
    ("pulse", "tolerance", "strongest", "threads"),
    [
        (Pulse(3.0), 1.0, inf, 1),
        (Pulse(3.0), 1.0, 2.0, 8),
        (Pulse(0.8), 1.0, inf, 1),
        (MEASURED, 1.0, inf, 4),
        (Pulse(8.0), 4.0, inf, 1),
    ],
)
def test_the_kernel_locates_what_numpy_locates(pulse, tolerance, strongest, threads):
    pixels = make_pixels(pulse, count=30, seed=2)
    found = locate(pixels, delta=0.05, tolerance=tolerance, strongest=strongest, threads=threads)
    its = by_numpy(pixels, delta=0.05, tolerance=tolerance, strongest=strongest)
    np.testing.assert_allclose(found[[0, 3, 4, 5]], its[[0, 3, 4, 5]], rtol=1e-9, atol=1e-12)
    assert np.array_equal(found[[1, 2]], its[[1, 2]])  # ends of cells, the same ones
    np.testing.assert_allclose(found[6], its[6], rtol=1e-6, atol=1e-4)  # a table of the pulse's cumulative
    some = (its[2] - its[1]) < pixels.bins
    assert 5 < some.sum() < 30
    assert (its[1, some] < 0).any()
    assert (its[2, some] > pixels.bins).any()


def test_counts_that_fit_no_depth_leave_all_depths():
    pixels = make_pixels(Pulse(3.0), count=30, seed=2)
    pixels = replace(pixels, fired=np.maximum(pixels.fired, pixels.samples * (np.arange(pixels.bins) % 20 == 3)))
    found, its = locate(pixels, delta=0.05), by_numpy(pixels, delta=0.05)
    assert np.array_equal(found[[1, 2]], its[[1, 2]])
    assert (its[2] - its[1] == pixels.bins).any()
