"""Contracts, shipped so that you can hold your own policies and stores to them, and worlds without chance."""

from linkedbandits.testing.policies import PolicyCheckFailed, PolicyFindings, check_policy
from linkedbandits.testing.stores import StoreCheckFailed, check_store
from linkedbandits.testing.worlds import ReplayedRequests, ReplayedRewards

__all__ = [
    "PolicyCheckFailed",
    "PolicyFindings",
    "ReplayedRequests",
    "ReplayedRewards",
    "StoreCheckFailed",
    "check_policy",
    "check_store",
]
