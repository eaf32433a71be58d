"""The divergence: against exact arithmetic, at the edges, and at error probabilities too small to print."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from linkedbandits.bounds.divergence import kl, kl_of_error, pooled_kl, pooled_kl_per_cost


def exact_kl(p: float, q: float) -> float:
    """The textbook formula in 120 digits."""
    with localcontext() as context:
        context.prec = 120
        first, second = Decimal(p), Decimal(q)
        heads = first * (first / second).ln() if p > 0 else Decimal(0)
        tails = (1 - first) * ((1 - first) / (1 - second)).ln() if p < 1 else Decimal(0)
        return float(heads + tails)


@given(st.floats(0, 1), st.floats(1e-50, 1 - 1e-15))
def test_it_is_the_textbook_formula(p, q):
    assume(p == 0 or p > 1e-50)
    assert float(kl(p, q)) == pytest.approx(exact_kl(p, q), rel=1e-14, abs=1e-100)


@given(st.floats(0.001, 0.999), st.floats(-12, -1), st.sampled_from([-1, 1]))
def test_close_means_keep_their_digits(p, exponent, sign):
    q = p + sign * 0.001 * 10.0**exponent
    assume(q != p)
    assert float(kl(p, q)) == pytest.approx(exact_kl(p, q), rel=1e-14, abs=0)


def test_the_edges():
    assert float(kl(0, 0)) == float(kl(1, 1)) == 0
    assert float(kl(0, 1)) == float(kl(1, 0)) == float(kl(0.5, 0)) == float(kl(0.5, 1)) == np.inf
    assert float(kl(0, 0.25)) == pytest.approx(-np.log(0.75))
    assert float(kl(1, 0.25)) == pytest.approx(-np.log(0.25))
    assert float(kl(5e-324, 0.25)) == pytest.approx(-np.log(0.75))


@given(st.floats(0.01, 1), st.floats(0, 0.99), st.floats(1e-6, 1e6))
def test_the_pooled_mean_is_the_one_hardest_to_tell_from_both(best, share, ratio):
    rival = share * best
    of_best, of_rival = pooled_kl(best, np.array([rival]), np.array([ratio]))
    pooled = (best + ratio * rival) / (1 + ratio)
    assert of_best[0] == pytest.approx(float(kl(best, pooled)), rel=1e-6, abs=1e-12)
    others = np.linspace(rival, best, 41)
    assert of_best[0] + ratio * of_rival[0] <= (kl(best, others) + ratio * kl(rival, others)).min() * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize("delta", [0.4, 0.1, 1e-3, 1e-12, 1e-300])
def test_the_evidence_for_an_error_probability(delta):
    with localcontext() as context:
        context.prec = 400
        level = Decimal(delta)
        exact = float((1 - 2 * level) * ((1 - level) / level).ln())
    assert kl_of_error(delta) == pytest.approx(exact, rel=1e-14)


def test_a_coin_is_good_enough_from_one_half_on():
    assert kl_of_error(0.5) == kl_of_error(0.9) == 0
    assert kl_of_error(0.5 - 1e-9) > 0


def test_per_cost_the_pooled_means_are_those_that_differ_least():
    """Against very many pairs of means of which the rival's is ``slope`` times the other."""
    for best, rival, ratio, slope in [
        (0.5, 0.6, 2.0, 3.0),
        (0.9, 0.1, 0.3, 0.4),
        (1.0, 0.4, 1.0, 0.7),
        (0.8, 0.0, 5, 2),
    ]:
        place = min(1, 1 / slope) * np.linspace(0, 1, 100_001)[1:-1]
        least = (kl(best, place) + ratio * kl(rival, slope * place)).min()
        of_best, of_rival = pooled_kl_per_cost(*(np.array([x]) for x in (best, rival, ratio, slope)))
        assert float((of_best + ratio * of_rival)[0]) == pytest.approx(least, rel=1e-6)
