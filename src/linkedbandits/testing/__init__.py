"""Contracts, shipped so that you can hold your own policies and stores to them, and a world without chance."""

from linkedbandits.testing.policies import PolicyCheckFailed, PolicyFindings, check_policy
from linkedbandits.testing.stores import StoreCheckFailed, check_store
from linkedbandits.testing.worlds import ReplayedRewards

__all__ = [
    "PolicyCheckFailed",
    "PolicyFindings",
    "ReplayedRewards",
    "StoreCheckFailed",
    "check_policy",
    "check_store",
]
