"""Contracts, shipped so that you can hold your own policies to them."""

from linkedbandits.testing.policies import PolicyCheckFailed, check_policy

__all__ = ["PolicyCheckFailed", "check_policy"]
