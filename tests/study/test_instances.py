"""The instances of a study file: scenarios, means written out, and random families."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.scenarios import SCENARIOS, one_sparse
from linkedbandits.study.instances import read_instances
from linkedbandits.study.reading import Keys

FOLDER = Path(__file__).parents[2] / "benchmarks" / "data"


def instances(**table):
    return read_instances(Keys(table, "instances[1]"), FOLDER)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_has_an_instance_of_each_size_all_of_one_family(name):
    made = instances(scenario=name, arms=[3, 12])
    assert [instance.name for instance in made] == [f"{name}, 3 arms", f"{name}, 12 arms"]
    assert {instance.family for instance in made} == {name}
    for instance, arms in zip(made, (3, 12), strict=True):
        assert np.array_equal(instance.means, SCENARIOS[name](arms))


def test_the_place_of_the_best_arm_can_be_said_and_makes_a_family_of_its_own():
    (instance,) = instances(scenario="one-sparse", best=3, arms=5)
    assert np.array_equal(instance.means, one_sparse(5, 3))
    assert (instance.name, instance.family) == ("one-sparse, best 3, 5 arms", "one-sparse, best 3")


def test_the_first_arm_may_be_the_best_and_the_first_seed_the_one_that_is_not_given():
    (instance,) = instances(scenario="one-sparse", best=0, arms=5)
    assert instance.means.argmax() == 0
    (unsaid,), (said,) = instances(random="beta", arms=5), instances(random="beta", arms=5, seed=0)
    assert np.array_equal(unsaid.means, said.means)


def test_means_written_out_are_one_instance_of_no_family():
    (named,), (unnamed,) = instances(means=[0.2, 0.7], name="mine"), instances(means=[0.2, 0.7, 0.1])
    assert named.means.tolist() == [0.2, 0.7]
    assert (named.name, named.family) == ("mine", None)
    assert unnamed.name == "3 arms"


def test_random_families_are_drawn_once_and_for_all():
    text = {"random": "uniform", "low": 0.2, "high": 0.6, "arms": [5, 8], "count": 3, "least_gap": 0.05}
    first, again, other = (instances(**text, seed=seed) for seed in (1, 1, 2))
    for one, same, another in zip(first, again, other, strict=True):
        assert np.array_equal(one.means, same.means)
        assert not np.array_equal(one.means, another.means)
    assert [one.name for one in first] == [f"uniform {number}, {arms} arms" for arms in (5, 8) for number in range(3)]
    assert len({one.means.tobytes() for one in first}) == 6


def test_an_instance_of_a_random_family_does_not_depend_on_the_others():
    """So that a study may be given more of them, or other sizes, and keep its results."""
    (alone,) = instances(random="beta", arms=8, seed=4)
    beside = instances(random="beta", arms=[5, 8], count=3, seed=4, name="mine")
    assert np.array_equal(alone.means, beside[3].means)
    assert (beside[3].name, beside[3].family) == ("mine 0, 8 arms", "mine")


@given(st.floats(0, 0.45), st.floats(0.55, 1), st.floats(0, 0.02), st.integers(2, 6), st.integers(0, 99))
def test_drawn_means_keep_to_their_limits_and_their_gap(low, high, gap, arms, seed):
    (instance,) = instances(random="uniform", low=low, high=high, least_gap=gap, arms=arms, seed=seed)
    second, first = np.sort(instance.means)[-2:]
    assert first - second >= gap
    assert low <= instance.means.min() <= first <= high


def test_beta_families_follow_their_parameters():
    (low,), (high,) = (instances(random="beta", a=a, b=b, arms=500) for a, b in ((1, 9), (9, 1)))
    assert low.means.mean() < 0.2 < 0.8 < high.means.mean()  # means 0.1 and 0.9, a standard error below 0.005


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"arms": 3}, r"scenario: give one of scenario, means, random, table for each \[\[instances\]\], not none"),
        ({"means": [0.1, 0.2], "random": "beta", "arms": 3}, r"scenario: give one of .*, not \['means', 'random'\]"),
        ({"scenario": "one-sparse"}, r"arms is missing"),
        ({"scenario": "one-sparse", "arms": 1}, r"arms = 1 is no whole number of at least 2"),
        ({"scenario": "one-sparse", "arms": [5, 5]}, r"arms = 5 is in the list twice"),
        ({"scenario": "one-sparse", "best": 5, "arms": 5}, r"best: best=5 is no arm of 5"),
        ({"scenario": "increasing", "best": 1, "arms": 3}, r"best: only the scenario one-sparse"),
        ({"means": [0.1, "x"]}, r"means = 'x' is no number"),
        ({"means": [0.5]}, r"means: 1 mean\(s\) given; a choice needs at least two arms"),
        ({"random": "cauchy", "arms": 3}, r"random: unknown family 'cauchy'; choose uniform"),
        ({"random": "uniform", "low": 0.9, "high": 0.2, "arms": 3}, r"low: means between 0\.9 and 0\.2"),
        ({"random": "uniform", "low": 0.5, "high": 0.5, "arms": 3}, r"low: means between 0\.5 and 0\.5"),
        ({"random": "beta", "a": 0, "arms": 3}, r"a: a = 0\.0 and b = 1\.0 have to be positive"),
        ({"random": "beta", "b": 0, "arms": 3}, r"a: a = 1\.0 and b = 0\.0 have to be positive"),
        ({"random": "uniform", "high": 0.1, "least_gap": 0.2, "arms": 3}, r"least_gap: 1000 draws of 3 arms"),
        ({"random": "uniform", "a": 2.0, "arms": 3}, r"a is no key of a study"),
        ({"means": [0.1, 0.2], "options": ["a"]}, r"options is no key of a study"),
        ({"means": [0.1, 0.2], "correlation": 1}, r"correlation: correlation=1\.0 is not at least 0 and below 1"),
        ({"means": [0.1, 0.2], "correlation": "high"}, r"correlation = 'high' is no number"),
        ({"table": "face-apis.csv", "correlation": 0.5}, r"correlation: the options of a table fail together"),
        ({"table": "face-apis.csv", "arms": 3}, r"arms is no key of a study"),
        ({"table": "face-apis.csv", "options": ["Google", "x"]}, r"table: .* has 0 columns 'x', not one"),
        ({"table": "face-apis.csv", "options": []}, r"options = \[\] is empty"),
        ({"table": "no-such.csv"}, r"table: cannot read the table .*no-such\.csv: .*; give a CSV file"),
        ({"table": "face-apis.csv", "means": [0.1, 0.2]}, r"scenario: give one of .*, not \['means', 'table'\]"),
    ],
)
def test_what_is_wrong_is_named_by_its_key(table, said):
    with pytest.raises(lb.InvalidStudy, match=rf"^instances\[1\]\.{said}"):
        instances(**table)


def test_a_table_is_one_instance_with_its_own_means_and_requests():
    (whole,), (some,) = (
        instances(table="face-apis.csv"),
        instances(table="face-apis.csv", options=["Microsoft", "Google"], name="two of them"),
    )
    table = lb.OutcomeTable.read(FOLDER / "face-apis.csv")
    assert (whole.name, whole.family, some.name) == ("face-apis", None, "two of them")
    assert whole.means.tolist() == table.means.tolist()
    assert whole.requests.identity == {"table": table.digest, "options": list(table.options)}
    assert some.means.tolist() == table.only(["Microsoft", "Google"]).means.tolist()
    assert some.law.ends([0, 1]).tolist() == table.only(["Microsoft", "Google"]).ends([0, 1]).tolist()


@pytest.mark.parametrize(
    "kind", [{"means": [0.2, 0.7]}, {"scenario": "one-sparse", "arms": 2}, {"random": "beta", "arms": 2}]
)
def test_arms_may_share_how_hard_a_request_is(kind):
    ((plain,), (correlated,)) = instances(**kind), instances(**kind, correlation=0.5)
    assert correlated.means.tolist() == plain.means.tolist()
    assert correlated.name == f"{plain.name}, correlation 0.5"
    assert correlated.family == (plain.family and f"{plain.family}, correlation 0.5")
    assert correlated.requests.identity == {"correlation": 0.5}
    expected = lb.SharedDifficulty(plain.means, 0.5).ends([0, 1])
    assert correlated.law.ends([0, 1]).tolist() == expected.tolist()
    assert plain.law is None
