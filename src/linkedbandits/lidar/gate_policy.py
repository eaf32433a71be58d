"""What the policies that open gates by a model of the return share: their parameters, their counts, their next gate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np

from linkedbandits.checks import check_not_negative, check_positive
from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar.pulse import Pulse
from linkedbandits.lidar.returns import ReturnModel, return_model
from linkedbandits.lidar.sensor import LEAST_BACKGROUND
from linkedbandits.linkage import Asks
from linkedbandits.model import BoolArray, Counts, IntArray, Repeats
from linkedbandits.policy import LaneState, Policy


@dataclass
class GateState(LaneState):
    """Cycles so far, the counts of every bin, and the gate to open next."""

    cycles: IntArray
    samples: IntArray
    successes: IntArray
    gate: BoolArray

    def add(self, counts: Counts) -> None:
        """Take in what the last gate brought."""
        self.cycles = self.cycles + counts.most_plays()
        self.samples = self.samples + counts.samples
        self.successes = self.successes + counts.successes


GateStateT = TypeVar("GateStateT", bound=GateState)


@dataclass(frozen=True)
class GatePolicy(Policy[GateStateT]):
    """A known pulse of width ``fwhm`` (in bins) over a known ``background`` (photons a bin), and an unknown signal.

    ``weakest`` and ``strongest`` say what signals, in photons a cycle, to be prepared for.
    """

    fwhm: float
    background: float
    weakest: float = 0.05
    strongest: float = 5.0

    asks: ClassVar[Asks] = "ordered tuples"
    answers_at_any_time: ClassVar[bool] = True
    """Bins are sampled very unequally: the highest mean is often that of a bin which was hardly tried."""
    growth: ClassVar[float]
    """A gate is kept for this share of the cycles so far, and for one at least."""

    def __post_init__(self) -> None:
        Pulse(self.fwhm)
        check_positive("weakest", self.weakest)
        check_positive("strongest", self.strongest)
        if self.strongest <= self.weakest:
            raise InvalidParameter(f"strongest={self.strongest!r} is not above weakest={self.weakest!r}; raise it")
        check_not_negative("background", self.background)

    @property
    def model(self) -> ReturnModel:
        """What a return looks like."""
        return return_model(self.fwhm, max(self.background, LEAST_BACKGROUND), self.weakest, self.strongest)

    def request(self, state: GateStateT) -> Repeats:
        """The gate that was chosen when the last counts came in."""
        order = np.argsort(~state.gate, axis=1, kind="stable")
        order = np.where(np.take_along_axis(state.gate, order, axis=1), order, -1)
        return Repeats(order, np.maximum((state.cycles * self.growth).astype(np.int64), 1))
