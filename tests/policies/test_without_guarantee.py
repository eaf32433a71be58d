"""Policies that prove nothing say so, however their runs end."""

from __future__ import annotations

import pytest

import linkedbandits as lb
from linkedbandits.lidar import ThompsonGating
from linkedbandits.policies.without_guarantee import WithoutGuarantee


def test_it_ends_with_a_budget_and_bounds_no_error():
    mine = WithoutGuarantee()
    assert (mine.status_at_stop, mine.error_bound) == ("exhausted", None)


@pytest.mark.parametrize("policy", [lb.LinkedHalving(plays=60), ThompsonGating(2.0, 0.1)], ids=lambda one: one.name)
def test_no_run_of_such_a_policy_is_called_confident(policy):
    """Even where the arms could not be easier to tell apart, and whichever budget ends it."""
    assert isinstance(policy, WithoutGuarantee)
    runs = lb.simulate([0.0, 1.0, 0.0], policy, trials=5, max_plays=200)
    assert set(runs.status.tolist()) == {"exhausted"}
    assert not runs.confident.any()
