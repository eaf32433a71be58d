"""Policies that ask for more at a time when they are told how many plays will be out."""

from __future__ import annotations

from dataclasses import dataclass

from linkedbandits.linkage import LINKAGES
from linkedbandits.policies.in_batches import InBatches


@dataclass(frozen=True)
class Mine(InBatches):
    delta: float
    parallel: int = 3

    start = request = observe = status_at_stop = error_bound = None


def test_what_is_told_replaces_the_number_and_nothing_else():
    assert Mine(0.1).fitted_to(LINKAGES["ordered"], 9) == Mine(0.1, parallel=9)


def test_what_is_not_told_changes_nothing():
    policy = Mine(0.1, parallel=4)
    assert policy.fitted_to(LINKAGES["free"], None) is policy
