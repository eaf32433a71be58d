"""The words of the problem as data, and the checks of what users hand in."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.model import (
    COUNT_LIMIT,
    Counts,
    Needs,
    Repeats,
    Tuples,
    as_count,
    best_arm,
    check_means,
    check_needs,
    empirical_means,
    leading_arms,
    per_cost,
)


@pytest.mark.parametrize("means", [[0.1, 0.2], (0, 1), np.array([0.5, 0.5, 0.0]), np.float32([0.25, 0.75])])
def test_good_means_come_back_as_floats(means):
    checked = check_means(means)
    assert checked.dtype == np.float64
    assert checked.tolist() == list(means)


def test_checked_means_do_not_follow_the_array_they_came_from():
    given = np.array([0.1, 0.2])
    checked = check_means(given)
    given[0] = 0.9
    assert checked.tolist() == [0.1, 0.2]


@pytest.mark.parametrize(
    ("means", "said"),
    [
        ([0.1, -0.2], r"mean -0\.2 of arm 1 is outside \[0, 1\]; means are success probabilities"),
        ([1.5, 0.2, 2.0], r"mean 1\.5 of arm 0 is outside"),
        ([0.1, float("nan")], "mean nan of arm 1 is outside"),
        ([float("inf"), 0.1], "mean inf of arm 0 is outside"),
        ([0.3], r"1 mean\(s\) given; a choice needs at least two arms"),
        ([], r"0 mean\(s\) given"),
        (0.3, r"shape \(\); pass one flat list"),
        ([[0.1, 0.2]], r"shape \(1, 2\); pass one flat list"),
        ([[0.1, 0.2], [0.3]], "are not numbers; pass a list of success probabilities"),
        (["a", "b"], r"\['a', 'b'\] are not numbers"),
        (None, "shape|not numbers"),
    ],
)
def test_bad_means_are_named_with_the_remedy(means, said):
    with pytest.raises(lb.InvalidParameter, match=said):
        check_means(means)


def test_good_needs_come_back_as_whole_numbers():
    checked = check_needs([3, 0, 2.0])
    assert checked.dtype == np.int64
    assert checked.tolist() == [3, 0, 2]
    assert check_needs([COUNT_LIMIT - 1024, 2**53 + 1])[1] == 2**53 + 1  # exact where a float is not


@pytest.mark.parametrize(
    ("needs", "said"),
    [
        ([1, -2], "need -2 of arm 1 is negative; ask for 0 samples"),
        ([0.5, 1], "need 0.5 of arm 0 is not a whole number; round it up"),
        ([COUNT_LIMIT, 1], "of arm 0 is too large"),
        ([1, 2, 3], "3 needs for 2 arms; give one for each arm"),
    ],
)
def test_bad_needs_are_named_with_the_remedy(needs, said):
    with pytest.raises(lb.InvalidParameter, match=said):
        check_needs(needs, arms=2)


@pytest.mark.parametrize(
    ("amount", "count"), [(7.0, 7), (7.01, 8), (0.0, 0), (1e18, 10**18), (1e300, COUNT_LIMIT), (np.inf, COUNT_LIMIT)]
)
def test_sample_sizes_are_rounded_up_and_saturate(amount, count):
    assert as_count(amount) == count


def test_an_arm_without_samples_has_an_empirical_mean_of_zero():
    means = empirical_means(np.array([[4, 0]]), np.array([[3, 0]]))
    assert means.tolist() == [[0.75, 0.0]]


def test_the_best_arm_is_the_first_of_the_highest_among_those_marked():
    scores = np.array([[0.2, 0.9, 0.9], [0.2, 0.9, 0.5], [-3.0, -1.0, -2.0]])
    among = np.array([[True, True, True], [True, False, True], [True, False, True]])
    assert best_arm(scores, among).tolist() == [1, 2, 2]


@pytest.mark.parametrize("lanes", [np.array([0, 2]), np.array([True, False, True])], ids=["positions", "mask"])
def test_requests_and_counts_can_be_thinned(lanes):
    column = np.arange(3)
    table = np.arange(6).reshape(3, 2)
    several = Tuples(table[..., np.newaxis], table, column.astype(np.uint64))
    for whole in (Needs(table), Repeats(table, column), several, Counts(table, table + 1, column, several.order)):
        thinned = whole.take(lanes)
        for field in dataclasses.fields(whole):
            assert getattr(thinned, field.name).tolist() == getattr(whole, field.name)[[0, 2]].tolist()


def test_a_verdict_cannot_be_changed():
    verdict = lb.Verdict(arm="east", status="confident", plays=12, error_bound=0.05)
    with pytest.raises(dataclasses.FrozenInstanceError):
        verdict.arm = "west"


def test_per_cost_the_cheapest_arm_keeps_its_mean():
    assert per_cost(np.array([0.6, 0.5, 0.4]), (30.0, 10.0, 40.0)) == pytest.approx([0.2, 0.5, 0.1])
    assert per_cost(np.array([0.6, 0.5]), ()).tolist() == [0.6, 0.5]


def test_with_costs_the_arm_with_most_successes_per_cost_leads():
    samples, successes = np.array([[10, 10, 10]]), np.array([[5, 8, 3]])
    everyone = np.ones((1, 3), dtype=bool)
    led = [leading_arms(samples, successes, everyone, 1, costs).tolist() for costs in ((), (1, 2, 1), (5, 5, 1))]
    assert led == [[[1]], [[0]], [[2]]]


def test_in_a_notebook_a_verdict_is_a_table_of_what_it_says():
    html = lb.Verdict("<script>", "confident", 1234, 0.05, assumes=("independent options",))._repr_html_()
    assert "<script>" not in html
    assert "Verdict: &lt;script&gt;" in html
    for text in ("confident", "1,234", "0.05", "independent options"):
        assert f">{text}<" in html
    assert "in order" not in html
    assert "speaks against" not in html


def test_a_verdict_without_a_proof_says_so_in_a_notebook():
    several = lb.Verdict("a", "exhausted", 3, None, top=("a", "b"), contradicted=("a lead",))
    html = several._repr_html_()
    assert "exhausted, not proved" in html
    assert "probability" not in html
    assert ">a, b<" in html
    assert ">a lead<" in html
    assert "nothing of how options depend" in html


@pytest.mark.parametrize(
    ("status", "bound", "proved"),
    [("confident", 0.05, True), ("confident", None, False), ("confident", 1.0, False), ("exhausted", None, False)],
)
def test_a_verdict_is_proved_by_its_own_rule_and_a_bound_alone(status, bound, proved):
    assert lb.Verdict("a", status, 9, bound).proved == proved
