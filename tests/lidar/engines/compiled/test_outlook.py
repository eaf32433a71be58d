"""What samples are worth, and how probably bins fire, against ``gating.outlook``."""

import numpy as np
import pytest

pytest.importorskip("numba")

from linkedbandits.lidar.engines.compiled.choosing import likeliest_bin, weigh_depths
from linkedbandits.lidar.engines.compiled.likelihood import stride_of
from linkedbandits.lidar.engines.compiled.memory import FRESH, LEVEL
from linkedbandits.lidar.engines.compiled.outlook import _judge, look_out, second_best
from linkedbandits.lidar.engines.compiled.tables import model_tables
from linkedbandits.lidar.gating import outlook
from linkedbandits.lidar.pulse import Pulse
from linkedbandits.lidar.returns import return_model
from tests.support.in_python import in_python, memory_of
from tests.support.kernel_pixels import make_pixels


@pytest.mark.parametrize(("fwhm", "few"), [(3.0, 1), (3.0, 20), (1.5, 5)])
def test_worth_and_chance(fwhm, few):
    """With many photons most blocks of bins have no weight and are left out; with few, none."""
    pixels = make_pixels(Pulse(fwhm), bins=70, count=16)
    samples = pixels.samples // few
    fired = np.random.default_rng(2).binomial(samples, pixels.fired / np.maximum(pixels.samples, 1))
    its, prior = pixels.model, pixels.expected.log_prior
    level = its.level_of(pixels.expected.background)
    likelihood = its.log_likelihood(samples, fired, level, rough=True)
    likelihood += prior.astype(np.float32)[:, np.newaxis, np.newaxis]
    best = likelihood.max(axis=1)
    worth, chance = outlook(its, likelihood, best, level)
    model = model_tables(its, pixels.bins)
    memory, left_out = memory_of(model), 0
    for i in range(0, pixels.count, 2):
        memory.state[LEVEL], memory.state[FRESH] = level[i], 1
        memory.log_prior[: model.bins] = prior[i]
        top = in_python(weigh_depths)(model, memory, samples[i], fired[i])
        np.testing.assert_allclose(memory.best[:, : pixels.bins], best[i], rtol=1e-4, atol=1e-3)
        place = in_python(likeliest_bin)(memory.of_bin, top)
        in_python(look_out)(model, level[i], memory, in_python(stride_of)(model), place, top)
        np.testing.assert_allclose(memory.chance, chance[i], rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(memory.worth, worth[i], rtol=1e-2, atol=1e-4 * worth[i].max())
        left_out += (~memory.has_weight).sum()
    assert left_out > 5 or few > 1


def test_a_return_next_to_a_block_of_bins_reaches_into_it():
    pixels = make_pixels(Pulse(6.0), bins=70, count=14)
    its = pixels.model
    samples = np.full((1, 70), 2000)
    chances = -np.expm1(-(pixels.pulse.shares(np.array([29.6]), 70) + 0.02))
    fired = np.rint(samples * chances).astype(np.int64)
    level = its.level_of(np.array([0.02]))
    likelihood = its.log_likelihood(samples, fired, level, rough=True)
    worth, chance = outlook(its, likelihood, likelihood.max(axis=1), level)
    model = model_tables(its, 70)
    memory = memory_of(model)
    memory.state[LEVEL], memory.state[FRESH] = level[0], 1
    top = in_python(weigh_depths)(model, memory, samples[0], fired[0])
    place = in_python(likeliest_bin)(memory.of_bin, top)
    in_python(look_out)(model, level[0], memory, in_python(stride_of)(model), place, top)
    assert not memory.has_weight[2]  # no depth is there,
    assert chance[0, 32] > 2 * chance[0, 60]  # but light is
    np.testing.assert_allclose(memory.chance, chance[0], rtol=1e-3)
    np.testing.assert_allclose(memory.worth, worth[0], rtol=1e-2, atol=1e-4 * worth[0].max())


def test_what_faint_returns_are_worth_is_not_lost_in_rounding():
    """A thousandth of a photon a cycle, over half a photon a bin: 1e-8 nats, less than what 1 is rounded by."""
    its = return_model(Pulse(3.0), 0.5, 1e-4, 1e-2)
    samples = np.full((1, 70), 3000)
    fired = np.random.default_rng(5).binomial(samples, -np.expm1(-0.5))
    level = its.level_of(np.array([0.5]))
    likelihood = its.log_likelihood(samples, fired, level, rough=True)
    worth, _ = outlook(its, likelihood, likelihood.max(axis=1), level)
    assert 0 < worth.max() < 1e-7
    model = model_tables(its, 70)
    memory = memory_of(model)
    memory.state[LEVEL], memory.state[FRESH] = level[0], 1
    top = in_python(weigh_depths)(model, memory, samples[0], fired[0])
    place = in_python(likeliest_bin)(memory.of_bin, top)
    in_python(look_out)(model, level[0], memory, in_python(stride_of)(model), place, top)
    np.testing.assert_allclose(memory.worth, worth[0], rtol=1e-2, atol=1e-3 * worth.max())


@pytest.mark.parametrize("background", [1e-6, 0.7, 8.0, 1e3])
def test_rounding_makes_no_chance_larger_than_one(background):
    """Gates are compared by the products of what is left: none is negative, or there would be no best one."""
    never = np.exp(-background)
    more = np.float32([never * (1 + 1e-6), never * (1 + 1e-5), never, 0.0])
    worth, chance = np.zeros(4), np.zeros(4)
    in_python(_judge)(worth, chance, more, np.zeros(4, dtype=np.float32), 0, 4, 1.0, background)
    assert chance.max() <= 1.0
    assert chance[3] == pytest.approx(-np.expm1(-background), rel=1e-6)
    assert np.all(worth > 0)
    assert np.all(np.isfinite(worth))


def test_the_second_best_may_be_in_another_phase_of_the_same_bin():
    best = np.array([[1.0, 5.0, 2.0], [0.0, 4.5, 3.0]], dtype=np.float32)
    before = best.copy()
    assert in_python(second_best)(best, 1, np.float32(5.0)) == 4.5
    best[1, 1] = 0.0
    assert in_python(second_best)(best, 1, np.float32(5.0)) == 3.0
    best[1, 1] = before[1, 1]
    np.testing.assert_array_equal(best, before)
