"""The gates that the kernel draws are those of ThompsonGating, if both have the same random numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from linkedbandits.lidar import Sensor, thompson_gating
from linkedbandits.lidar.engines.counter import DRAWS, uniforms
from linkedbandits.lidar.gates import Suffixes
from linkedbandits.lidar.thompson_gating import ThompsonGating
from tests.support.kernel_pixels import BACKGROUND, SIGNAL, make_pixels
from tests.support.kernels_on_cpu import needs_compiler, number, run
from tests.support.weighing import fragments_of, library_of

pytestmark = needs_compiler

KEY = (77, 2**31 + 3)


@pytest.mark.parametrize(
    ("fwhm", "bins", "told", "positions", "prior"),
    [(3.0, 60, False, None, True), (1.0, 45, False, None, True), (8.0, 61, True, 9, False), (3.0, 60, False, 7, False)],
)
def test_it_draws_what_numpy_draws(monkeypatch, fwhm, bins, told, positions, prior):
    sensor = Sensor(bins=bins, fwhm=fwhm, ambient=BACKGROUND * bins, gates=Suffixes(positions))
    policy = ThompsonGating(fwhm, BACKGROUND, SIGNAL / 10, SIGNAL * 10, told=told, sensor=sensor)
    pixels = make_pixels(sensor.pulse, bins=bins, count=40, told=told)
    fewer = pixels.samples // 20  # so that it is not always sure
    fired = np.random.default_rng(2).binomial(fewer, pixels.fired / np.maximum(pixels.samples, 1))
    pixels = replace(pixels, samples=fewer, fired=fired)
    count = pixels.count
    numbers = np.arange(count, dtype=np.int64) * 5 + 2**32
    state = policy.start(count, bins, np.zeros(count, dtype=np.uint64))
    if prior:
        state.log_prior, state.expected_background = pixels.log_prior.astype(np.float64), pixels.expected.background
        state.level = policy.model.level_of(state.expected_background)
    state.samples, state.successes = pixels.samples, pixels.fired
    state.step = np.arange(count) % 7
    level, arm, steps = state.level.astype(np.int32), np.full(count, -1, np.int32), state.step.astype(np.int32)
    opens = np.full(count, -1, dtype=np.int32)
    starts = sensor.gates.starts(bins)
    active = np.random.default_rng(1).permutation(count)[: count - 3].astype(np.int32)
    library, warps = library_of("thompson.cu", policy.model, bins)
    run(
        library,
        "draw_gate",
        active.size,
        active,
        numbers,
        *pixels.counts,
        pixels.log_prior if prior else None,
        state.expected_background,
        level,
        arm,
        fragments_of(policy.model)[0],
        policy.model.backgrounds,
        policy.model.backgrounds.size,
        *KEY,
        steps,
        policy.lead,
        starts[np.searchsorted(starts, np.arange(bins), side="right") - 1].astype(np.int32),
        opens,
        threads=32 * warps,
        shared_bytes=number(library, "drawing_bytes"),
    )
    monkeypatch.setattr(thompson_gating, "uniform", lambda seed, step: uniforms(KEY, numbers, DRAWS, step))
    before = state.step
    policy.choose(state)
    assert np.array_equal(opens[active], state.gate.argmax(axis=1)[active])
    seen = active[prior | fired.any(axis=1)[active]]  # without a photon, bins may be alike but for rounding
    assert np.array_equal(arm[seen], state.arm[seen])
    assert np.array_equal(level[seen], state.level[seen])
    assert np.array_equal(steps[active], before[active] + 1)
    others = np.setdiff1d(np.arange(count), active)
    assert (opens[others] == -1).all()
    assert np.unique(opens).size > 5
    assert ((opens < arm - policy.lead).any() and (opens > arm).any()) or fwhm > 5
