"""The exact law of plays in order: against enumeration, against drawing, and past the size where it can be exact."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.bounds import expectation, expected_plays
from linkedbandits.linkage import ordered_plays
from tests.support.instances import one_mean


def by_enumeration(needs: list[int], means: list[float]) -> float:
    total = 0.0
    for hits in product(*(range(need + 1) for need in needs)):
        chance = np.prod(
            [comb(m, x) * mu**x * (1 - mu) ** (m - x) for m, x, mu in zip(needs, hits, means, strict=True)]
        )
        total += float(chance) * int(ordered_plays(np.array([needs]), np.array([hits]))[0])
    return total


@given(st.lists(st.tuples(one_mean, st.integers(0, 5)), min_size=2, max_size=4))
@settings(max_examples=60)
def test_it_is_the_mean_over_all_outcomes(rows):
    means, needs = [mean for mean, _ in rows], [need for _, need in rows]
    assert expected_plays(needs, means).plays == pytest.approx(by_enumeration(needs, means), rel=1e-12)


@given(st.integers(1, 10**6), st.lists(one_mean, min_size=2, max_size=5))
@settings(max_examples=30)
def test_equal_needs_have_the_papers_expectation(need, means):
    """T = t + X_1 + ... + X_{n-1}, so that E[T] = t (1 + mu_1 + ... + mu_{n-1})."""
    assert expected_plays([need] * len(means), means).plays == pytest.approx(need * (1 + sum(means[:-1])), rel=1e-12)


@pytest.mark.statistical
def test_exact_and_drawn_agree(monkeypatch):
    """z is standard normal to good approximation: 5 standard errors are passed once in two million seeds."""
    needs, means = [160, 146, 118, 82], [0.1, 0.2, 0.3, 0.4]
    exact = expected_plays(needs, means)
    monkeypatch.setattr(expectation, "_EXACT_WORK", 0)
    drawn = expected_plays(needs, means, rng=np.random.default_rng(5), draws=200_000)
    assert (exact.draws, exact.standard_error) == (0, 0.0)
    assert drawn.draws == 200_000
    assert 0 < drawn.standard_error < 0.02
    assert abs(drawn.plays - exact.plays) < 5 * drawn.standard_error


def test_past_exactness_it_asks_for_randomness():
    needs, means = [10**7] * 300, [0.05] * 300
    with pytest.raises(lb.InvalidParameter, match="pass rng="):
        expected_plays(needs, means)
    drawn = expected_plays(needs, means, rng=np.random.default_rng(1), draws=20)
    assert drawn.plays == pytest.approx(10**7 * (1 + 299 * 0.05), rel=1e-3)


def test_the_same_generator_state_gives_the_same_estimate():
    one, other = (expected_plays([10**7] * 300, [0.05] * 300, rng=np.random.default_rng(1), draws=5) for _ in range(2))
    assert one == other


def test_no_needs_take_no_plays():
    assert expected_plays([0, 0], [0.5, 0.5]).plays == 0


def test_a_standard_error_takes_two_draws():
    with pytest.raises(lb.InvalidParameter, match="draws=1"):
        expected_plays([5, 5], [0.5, 0.5], draws=1)
