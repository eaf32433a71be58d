"""Fragments, put together again, are the tables of the model."""

from __future__ import annotations

import numpy as np
import pytest

from linkedbandits.lidar.engines.gpu.fragments import (
    BASE,
    digits_needed,
    fragments,
    likelihood_fragments,
    outlook_fragments,
    phase_fragments,
)
from linkedbandits.lidar.engines.gpu.tables import KERNELS
from linkedbandits.lidar.pulse import Pulse
from linkedbandits.lidar.returns import return_model

MODELS = pytest.mark.parametrize(
    "model",
    [
        return_model(Pulse(3.0), 0.02, 0.05, 5.0),
        return_model(Pulse(8.0), 0.02, 0.05, 5.0, told=True),
        return_model(Pulse(0.5), 0.02, 0.05, 5.0),
    ],
    ids=["usual", "wide", "narrow"],
)


def matrices(words):
    """Of (..., 32, 2) words: the matrices, (..., 16, 8), entry by entry as PTX documents where each is."""
    halves = words.view(np.float16).astype(np.float64).reshape(*words.shape[:-2], 32, 4)
    found = np.full((*words.shape[:-2], 16, 8), np.nan)
    for lane in range(32):
        for i in range(4):
            found[..., (lane % 4) * 2 + i % 2 + 8 * (i // 2), lane // 4] = halves[..., lane, i]
    return found


def test_fragments_hold_each_number_once():
    numbers = np.arange(2 * 128.0).reshape(2, 16, 8)
    assert np.array_equal(matrices(fragments(numbers)), numbers)


@MODELS
def test_likelihoods_are_sums_of_two_halves(model):
    levels, rows, window = model.fire.shape
    steps, tiles = -(-window // 16), -(-rows // 16)
    found = matrices(likelihood_fragments(model)).reshape(levels, tiles, 2, steps, 2, 2, 16, 8)
    summed = found.sum(axis=5).transpose(0, 2, 3, 5, 1, 4, 6).reshape(levels, 2, 16 * steps, 16 * tiles)
    photons, dark = summed[:, 0], summed[:, 1]
    np.testing.assert_allclose(photons[:, :window, :rows].swapaxes(1, 2), model.fire, rtol=2e-6, atol=6e-8)
    its = np.broadcast_to(-model.miss, model.fire.shape)
    np.testing.assert_allclose(dark[:, :window, :rows].swapaxes(1, 2), its, rtol=2e-6, atol=6e-8)
    assert not summed[:, :, window:].any()
    assert not summed[..., rows:].any()


def test_bright_signals_are_finite_numbers():
    model = return_model(Pulse(1.0), 0.01, 10.0, 60_000.0)
    assert np.isfinite(matrices(likelihood_fragments(model))).all()


@MODELS
def test_outlooks_say_what_each_depth_adds_to_four_bins(model):
    levels, rows, window = model.chance.shape
    tiles, half = -(-rows // 16), model.pulse.half
    found = matrices(outlook_fragments(model)).reshape(levels, tiles, window + 3, 16, 8)
    table = found.transpose(0, 2, 1, 3, 4).reshape(levels, window + 3, tiles * 16, 8)
    for position in range(window + 3):
        for four in range(4):
            place = four + half - position + half  # the bin's place in the window of the depth at this position
            for kind, its in enumerate((model.chance, model.entropy)):
                expected = its[:, :, place] if 0 <= place < window else np.zeros((levels, rows))
                here = table[:, position, :rows, 2 * four + kind]
                np.testing.assert_allclose(here, expected, rtol=6e-4, atol=6e-8)
    assert not table[:, :, rows:].any()


@MODELS
def test_weights_of_all_signals_are_added_up_by_depth(model):
    rows, phases = model.cells_per_bin, model.phases.size
    tiles, eights = -(-rows // 16), -(-phases // 8)
    found = matrices(phase_fragments(model)).reshape(eights, tiles, 16, 8)
    table = found.transpose(1, 2, 0, 3).reshape(tiles * 16, eights * 8)
    weight = np.random.default_rng(1).random(tiles * 16)
    sums = weight[:rows].reshape(model.signals.size, phases).sum(axis=0)
    np.testing.assert_allclose((weight @ table)[:phases], sums)
    assert not table[:, phases:].any()


def test_digits_have_the_base_of_the_kernels():
    assert [digits_needed(cycles) for cycles in (1, BASE, BASE + 1, 10**6)] == [1, 1, 2, 2]
    assert f"#define BASE {BASE}\n" in (KERNELS / "likelihood.cuh").read_text()
    every = np.arange(BASE + 1)
    assert np.array_equal(every.astype(np.float16).astype(np.int64), every)
