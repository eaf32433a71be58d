"""Backgrounds, levels and shares of single pixels, against ``ReturnModel`` and ``returns.shares``."""

import numpy as np
import pytest

pytest.importorskip("numba")

from linkedbandits.lidar.engines.compiled.choosing import weigh_depths
from linkedbandits.lidar.engines.compiled.likelihood import stride_of
from linkedbandits.lidar.engines.compiled.memory import FRESH, LEVEL
from linkedbandits.lidar.engines.compiled.tables import model_tables, rules
from linkedbandits.lidar.engines.compiled.weighing import background_elsewhere, level_of, none_better, shares
from linkedbandits.lidar.pulse import Pulse
from linkedbandits.lidar.returns import shares as shares_by_numpy
from tests.support.in_python import in_python, memory_of
from tests.support.kernel_pixels import make_pixels

TOLD = pytest.mark.parametrize("told", [False, True])


@TOLD
def test_levels(told):
    pixels = make_pixels(Pulse(3.0), told=told, count=14)
    backgrounds = 10 ** np.random.default_rng(1).uniform(-6, 1, 50)  # beyond the levels on both sides
    model = model_tables(pixels.model, pixels.bins)
    found = [in_python(level_of)(model, background) for background in backgrounds]
    assert found == pixels.model.level_of(backgrounds).tolist()


@TOLD
def test_backgrounds_away_from_a_depth(told):
    pixels = make_pixels(Pulse(3.0), told=told)
    model, its = model_tables(pixels.model, pixels.bins), pixels.model
    depth = np.random.default_rng(1).uniform(-5, pixels.bins + 5, pixels.count)
    depth[0] = -1e6
    level = its.level_of(pixels.expected.background)
    right = its.background_elsewhere(pixels.samples, pixels.fired, depth, pixels.expected.background)
    better = its.none_better(pixels.samples, pixels.fired, level, depth)
    for i in range(pixels.count):
        counts = pixels.samples[i], pixels.fired[i]
        found = in_python(background_elsewhere)(model, *counts, depth[i], pixels.expected.background[i])
        assert found == pytest.approx(right[i], rel=1e-12)
        assert in_python(none_better)(model, *counts, level[i], depth[i]) == pytest.approx(
            better[i], rel=1e-9, abs=1e-9
        )


@pytest.mark.parametrize("tolerance", [0.2, 2.0])
def test_how_probable_the_best_depths_are_and_no_return(tolerance):
    pixels = make_pixels(Pulse(3.0), bins=24, count=14)
    few = pixels.samples // 30  # so that not all is certain
    fired = np.random.default_rng(2).binomial(few, pixels.fired / np.maximum(pixels.samples, 1))
    its, prior = pixels.model, pixels.expected.log_prior
    model, level = model_tables(its, pixels.bins), its.level_of(pixels.expected.background)
    wide = rules(growth=0.0, tolerance=tolerance, told=False, model=its, bins=pixels.bins).wide
    none = its.none_better(few, fired, level, np.full(pixels.count, 12.5))
    likelihood = its.log_likelihood(few, fired, level, rough=True) + prior[:, np.newaxis, np.newaxis]
    right = np.transpose(shares_by_numpy(likelihood, none, tolerance))
    memory, found = memory_of(model), []
    for i in range(pixels.count):
        memory.state[LEVEL], memory.state[FRESH] = level[i], 1
        memory.log_prior[: model.bins] = prior[i]
        top = in_python(weigh_depths)(model, memory, few[i], fired[i])
        found.append(in_python(shares)(model, memory, in_python(stride_of)(model), top, none[i], wide))
    np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-6)
    assert np.ptp(right, axis=0).min() > 0.2
