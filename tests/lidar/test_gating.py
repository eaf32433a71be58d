"""What a sample of each bin is worth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkedbandits.lidar import Sensor
from linkedbandits.lidar.gating import STEP, TEMPER, outlook
from linkedbandits.lidar.pulse import Pulse
from linkedbandits.lidar.returns import binary_entropy, return_model


@given(seed=st.integers(0, 100), told=st.booleans())
def test_worth_is_the_information_that_a_sample_gives(seed, told):
    """The mutual information of "does it fire" and (depth, signal), summed over the grid by its definition.

    At the level of each lane's background, which are different ones.
    """
    sensor = Sensor(bins=12, fwhm=2.0, ambient=3.0)
    model = return_model(Pulse(2.0), sensor.background, 0.2, 2.0, told)
    rng = np.random.default_rng(seed)
    samples = rng.integers(0, 20, (2, 12))
    level = np.zeros(2, dtype=np.int64) if told else model.level_of(sensor.background * 9 ** rng.uniform(-0.5, 0.5, 2))
    likelihood = model.log_likelihood(samples, rng.binomial(samples, 0.3), level)
    worth, chance = outlook(model, likelihood, likelihood.max(axis=1), level)
    for lane in range(2):
        best = np.sort(likelihood[lane].max(axis=0).reshape(-1))[::-1]
        power = min(TEMPER, STEP / (best[0] - best[1]))
        weight = np.exp(power * (likelihood[lane] - best[0]))
        weight /= weight.sum()
        mean, known = np.zeros(12), np.zeros(12)
        background = model.backgrounds[level[lane : lane + 1]]
        for (s, q, j), share in np.ndenumerate(weight):
            fires = sensor.chances(np.array([j + model.phases[q]]), model.signals[s : s + 1], background)[0]
            mean += share * fires
            known += share * binary_entropy(fires)
        assert chance[lane] == pytest.approx(mean, rel=1e-5)
        assert worth[lane] == pytest.approx(binary_entropy(mean) - known, abs=2e-6)
    assert (worth > 0).all()


def test_where_the_depth_is_as_good_as_known_the_bins_around_it_are_still_worth_most():
    """One depth of the grid is far ahead of the others; what lies between it and the next is not known."""
    sensor = Sensor(bins=40, ambient=2.0)
    model = return_model(Pulse(3.0), sensor.background, 0.05, 5.0)
    level = model.level_of(np.array([sensor.background]))
    samples = np.full((1, 40), 100_000)
    successes = np.round(samples * sensor.chances([20.25], [0.5])).astype(np.int64)
    likelihood = model.log_likelihood(samples, successes, level)
    worth, _ = outlook(model, likelihood, likelihood.max(axis=1), level)
    assert abs(int(worth[0].argmax()) - 20) <= 2
    assert worth[0, 17:24].sum() > 100 * worth[0, :10].sum()


def test_what_a_lane_is_worth_does_not_depend_on_its_neighbours():
    model = return_model(Pulse(2.0), 0.2, 0.2, 2.0)
    rng = np.random.default_rng(1)
    samples = rng.integers(0, 20, (5, 12))
    level = rng.integers(20, 40, 5)
    likelihood = model.log_likelihood(samples, rng.binomial(samples, 0.3), level, rough=True)
    worth, chance = outlook(model, likelihood, likelihood.max(axis=1), level)
    for i in range(5):
        one = slice(i, i + 1)
        alone = outlook(model, likelihood[one], likelihood[one].max(axis=1), level[one])
        assert np.array_equal(alone[0][0], worth[i])
        assert np.array_equal(alone[1][0], chance[i])


def test_no_chance_is_above_one_where_a_return_makes_its_bins_fire_always():
    """By rounding it would be, and gates are compared by powers of what is left to one."""
    bins = 67
    model = return_model(Pulse(1.5), 0.07, 1e3, 1e5)
    samples = np.full((20, bins), 5)
    depth = np.linspace(5, 60, 20)
    fired = np.random.default_rng(1).binomial(samples, -np.expm1(-(1e4 * Pulse(1.5).shares(depth, bins) + 0.07)))
    level = model.level_of(np.full(20, 0.07))
    likelihood = model.log_likelihood(samples, fired, level, rough=True)
    _, chance = outlook(model, likelihood, likelihood.max(axis=1), level)
    assert chance.max() == 1.0
