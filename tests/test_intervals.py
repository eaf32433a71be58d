"""Limits for a share that are never too narrow."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from linkedbandits.intervals import anytime_interval, anytime_intervals, share_interval


@pytest.mark.parametrize(("count", "total"), [(0, 10), (1, 10), (5, 10), (10, 10), (3, 1000), (999, 1000)])
@pytest.mark.parametrize("confidence", [0.95, 0.999])
def test_limits_are_those_of_clopper_and_pearson(count, total, confidence):
    reference = binomtest(count, total).proportion_ci(confidence, method="exact")
    assert share_interval(count, total, confidence) == pytest.approx((reference.low, reference.high), abs=1e-12)


def test_limits_include_the_ends_where_nothing_or_everything_counted():
    assert share_interval(0, 50)[0] == 0.0
    assert share_interval(50, 50)[1] == 1.0


@pytest.mark.parametrize("total", [1, 7, 40])
def test_limits_cover_every_true_share_at_least_as_often_as_they_say(total):
    counts = np.arange(total + 1)
    low, high = np.array([share_interval(int(count), total) for count in counts]).T
    for share in np.linspace(0, 1, 201):
        covered = (low <= share) & (share <= high)
        assert binom.pmf(counts, total, share)[covered].sum() >= 0.95


@pytest.mark.statistical
def test_limits_hold_at_all_times_together():
    """500 rows of 400 coins: at some time outside in at most 5 %; five standard errors more are allowed."""
    rng = np.random.default_rng(7)
    outside = 0
    for _ in range(500):
        successes = 0
        sums = np.cumsum(rng.random(400) < 0.3)
        looks = np.unique(np.geomspace(1, 400, 15).astype(int))
        for samples in looks:
            successes = int(sums[samples - 1])
            low, high = anytime_interval(successes, int(samples))
            if not low <= 0.3 <= high:
                outside += 1
                break
    assert 0 < outside / 500 <= 0.05 + 5 * np.sqrt(0.05 * 0.95 / 500)


@pytest.mark.parametrize(("successes", "samples"), [(0, 5), (5, 5), (1, 10**6), (10**6 - 1, 10**6), (3, 9)])
def test_limits_are_where_the_likelihood_is_a_twentieth_of_its_average(successes, samples):
    from scipy.special import betaln, xlog1py, xlogy

    low, high = anytime_interval(successes, samples)
    for limit in (low, high):
        if 0 < limit < 1:
            likelihood = xlogy(successes, limit) + xlog1py(samples - successes, -limit)
            average = betaln(successes + 1, samples - successes + 1)
            assert average - likelihood == pytest.approx(math.log(20), rel=2e-3)
    assert low <= successes / samples <= high


def test_many_limits_at_once_are_those_of_each():
    samples = np.array([0, 1, 7, 7, 7, 10**9, 10**9])
    successes = np.array([0, 1, 0, 3, 7, 1, 10**9 - 1])
    low, high = anytime_intervals(successes, samples)
    each = [anytime_interval(int(won), int(seen)) for won, seen in zip(successes, samples, strict=True)]
    for limits, alone in zip(zip(low.tolist(), high.tolist(), strict=True), each, strict=True):
        assert limits == pytest.approx(alone, rel=1e-6)
    assert low[5] == pytest.approx(1 - high[6], rel=1e-6)
    assert (low <= high).all()
