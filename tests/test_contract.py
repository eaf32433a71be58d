"""Every policy keeps the contract; that the contract notices those which do not is in ``testing/test_policies.py``."""

from __future__ import annotations

import pytest

from linkedbandits.policies import POLICIES
from linkedbandits.testing import check_policy
from tests.support.every_policy import EVERY_POLICY, policy_id


@pytest.mark.parametrize("policy", EVERY_POLICY, ids=policy_id)
def test_every_policy_keeps_the_contract(policy):
    check_policy(policy, max_plays=50)


def test_every_policy_the_library_ships_is_held_to_it():
    assert {policy.name for policy in EVERY_POLICY} == set(POLICIES)
