"""Limits for a share that are never too narrow."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from linkedbandits.intervals import share_interval


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
