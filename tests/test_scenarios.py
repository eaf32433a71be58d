"""The paper's instances, recomputed from its section on experiments."""

from __future__ import annotations

import pytest

import linkedbandits as lb
from linkedbandits.scenarios import SCENARIOS, decreasing, find_scenario, increasing, one_sparse

SIZES = [2, 3, 10, 137]


@pytest.mark.parametrize("n", SIZES)
def test_one_sparse_has_one_better_arm_where_it_is_put(n):
    for best in (0, n // 2, n - 1):
        means = one_sparse(n, best=best).tolist()
        assert means == [0.1 if arm == best else 0.05 for arm in range(n)]
    assert one_sparse(n).argmax() == 0


@pytest.mark.parametrize("n", SIZES)
def test_decreasing_falls_from_a_first_arm_of_its_own(n):
    means = decreasing(n)
    expected = [0.05] + [0.05 - 0.005 * 0.95 ** ((n - i) / 2) for i in range(2, n + 1)]
    assert means == pytest.approx(expected, rel=1e-14)
    assert (means[1:] < means[:-1]).all()


@pytest.mark.parametrize("n", SIZES)
def test_increasing_rises_to_an_arm_that_always_succeeds(n):
    means = increasing(n).tolist()
    assert means == [i / n for i in range(1, n + 1)]
    assert means[-1] == 1.0


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
@pytest.mark.parametrize("n", [1, 0, -3, 2.5, "ten", True])
def test_fewer_than_two_arms_or_no_count_is_refused(scenario, n):
    with pytest.raises(lb.InvalidParameter, match=f"n={n!r} is not a whole number of at least 2"):
        scenario(n)


@pytest.mark.parametrize("best", [4, -1])
def test_a_best_arm_that_is_not_there_is_refused(best):
    with pytest.raises(lb.InvalidParameter, match=f"best={best} is no arm of 4; choose 0 to 3"):
        one_sparse(4, best=best)


def test_scenarios_are_found_by_name():
    assert find_scenario("one-sparse") is one_sparse
    with pytest.raises(lb.UnknownName, match="unknown scenario 'flat'; choose one of one-sparse, decreasing, incr"):
        find_scenario("flat")
