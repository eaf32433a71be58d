"""The paper's bounds: by hand on its own scenarios, beyond floating point, and where logarithms fail."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.bounds import corollary_in_kl, log_log_rate, paper
from linkedbandits.bounds.divergence import kl
from tests.support.instances import some_means


def test_every_bound_is_the_formula_of_its_theorem():
    means, delta = np.array([0.4, 0.1, 0.3, 0.2]), 0.05
    gaps, others, least = np.array([0.3, 0.1, 0.2]), np.array([0.1, 0.3, 0.2]), 0.1
    p = 0.6 * 0.9 * 0.7
    doubles = np.array([log(log(1 / gap) / delta) for gap in gaps])
    bounds = paper(means, delta)
    assert bounds.maximal == pytest.approx(1 / (least * p) ** 2 * log(4 / (least * p * delta)))
    assert bounds.maximal_log10 == pytest.approx(np.log10(bounds.maximal))
    assert bounds.uniform == pytest.approx(((1 + 0.8) / least**2 + sqrt(3 / least**2)) * log(4 / delta))
    assert bounds.linked_ege == pytest.approx(
        log(log(1 / least) / delta) / least**2
        + (others / gaps**2 * doubles).sum()
        + sqrt((doubles / gaps**2).sum()) * log(1 / delta)
    )
    assert bounds.lower == pytest.approx(((others / gaps**2).sum() + (0.4 + p * 0.8) / least**2) * log(1 / delta))
    assert bounds.standard_uniform == pytest.approx(4 / least**2 * log(4 / delta))
    assert bounds.standard_ege == pytest.approx((doubles / gaps**2).sum())
    assert bounds.standard_lower == pytest.approx(((1 / gaps**2).sum() + 1 / least**2) * log(1 / delta))
    assert bounds.improvement.maximal == pytest.approx(4 * p**2)
    assert bounds.improvement.uniform == pytest.approx(4 / 1.8)
    ratio = (1 / gaps**2).sum() / (1 / least**2 + (others / gaps**2).sum())
    assert bounds.improvement.linked_ege == pytest.approx(ratio)
    assert bounds.improvement.lower == pytest.approx(bounds.standard_lower / bounds.lower)


def test_maximal_sampling_past_floating_point_still_has_a_logarithm():
    bounds = paper(lb.scenarios.increasing(1000)[::-1] * 0.999, 0.1)
    assert bounds.maximal == np.inf
    assert 800 < bounds.maximal_log10 < 1000
    assert bounds.uniform < np.inf
    assert bounds.improvement.maximal == 0


def test_a_sure_arm_in_front_blocks_maximal_sampling_for_ever():
    bounds = paper([1.0, 0.5], 0.1)
    assert bounds.maximal == bounds.maximal_log10 == np.inf
    assert bounds.linked_ege < np.inf


def test_gaps_too_wide_for_the_double_logarithm_count_nothing():
    narrow, wide = paper([0.9, 0.8], 0.1), paper([0.9, 0.8, 0.0, 0.0], 0.1)
    assert wide.standard_ege == pytest.approx(narrow.standard_ege + 2 / 0.81 * log(log(1 / 0.9) / 0.1))
    assert paper([1.0, 0.0], 0.1).linked_ege == 0
    assert paper([1.0, 0.0], 0.1).standard_ege == 0


@given(some_means, st.sampled_from([0.9, 0.1, 1e-12, 1e-300]))
def test_no_instance_gives_nonsense(means, delta):
    bounds = paper(means, delta)
    values = [bounds.maximal, bounds.uniform, bounds.linked_ege, bounds.lower]
    values += [bounds.standard_uniform, bounds.standard_ege, bounds.standard_lower]
    assert all(value >= 0 for value in values)
    tied = np.count_nonzero(means == means.max()) > 1
    assert (bounds.lower == np.inf) == (bounds.uniform == np.inf) == tied
    improvement = bounds.improvement
    assert improvement.uniform * (1 + 1e-9) >= 1
    assert improvement.uniform <= means.size
    assert improvement.lower * (1 + 1e-9) >= 1
    assert 0 <= improvement.maximal <= means.size


def test_ties_leave_the_improvement_of_the_arms_that_tie():
    bounds = paper([0.5, 0.5, 0.5, 0.1], 0.1)
    assert bounds.linked_ege == bounds.maximal_log10 == np.inf
    assert bounds.improvement.linked_ege == pytest.approx(2 / (1 + 2 * 0.5))


def test_the_corollary_in_kl_is_its_formula():
    means, evidence = [0.1, 0.4, 0.3], 0.8 * log(9)
    samples = [1 / kl(0.1, 0.4), 1 / kl(0.4, 0.3), 1 / kl(0.3, 0.4)]
    expected = np.dot(means, samples) + 0.9 * 0.6 * 0.7 * max(samples)
    assert corollary_in_kl(means, 0.1) == pytest.approx(evidence * expected)
    assert corollary_in_kl([0.4, 0.4], 0.1) == np.inf
    assert corollary_in_kl([1.0, 0.0], 0.1) == 0


def test_bad_input_is_refused():
    with pytest.raises(lb.InvalidParameter, match="delta=0"):
        paper([0.1, 0.2], 0)
    with pytest.raises(lb.InvalidParameter, match="nan"):
        paper([0.1, float("nan")], 0.1)
    with pytest.raises(lb.InvalidParameter, match="delta=2"):
        corollary_in_kl([0.1, 0.2], 2)


def test_the_log_log_rate_is_the_formula_of_the_source():
    means, delta = [0.4, 0.1, 0.3, 0.2], 0.05
    efforts = [log(log(gap**-2)) / gap**2 for gap in (0.3, 0.1, 0.2)]
    p = 0.6 * 0.9 * 0.7 * 0.8
    expected = (2 - 4 * delta) * (0.1 * efforts[0] + 0.3 * efforts[1] + 0.2 * efforts[2] + p * efforts[1])
    assert log_log_rate(means, delta) == pytest.approx(expected)


def test_the_log_log_rate_leaves_out_gaps_too_wide_for_its_logarithms():
    assert log_log_rate([0.9, 0.1, 0.2], 0.1) == 0
    alone = log_log_rate([0.9, 0.0, 0.5], 0.1)
    assert alone == pytest.approx(1.6 * (0.5 + 0.1 * 1.0 * 0.5) * log(log(0.4**-2)) / 0.4**2)


def test_the_log_log_rate_is_infinite_for_a_tie_and_refuses_what_it_says_nothing_of():
    assert log_log_rate([0.2, 0.2, 0.1], 0.1) == np.inf
    with pytest.raises(lb.InvalidParameter, match=r"delta=0\.5 is not below 1/2"):
        log_log_rate([0.2, 0.1], 0.5)
