"""Contracts, shipped so that you can hold your own policies and stores to them."""

from linkedbandits.testing.policies import PolicyCheckFailed, PolicyFindings, check_policy
from linkedbandits.testing.stores import StoreCheckFailed, check_store

__all__ = ["PolicyCheckFailed", "PolicyFindings", "StoreCheckFailed", "check_policy", "check_store"]
