"""Which arms a run names: its policy's answer, or the best guess where there is none yet."""

from __future__ import annotations

import numpy as np

from linkedbandits.model import BoolArray, IntArray, empirical_means
from linkedbandits.policy import LaneState


def leading_arms(samples: IntArray, successes: IntArray, still_in: BoolArray, k: int) -> IntArray:
    """The best guess of every lane before its policy has decided: the k highest means, best first.

    Arms that are still in come before those that are not, and arms with samples before those without.
    """
    standing = 2.0 * still_in + (samples > 0) + empirical_means(samples, successes) / 2
    return np.asarray(np.argsort(-standing, axis=1, kind="stable")[:, :k])


def answer_of(state: LaneState) -> IntArray:
    """The arms that a policy answers with, (lanes, k), best first."""
    top: IntArray | None = getattr(state, "top", None)
    return state.arm[:, np.newaxis] if top is None else top
