"""The policy that reads a log, if no other is given: the evidence race, with samples as the log has them.

On a log samples cost nothing, and waiting for them does. So every option that is still in is asked for as many as the
log is likely to have of it while it has one of the rarest: then all queues come to their ends together, and what the
log has is used. The race itself, its guarantee and its proof are :mod:`linkedbandits.policies.linked_elimination`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from linkedbandits.checks import check_costs, check_delta
from linkedbandits.linkage import Asks, Price, Single
from linkedbandits.model import BoolArray, FloatArray
from linkedbandits.policies.linked_elimination import EvidenceRace, RaceState

Shares = Callable[[BoolArray], FloatArray]
"""How often the log has lately had every option, given those that are still asked for."""


@dataclass(frozen=True)
class RaceOnALog(EvidenceRace):
    """Find the best option of a log, wrong with probability at most ``delta``. For one lane.

    ``shares`` must use what was read alone; ``attempts.queues`` says what that is. ``share`` is the part of delta that
    is the race's; another test may have the rest.
    """

    delta: float
    shares: Shares = field(repr=False, compare=False)
    costs: Sequence[float] = ()
    share: float = 1.0
    parallel: int = 1
    price: Price = field(default=Single.price, repr=False, compare=False)

    name: ClassVar[str] = "race-on-a-log"
    asks: ClassVar[Asks] = "needs"

    def __post_init__(self) -> None:
        check_delta(self.delta)
        object.__setattr__(self, "costs", check_costs(self.costs))

    def _enough(self, arms: int) -> float:
        return super()._enough(arms) / self.share

    def with_shares(self, shares: FloatArray) -> Self:
        """The same policy where the log would always have these: to try out how a run may end."""
        return replace(self, shares=lambda _: shares)

    def allocate(self, state: RaceState, rivals: BoolArray, leading: BoolArray) -> FloatArray:
        """As many as the log has lately had for one of the rarest, rounded to whole samples where a block is small."""
        asked = rivals | leading
        amounts = np.zeros(asked.shape)
        for lane in np.flatnonzero(asked.any(axis=1)):
            shares = self.shares(asked[lane])
            step = state.step[lane]
            wanted = np.maximum(np.round(step * shares / shares[asked[lane]].min()), 1.0)
            amounts[lane] = np.where(asked[lane], (wanted - 0.5) / step, 0.0)  # which is rounded up again
        return amounts
