"""The depth that fits best and the evidence for it, against ``ReturnModel.estimate``, ``evidence`` and ``fitted``."""

import numpy as np
import pytest

pytest.importorskip("numba")

from linkedbandits.lidar.engines.compiled.estimating import estimate, evidence, fitted, reach_of_estimates
from linkedbandits.lidar.engines.compiled.likelihood import in_double_precision
from linkedbandits.lidar.engines.compiled.tables import model_tables
from linkedbandits.lidar.pulse import Pulse
from tests.support.in_python import in_python, memory_of
from tests.support.kernel_pixels import MEASURED, make_pixels

CASES = pytest.mark.parametrize(
    ("pulse", "told"), [(Pulse(1.0), False), (Pulse(3.0), True), (MEASURED, False)], ids=repr
)


def made(pulse, told):
    pixels = make_pixels(pulse, bins=24, count=20, told=told)
    model = model_tables(pixels.model, pixels.bins)
    return pixels, model, memory_of(model)


@CASES
def test_the_estimate_and_its_evidence(pulse, told):
    pixels, model, memory = made(pulse, told)
    its, prior = pixels.model, pixels.expected.log_prior
    level = its.level_of(pixels.expected.background)
    depth = its.estimate(pixels.samples, pixels.fired, level, prior)
    ratio = its.evidence(pixels.samples, pixels.fired, level, depth, prior)
    for i in range(pixels.count):
        counts = pixels.samples[i], pixels.fired[i], level[i]
        in_python(in_double_precision)(model, memory, *counts, prior[i], 0, 24)
        assert in_python(estimate)(model, memory, 0, 24) == pytest.approx(depth[i], abs=1e-7)
        assert in_python(evidence)(model, memory, *counts, depth[i]) == pytest.approx(ratio[i], rel=1e-7, abs=1e-6)


@CASES
def test_an_estimate_needs_the_bins_around_the_likeliest_only(pulse, told):
    pixels, model, memory = made(pulse, told)
    prior, reach = pixels.expected.log_prior, in_python(reach_of_estimates)(model)
    for i in range(pixels.count):
        counts = pixels.samples[i], pixels.fired[i], 0
        in_python(in_double_precision)(model, memory, *counts, prior[i], 0, 24)
        depth = in_python(estimate)(model, memory, 0, 24)
        memory.fine[:] = np.nan
        first, last = max(int(depth) - 2, 0), min(int(depth) + 3, 24)
        in_python(in_double_precision)(model, memory, *counts, prior[i], max(first - reach, 0), min(last + reach, 24))
        assert in_python(estimate)(model, memory, first, last) == pytest.approx(depth, abs=1e-9)


@CASES
def test_depth_and_background_are_found_in_turn(pulse, told):
    pixels, model, memory = made(pulse, told)
    its, prior, expected = pixels.model, pixels.expected.log_prior, pixels.expected.background
    moved = 0
    for i in range(pixels.count):  # one at a time, as the reference goes on for all if one is not settled
        row = slice(i, i + 1)
        if (pixels.samples[i] == pixels.fired[i]).all():
            continue  # every sample fired: depths tie exactly, and rounding decides which one is named
        depth, level = its.fitted(pixels.samples[row], pixels.fired[row], expected[row], prior[row])
        found = in_python(fitted)(model, memory, pixels.samples[i], pixels.fired[i], expected[i], prior[i])
        assert found == (pytest.approx(depth[0], abs=1e-7), level[0])
        everywhere = its.background_elsewhere(pixels.samples[row], pixels.fired[row], np.array([-1e6]), expected[row])
        moved += level[0] != its.level_of(everywhere)[0]
    assert (moved > 2) != told
