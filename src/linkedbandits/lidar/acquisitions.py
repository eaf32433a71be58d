"""The ways to spend laser cycles, by name: each is a policy under a linkage.

========== ======= ==================================================================================================
name       linkage what it does
========== ======= ==================================================================================================
synchronous ordered  every bin, every cycle: the paper's MaximalSampling
even       ordered  every bin equally often, with gates that open late: the paper's SuffixSample
free       free     every bin equally often, if bins could be tried in any order: a bound, not a sensor
shifted    free     windows that begin later and later and wrap: the field's asynchronous mode
elimination ordered  LinkedElimination over bins, until those left are neighbours within the pulse
halving    ordered  LinkedHalving over bins, likewise
thompson   ordered  gates opened where a draw from the posterior says: the published peer
pulse      ordered  PulseGating: the pulse is known, and the gate is the one worth most
========== ======= ==================================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from linkedbandits.checks import check_delta, check_positive, check_whole
from linkedbandits.errors import InvalidParameter, UnknownName
from linkedbandits.lidar.estimators import signal_range
from linkedbandits.lidar.even_gates import EvenGates
from linkedbandits.lidar.pulse_gating import PulseGating
from linkedbandits.lidar.sensor import Sensor
from linkedbandits.lidar.shifted_gates import ShiftedGates
from linkedbandits.lidar.thompson_gating import ThompsonGating
from linkedbandits.policies import LinkedElimination, LinkedHalving, MaximalSampling
from linkedbandits.policy import AnyPolicy

WIDE = 5.0
"""A pulse of more bins than this is a wide one."""
MOST_SIGNAL = 1e6
"""Photons a cycle: more are no single photons."""
DROP = 0.05
"""Elimination drops a best bin with at most this probability, where a task has no delta."""


@dataclass(frozen=True)
class Task:
    """What is known beforehand: the sensor, about what signal to expect, and what may be spent.

    ``delta`` is for ``pulse``, which stops where a depth is sure; without it all ``cycles`` are used. ``elimination``
    drops bins at that level, or at 0.05, and always stops where those left are neighbours. ``strongest`` is the
    largest signal that models are prepared for, ten times ``signal`` unless given: no depth is sure where more comes
    back.
    """

    sensor: Sensor
    signal: float
    cycles: int
    delta: float | None = None
    strongest: float | None = None

    def __post_init__(self) -> None:
        check_positive("signal", self.signal, most=MOST_SIGNAL)
        check_whole("cycles", self.cycles)
        if self.delta is not None:
            check_delta(self.delta)
        if self.strongest is not None:
            check_positive("strongest", self.strongest, most=MOST_SIGNAL)
            if self.strongest < self.signal:
                raise InvalidParameter(
                    f"strongest={self.strongest!r} is below signal={self.signal!r}, the mean over pixels; raise it"
                )

    @property
    def signals(self) -> tuple[float, float]:
        """The weakest and the strongest signal that models are prepared for."""
        return signal_range(self.signal, self.strongest)

    @property
    def tolerance(self) -> float:
        """How many bins a right depth may be off: one, or half the pulse's width where the pulse is a wide one."""
        return self.sensor.fwhm / 2 if self.sensor.fwhm > WIDE else 1.0

    @property
    def neighbours(self) -> int:
        """How many places off a bin may be: half the pulse's width in whole bins, or one, and the next one may tie."""
        return min(max(1, int(self.sensor.fwhm / 2)), (self.sensor.bins - 2) // 2)


@dataclass(frozen=True)
class Acquisition:
    """A policy, the linkage it plays under, and the laser cycles that a play takes.

    ``shifts`` says that plays are windows whose starts are shifted evenly, in this many steps. ``sure_of`` names the
    estimator whose depth is sure where the policy stops with its guarantee.
    """

    policy: AnyPolicy
    linkage: str = "ordered"
    cost: float = 1.0
    shifts: int | None = None
    sure_of: str | None = None


def _shifted(task: Task) -> Acquisition:
    if task.cycles < 2:
        raise InvalidParameter(f"cycles={task.cycles} is less than the 2 that a shifted window takes; give more")
    shifts = ShiftedGates(1).shifts
    policy = ShiftedGates(task.cycles * shifts // (shifts + 1))  # every round begun takes a cycle more
    return Acquisition(policy, "free", policy.cost, policy.round)


def _elimination(task: Task) -> Acquisition:
    """Its guarantee is for the bin it names, whatever the signal; nothing is proved of a depth refined from it."""
    return Acquisition(LinkedElimination(DROP if task.delta is None else task.delta, neighbours=task.neighbours))


def _thompson(task: Task) -> Acquisition:
    return Acquisition(ThompsonGating(task.sensor.fwhm, task.sensor.background, *task.signals))


def _pulse(task: Task) -> Acquisition:
    policy = PulseGating(
        task.sensor.fwhm, task.sensor.background, *task.signals, delta=task.delta, tolerance=task.tolerance
    )
    return Acquisition(policy, sure_of="map" if task.delta is not None else None)


ACQUISITIONS: dict[str, Callable[[Task], Acquisition]] = {
    "synchronous": lambda task: Acquisition(MaximalSampling(plays=task.cycles)),
    "even": lambda task: Acquisition(EvenGates()),
    "free": lambda task: Acquisition(EvenGates(), "free"),
    "shifted": _shifted,
    "elimination": _elimination,
    "halving": lambda task: Acquisition(LinkedHalving(task.cycles, task.neighbours)),
    "thompson": _thompson,
    "pulse": _pulse,
}


ALIASES = {"suffix": "even"}
"""Names that acquisitions had before. Equal samples are not what the linkage ``suffix`` is about."""


def acquisition_name(name: str) -> str:
    """The name that an acquisition has now."""
    return ALIASES.get(name, name)


def find_acquisition(name: str, task: Task) -> Acquisition:
    """The acquisition of that name, for this task."""
    try:
        make = ACQUISITIONS[acquisition_name(name)]
    except KeyError:
        raise UnknownName(f"unknown acquisition {name!r}; choose one of {', '.join(ACQUISITIONS)}") from None
    return make(task)
