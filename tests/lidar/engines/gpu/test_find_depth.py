"""What the kernel finds in counts is what the reference engine finds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from linkedbandits.lidar.certificate import Certificate
from linkedbandits.lidar.expected import Expected
from linkedbandits.lidar.pulse import Pulse
from linkedbandits.lidar.returns import LEAST_EVIDENCE, shares
from tests.support.kernel_pixels import MEASURED, SIGNAL, make_pixels
from tests.support.kernels_on_cpu import compiled, needs_compiler, run

pytestmark = needs_compiler


def find_depth(pixels, *, level, gated, present=False, tolerance=1.0, threads=1):
    tables, count = pixels.tables, pixels.count
    level = level.astype(np.int32)
    depth, signal, background, sure = np.full((4, count), -7.0)
    run(
        compiled("find_depth.cu", tables.macros(pixels.bins)),
        "find_depth",
        count,
        np.arange(count, dtype=np.int32),
        *pixels.counts,
        pixels.log_prior,
        level,
        depth,
        signal,
        background,
        sure,
        *pixels.model_tables,
        tables.cells,
        tables.levels,
        tables.knots,
        tables.told,
        gated,
        present,
        tables.window(tolerance, pixels.bins),
        SIGNAL,
        pixels.model.expected_background,
        tables.room(tolerance, pixels.bins),
        shared_bytes=tables.shared_bytes(tolerance, pixels.bins),
        threads=threads,
    )
    return depth, signal, background, sure, level


def by_numpy(pixels, *, level, gated, present=False, tolerance=1.0):
    """As linkedbandits.lidar.engines.finding has it, but for shares in double precision."""
    model, samples, fired = pixels.model, pixels.samples, pixels.fired
    alike = Expected.alike(*samples.shape, SIGNAL, model.expected_background)
    log_prior = pixels.expected.log_prior if gated else None
    sure = np.zeros(pixels.count)
    if gated:
        depth = model.estimate(samples, fired, level, log_prior)
        weight = model.log_likelihood(samples, fired, level) + log_prior[:, np.newaxis, np.newaxis]
        sure, _ = shares(weight, model.none_better(samples, fired, level, depth), tolerance)
    else:
        depth, level = model.fitted(samples, fired, alike.background)
    seen = model.evidence(samples, fired, level, depth, log_prior) > LEAST_EVIDENCE
    fit = Certificate(pixels.pulse, tolerance, told=model.told).fit_at(samples, fired, depth, alike)
    found = np.where((seen | present) & fired.any(axis=1), depth, np.nan)
    return found, np.where(seen, fit[0], 0.0), fit[1], sure * seen, level


@pytest.mark.parametrize("gated", [True, False])
@pytest.mark.parametrize(
    ("pulse", "tolerance", "told"),
    [
        (Pulse(3.0), 1.0, False),
        (Pulse(3.0), 1.0, True),
        (Pulse(0.8), 1.0, False),
        (MEASURED, 0.4, False),
        (Pulse(8.0), 4.0, False),
    ],
)
def test_the_kernel_finds_what_numpy_finds(pulse, tolerance, told, gated):
    pixels = make_pixels(pulse, told=told)
    level = pixels.model.level_of(pixels.expected.background * 1.3)
    found = find_depth(pixels, level=level, gated=gated, tolerance=tolerance)
    for mine, its in zip(found, by_numpy(pixels, level=level, gated=gated, tolerance=tolerance), strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-9, atol=1e-12)
    assert 2 < np.isnan(found[0]).sum() < 25


def test_where_there_is_a_return_for_certain_there_is_a_depth():
    pixels = make_pixels(Pulse(3.0))
    level = pixels.model.level_of(pixels.expected.background)
    found = find_depth(pixels, level=level, gated=True, present=True)
    for mine, its in zip(found, by_numpy(pixels, level=level, gated=True, present=True), strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-9, atol=1e-12)
    assert np.array_equal(np.isnan(found[0]), ~pixels.fired.any(axis=1))


@pytest.mark.parametrize("bins", [3, 60, 301])
def test_any_number_of_threads_gives_the_same(bins):
    pixels = make_pixels(Pulse(3.0), bins=bins, count=20)
    level = pixels.model.level_of(pixels.expected.background)
    for gated in (True, False):
        one, many = (find_depth(pixels, level=level, gated=gated, threads=threads) for threads in (1, 8))
        for mine, its, numpys in zip(one, many, by_numpy(pixels, level=level, gated=gated), strict=True):
            np.testing.assert_allclose(mine, its, rtol=1e-11, atol=1e-14)
            np.testing.assert_allclose(mine, numpys, rtol=1e-9, atol=1e-12)


def test_a_window_may_be_anywhere():
    # The weights of all depths do not fit into a block's memory: a window may begin in one part and end in the next.
    pulse, bins = Pulse(3.0), 301
    pixels = make_pixels(pulse, bins=bins, count=bins)
    rng = np.random.default_rng(1)
    chance = -np.expm1(-(0.3 * pulse.shares(np.arange(bins) + 0.2, bins) + 0.005))
    pixels = replace(pixels, samples=np.full((bins, bins), 100), fired=rng.binomial(100, chance))
    assert pixels.tables.room(1.0, bins) < bins * pixels.tables.phases
    level = pixels.model.level_of(np.full(bins, 0.005))
    found = find_depth(pixels, level=level, gated=True)
    np.testing.assert_allclose(found[3], by_numpy(pixels, level=level, gated=True)[3], rtol=1e-9, atol=1e-12)
    assert found[3].mean() > 0.5
