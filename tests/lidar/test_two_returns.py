"""Two returns that overlap: told from one, and not called sure."""

from __future__ import annotations

import numpy as np
import pytest

from linkedbandits.lidar import Pulse, Sensor, locate
from linkedbandits.lidar.two_returns import MORE, gain_of_two

SENSOR = Sensor(bins=60, ambient=3.0)
CYCLES = 4000


def counts(depths, signals, pixels=40, seed=1):
    """What ``pixels`` see of returns at these depths with the first photon of every cycle."""
    rates = SENSOR.background + sum(
        signal * SENSOR.pulse.shares(depth, SENSOR.bins) for depth, signal in zip(depths, signals, strict=True)
    )
    chance = -np.expm1(-rates)
    generator = np.random.default_rng(seed)
    samples = np.full((pixels, SENSOR.bins), CYCLES)
    successes = np.empty_like(samples)
    for each in range(SENSOR.bins):
        successes[:, each] = generator.binomial(samples[:, each], chance[each])
        if each + 1 < SENSOR.bins:
            samples[:, each + 1] = samples[:, each] - successes[:, each]
    return samples, successes


def gains(samples, successes, centre, background=SENSOR.background):
    lanes = len(samples)
    signal, light = np.full(lanes, 0.5), np.full(lanes, background)
    return gain_of_two(Pulse(3.0), samples, successes, np.full(lanes, centre), 1.0, signal, light)


def test_one_return_is_hardly_ever_better_explained_by_two():
    assert np.mean(gains(*counts([30.2], [0.4]), centre=30.2) > MORE) < 0.2


@pytest.mark.parametrize("centre", [28.5, 29.0])
def test_two_on_both_sides_are(centre):
    assert (gains(*counts([27.3, 30.3], [0.3, 0.3]), centre=centre) > 5 * MORE).all()


def test_it_finds_the_better_of_both_explanations():
    """Against the likelihood itself, written down once more: no pair of a grid of signals is better."""
    samples, successes = counts([27.0, 31.0], [0.3, 0.2], pixels=1)
    pulse = Pulse(3.0)

    def log_likelihood(rates):
        return (successes * np.log(-np.expm1(-rates)) - (samples - successes) * rates).sum()

    strengths = np.linspace(0.02, 0.8, 40)
    pairs = [
        log_likelihood(SENSOR.background + one * pulse.shares(29 - left, 60) + two * pulse.shares(29 + right, 60))
        for left in (1.05, 1.6, 2.4)
        for right in (1.05, 1.6, 2.4)
        for one in strengths
        for two in strengths
    ]
    singles = [
        log_likelihood(SENSOR.background + one * pulse.shares(29 + away, 60))
        for away in (-0.6, -0.3, 0.0, 0.3, 0.6)
        for one in strengths
    ]
    (found,) = gains(samples, successes, centre=29.0)
    assert found == pytest.approx(max(pairs) - max(singles), abs=0.5)
    assert found > max(pairs) - max(singles) - 0.5


@pytest.mark.parametrize(("place", "inside"), [(0.4, True), (59.6, True)])
def test_at_the_ends_of_the_range_there_is_nothing_beyond(place, inside):
    assert np.isfinite(gains(*counts([place], [0.5], pixels=3), centre=place)).all() == inside


def test_a_depth_between_two_is_not_called_sure_and_one_of_two_apart_is():
    between = locate(*counts([27.3, 30.3], [0.3, 0.3]), SENSOR, signal=0.5)
    assert (between.high - between.low < 2.5).all()  # one return would be certain by now
    assert not between.confident.any()
    apart = locate(*counts([20.3, 40.3], [0.3, 0.15]), SENSOR, signal=0.5)
    assert apart.confident.mean() > 0.8
    assert (np.abs(apart.depth - 20.3) < 1)[apart.confident].all()
