"""What the policies that open gates by a model of the return share: their parameters, their counts, their next gate."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from math import sqrt
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from linkedbandits.checks import check_not_negative, check_positive
from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar.expected import Expected
from linkedbandits.lidar.pulse import Pulse, PulseShape
from linkedbandits.lidar.returns import ReturnModel, return_model
from linkedbandits.lidar.sensor import LEAST_BACKGROUND, Sensor
from linkedbandits.linkage import Asks
from linkedbandits.model import BoolArray, Counts, FloatArray, IntArray, Repeats
from linkedbandits.policy import LaneState, Policy, open_lanes


@dataclass
class GateState(LaneState):
    """Cycles so far, the counts of every bin, and the gate to open next; and what is thought of the pixel.

    ``log_prior`` has the logarithms of the weights that bins had beforehand, ``expected_signal`` and
    ``expected_background`` what was expected; ``level`` is that of the background that the pixel's own counts tell.
    """

    cycles: IntArray
    samples: IntArray
    successes: IntArray
    gate: BoolArray
    level: IntArray
    log_prior: FloatArray
    expected_signal: FloatArray
    expected_background: FloatArray

    def add(self, counts: Counts, cycles: IntArray) -> None:
        """Take in what the last gate brought."""
        self.cycles = self.cycles + cycles
        self.samples = self.samples + counts.samples
        self.successes = self.successes + counts.successes


GateStateT = TypeVar("GateStateT", bound=GateState)


@dataclass(frozen=True)
class GatePolicy(Policy[GateStateT]):
    """A pulse of width ``fwhm`` (in bins), an unknown signal, and a background of about ``background`` photons a bin.

    ``weakest`` and ``strongest`` say what signals, in photons a cycle, to be prepared for. With ``told`` the background
    is just what it is said to be; without, every pixel has its own. ``sensor`` says what the pulse is and what a gate
    may be, and charges gates with the time that detections cost; without it a gate may be any subset of bins, and a
    cycle is a cycle.
    """

    fwhm: float
    background: float
    weakest: float = 0.05
    strongest: float = 5.0
    told: bool = field(default=False, kw_only=True)
    sensor: Sensor | None = field(default=None, kw_only=True)

    asks: ClassVar[Asks] = "ordered tuples"
    answers_at_any_time: ClassVar[bool] = True
    """Bins are sampled very unequally: the highest mean is often that of a bin which was hardly tried."""
    wraps: ClassVar[bool] = False
    """Does a gate stay open into the next period, up to the bin at which it opened?"""
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
    def pulse(self) -> PulseShape:
        """What a return looks like."""
        return Pulse(self.fwhm) if self.sensor is None else self.sensor.pulse

    @property
    def model(self) -> ReturnModel:
        """The tables for it."""
        return return_model(self.pulse, self.background, self.weakest, self.strongest, self.told)

    @property
    def typical_signal(self) -> float:
        """Between the weakest and the strongest."""
        return sqrt(self.weakest * self.strongest)

    def nothing_known(self, lanes: int, arms: int) -> dict[str, npt.NDArray[Any]]:
        """The arrays of a state in which nothing was seen: every bin is open, and as likely as the others."""
        if self.sensor is not None and arms != self.sensor.bins:
            raise InvalidParameter(
                f"the sensor has {self.sensor.bins} bins, and there are {arms} arms; make them equal"
            )
        counts = np.zeros((lanes, arms), dtype=np.int64)
        background = np.full(lanes, max(self.background, LEAST_BACKGROUND))
        return {
            **open_lanes(lanes, arms),
            "cycles": np.zeros(lanes, dtype=np.int64),
            "samples": counts,
            "successes": counts.copy(),
            "gate": np.ones((lanes, arms), dtype=np.bool_),
            "level": self.model.level_of(background),
            "log_prior": np.tile(self.log_weights(arms), (lanes, 1)),
            "expected_signal": np.full(lanes, self.typical_signal),
            "expected_background": background,
        }

    def log_weights(self, arms: int) -> FloatArray:
        """All bins alike, but for those that no gate can see: who looks for a depth there never ends."""
        weight = np.ones(arms)
        if self.sensor is not None:
            weight[: self.sensor.first_seen] = _UNSEEN
        return np.asarray(np.log(weight / weight.sum()))

    def expect(self, state: GateStateT, expected: Expected) -> None:
        """Begin with what is known beforehand."""
        expected.check()
        state.log_prior = expected.log_prior
        state.expected_signal = expected.signal
        state.expected_background = expected.background
        state.level = self.model.level_of(state.expected_background)
        self.choose(state)

    def observe(self, state: GateStateT, counts: Counts) -> None:
        """Take in what the gate brought. A play that the first bin of its gate was sampled in is a cycle."""
        self.observe_in_time(state, counts, counts.most_plays())

    def observe_in_time(self, state: GateStateT, counts: Counts, cycles: IntArray) -> None:
        """The same, where some cycles may have sampled no bin at all: it was that many."""
        state.add(counts, cycles)
        self.choose(state)

    @abstractmethod
    def choose(self, state: GateStateT) -> None:
        """Make up one's mind by what was counted so far, and by what was known before: stop, or a gate."""

    def proved(self, state: GateStateT) -> BoolArray:
        """Where did it stop with a guarantee? Nowhere, unless a policy says so."""
        return np.zeros(state.stopped.shape, dtype=np.bool_)

    def find_level(self, state: GateStateT) -> None:
        """Take the background from the bins that a return from the likeliest one does not reach."""
        depth = state.arm.astype(np.float64) + 0.5
        background = self.model.background_elsewhere(state.samples, state.successes, depth, state.expected_background)
        state.level = self.model.level_of(background)

    def next_cycles(self, state: GateStateT) -> IntArray:
        """How many cycles the gate is kept for."""
        return np.maximum((state.cycles * self.growth).astype(np.int64), 1)

    def request(self, state: GateStateT) -> Repeats:
        """The gate that was chosen when the last counts came in."""
        order = np.argsort(~state.gate, axis=1, kind="stable")
        order = np.where(np.take_along_axis(state.gate, order, axis=1), order, -1)
        return Repeats(order, self.next_cycles(state))


AnyGatePolicy = GatePolicy[Any]
_UNSEEN = 1e-6
"""The weight of a bin that is never seen, where others have 1."""
