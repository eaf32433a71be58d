"""The contract of policies, to hold your own ones to, and worlds without chance."""

from linkedbandits.testing.policies import PolicyCheckFailed, PolicyFindings, check_policy
from linkedbandits.testing.worlds import ReplayedRequests, ReplayedRewards

__all__ = [
    "PolicyCheckFailed",
    "PolicyFindings",
    "ReplayedRequests",
    "ReplayedRewards",
    "check_policy",
]
