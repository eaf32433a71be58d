"""Which arms a run names where its policy has not decided yet."""

from __future__ import annotations

import numpy as np

from linkedbandits.model import BoolArray, IntArray, empirical_means
from linkedbandits.policy import AnyPolicy, LaneState


def leading_arms(samples: IntArray, successes: IntArray, still_in: BoolArray, k: int) -> IntArray:
    """The best guess of every lane before its policy has decided: the k highest means, best first.

    Arms that are still in come before those that are not, and arms with samples before those without.
    """
    standing = 2.0 * still_in + (samples > 0) + empirical_means(samples, successes) / 2
    return np.asarray(np.argsort(-standing, axis=1, kind="stable")[:, :k])


def best_guess(policy: AnyPolicy, state: LaneState, samples: IntArray, successes: IntArray) -> IntArray:
    """The arms to name where a policy has not stopped, (lanes, k): its own if it always has some, else the leading."""
    if policy.answers_at_any_time:
        return policy.answer(state)
    return leading_arms(samples, successes, state.still_in, policy.goal.k)
