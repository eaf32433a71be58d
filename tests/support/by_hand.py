"""Policies answered by hand, and chances worked out without them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import binom

from linkedbandits.model import Counts


class ByHand:
    """A policy in some lanes; a test reads what it asks for and makes up the answers."""

    def __init__(self, policy: Any, lanes: int = 1, arms: int = 2) -> None:
        self.policy = policy
        self.state = policy.start(lanes, arms, np.zeros(lanes, dtype=np.uint64))

    @property
    def request(self) -> Any:
        return self.policy.request(self.state)

    @property
    def needs(self) -> list[list[int]]:
        return self.request.samples.tolist()

    def answer(self, *successes: list[int], samples: list[list[int]] | None = None) -> None:
        """One row a lane; without ``samples``, of as many as were needed."""
        seen = self.request.samples if samples is None else np.array(samples)
        self.policy.observe(self.state, Counts(seen, np.array(successes)))

    def answer_shares(self, *shares: list[float]) -> None:
        """As many successes of what was needed as these shares say, one row a lane."""
        needs = self.request.samples
        self.policy.observe(self.state, Counts(needs, np.round(needs * np.array(shares)).astype(np.int64)))

    @property
    def still_in(self) -> list[list[int]]:
        """The arms still in, a list a lane."""
        return [np.flatnonzero(lane).tolist() for lane in self.state.still_in]

    @property
    def stopped(self) -> list[bool]:
        return self.state.stopped.tolist()

    @property
    def arm(self) -> list[int]:
        return self.state.arm.tolist()


def chance_second_wins(samples: int, first: float, second: float) -> float:
    """The chance that of two arms with that many samples each the second has more successes; a tie is the first's."""
    successes = np.arange(1, samples + 1)
    return float(binom.pmf(successes, samples, second) @ binom.cdf(successes - 1, samples, first))
