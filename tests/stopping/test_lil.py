"""The LIL rule: its formula, its constants, and when it stops."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest
from scipy.stats import binom

import linkedbandits as lb
from linkedbandits.stopping.lil import LilRule


def radius_of(samples: int, level: float, arms: int) -> float:
    """the published formula, written out once more: eps = 0.01, sigma^2 = 1/4."""
    eps, variance = 0.01, 1 / 4
    inner = 2 * log((1 + eps) * samples + 2) / (level / arms)
    return (1 + sqrt(eps)) * sqrt(2 * variance * (1 + eps) * log(inner) / samples)


@pytest.mark.parametrize("samples", [1, 2, 40, 1000, 10**9])
@pytest.mark.parametrize(("delta", "arms"), [(0.1, 2), (0.1, 100), (1e-6, 10)])
def test_the_radius_is_the_published_one(samples, delta, arms):
    plain = LilRule(delta, "plain").radius(np.array(samples), arms)
    assert plain == pytest.approx(radius_of(samples, delta, arms), rel=1e-12)
    level = log(1.01) * (delta * 0.01 / 2.01) ** (1 / 1.01)
    proved = LilRule(delta).radius(np.array(samples), arms)
    assert proved == pytest.approx(radius_of(samples, level, arms), rel=1e-12)


def test_the_proved_level_makes_the_theorems_error_the_one_asked_for():
    level = LilRule(0.05).level
    assert (2 + 0.01) / 0.01 * (level / log(1.01)) ** 1.01 == pytest.approx(0.05)


def test_an_arm_without_samples_has_no_bounds():
    assert LilRule(0.1).radius(np.array([[0, 5]]), arms=2)[0, 0] == np.inf


def test_only_the_proved_calibration_bounds_the_error():
    assert LilRule(0.1).error_bound == 0.1
    assert LilRule(0.1, "plain").error_bound is None


@pytest.mark.parametrize(
    ("means", "radius", "stops", "arm"),
    [
        ([0.75, 0.25], [0.25, 0.125], True, 0),
        ([0.75, 0.25], [0.25, 0.25], True, 0),  # the ends touch: stop at >=
        ([0.75, 0.25], [0.25, 0.26], False, 0),
        ([0.25, 0.5, 0.75], [0.01, 0.25, 0.01], False, 2),  # one rival is not yet separated
        ([0.25, 0.5, 0.75], [0.01, 0.01, 0.01], True, 2),
        ([0.9, 0.6], [np.inf, 0.01], False, 1),
        ([0.0, 0.0], [np.inf, np.inf], False, 0),
    ],
)
def test_it_stops_when_one_lower_end_is_not_below_any_other_upper_end(means, radius, stops, arm):
    stopped, best = LilRule(0.1).separated(np.array([means]), np.array([radius]))
    assert (stopped.tolist(), best.tolist()) == ([stops], [arm])


def test_lanes_are_judged_apart():
    stopped, arm = LilRule(0.1).separated(np.array([[0.9, 0.1], [0.4, 0.5], [0.1, 0.9]]), np.full((3, 2), 0.2))
    assert stopped.tolist() == [True, False, True]
    assert arm.tolist() == [0, 1, 1]


@pytest.mark.parametrize(("delta", "arms"), [(0.1, 2), (0.5, 2), (0.1, 1000), (1e-12, 10)])
def test_the_first_look_is_the_earliest_that_could_end_a_run(delta, arms):
    rule = LilRule(delta)
    first = rule.first_look(arms)
    assert rule.radius(np.array(first), arms) <= 0.5 < rule.radius(np.array(first - 1), arms)


@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.5, float("nan"), "0.1", None])
def test_delta_is_a_probability(delta):
    with pytest.raises(lb.InvalidParameter, match=f"delta={delta!r} is not between 0 and 1; try 0.05"):
        LilRule(delta)


def test_an_unknown_calibration_is_named_with_the_ones_there_are():
    with pytest.raises(lb.InvalidParameter, match="calibration='tight' is unknown; choose 'proved' or 'plain'"):
        LilRule(0.1, "tight")


@pytest.mark.statistical
def test_intervals_hold_at_all_counts_at_once():
    """2,000 paths of 2,000 flips; a path fails if its mean ever leaves the interval.

    Even if the rule spent all of delta = 0.1, more failures than the limit had a chance of 1e-6. It has power: at
    half the radius, or at the radius of a fixed count, far more paths than that fail.
    """
    paths, flips, delta = 2000, 2000, 0.1
    count = np.arange(1, flips + 1)
    tosses = np.random.default_rng(5).random((paths, flips), dtype=np.float32) < 0.5
    distance = np.abs(np.cumsum(tosses, axis=1) / count - 0.5)
    limit = binom.isf(1e-6, paths, delta)

    def failures(radius):
        return (distance > radius).any(axis=1).sum()

    radius = LilRule(delta, "plain").radius(count, arms=1)
    assert failures(radius) <= limit
    assert failures(radius / 2) > limit
    assert failures(np.sqrt(np.log(2 / delta) / (2 * count))) > limit
