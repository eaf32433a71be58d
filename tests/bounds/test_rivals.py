"""What rivals need once the best arm has its samples: the equation they solve, and how the answer moves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkedbandits.bounds.rivals import Rivals
from tests.support.instances import evidence, no_tie


def rivals_of(means: np.ndarray) -> Rivals:
    return Rivals(float(means.max()), np.delete(means, means.argmax()))


@given(no_tie, st.floats(0.01, 100))
def test_every_rival_is_told_apart_just_so(means, beyond):
    rivals = rivals_of(means)
    # Where the closest rival gets between 1/100 of the best arm's samples and 100 times as many.
    of_best = rivals.least_of_best * (1 + beyond) or beyond / rivals.best
    needs, _ = rivals.needs(of_best)
    for mean, need in zip(rivals.means, needs, strict=True):
        if rivals.best - mean > 1e-5 and need > 1e-9 * of_best:  # elsewhere this formula has too few digits
            assert evidence(rivals.best, mean, of_best, need) == pytest.approx(1, rel=1e-5)


@given(no_tie, st.floats(0.05, 20))
def test_the_slopes_are_derivatives(means, beyond):
    rivals = rivals_of(means)
    of_best = rivals.least_of_best * (1 + beyond) or beyond / rivals.best
    step = 1e-4 * (of_best - rivals.least_of_best)
    _, slopes = rivals.needs(of_best)
    above, _ = rivals.needs(of_best + step)
    below, _ = rivals.needs(of_best - step)
    assert slopes == pytest.approx((above - below) / (2 * step), rel=1e-4, abs=1e-9)


@given(no_tie)
def test_where_the_search_was_before_does_not_matter(means):
    seasoned, fresh = rivals_of(means), rivals_of(means)
    start = 2 * seasoned.least_of_best or 1 / seasoned.best
    for factor in (30.0, 0.9, 5.0, 1.0):
        seasoned.needs(start * factor)
    assert seasoned.needs(start)[0] == pytest.approx(fresh.needs(start)[0], rel=1e-9)


def test_a_small_gap_is_the_gaussian_case():
    """1/s + 1/t = gap^2/(2 v) for variance v."""
    needs, _ = Rivals(0.5 + 1e-6, np.array([0.5])).needs(2e12)
    assert 1 / needs[0] == pytest.approx(2e-12 - 1 / 2e12, rel=1e-5)


def test_more_arms_than_a_chunk_are_solved_alike():
    means = np.tile([0.1, 0.0, 0.3], 10_000)
    needs, slopes = Rivals(0.5, means).needs(20.0)
    few, few_slopes = Rivals(0.5, means[:3]).needs(20.0)
    assert needs == pytest.approx(np.tile(few, 10_000))
    assert slopes == pytest.approx(np.tile(few_slopes, 10_000))
