"""The ways to spend laser cycles, by name: each is a policy under a linkage.

========== ======= ==================================================================================================
name       linkage what it does
========== ======= ==================================================================================================
synchronous ordered  every bin, every cycle: the paper's MaximalSampling
suffix     ordered  every bin equally often, with gates that open late: the paper's SuffixSample
free       free     every bin equally often, if bins could be tried in any order: a bound, not a sensor
shifted    free     windows that begin later and later and wrap: the field's asynchronous mode
elimination ordered  LinkedElimination over bins, to within what a bin near the pulse's middle has less
halving    ordered  LinkedHalving over bins
thompson   ordered  gates opened where a draw from the posterior says: the published peer
pulse      ordered  PulseGating: the pulse is known, and the gate is the one worth most
========== ======= ==================================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from linkedbandits.errors import UnknownName
from linkedbandits.lidar.estimators import SIGNAL_SPREAD
from linkedbandits.lidar.even_gates import EvenGates
from linkedbandits.lidar.pulse_gating import PulseGating
from linkedbandits.lidar.sensor import Sensor
from linkedbandits.lidar.shifted_gates import ShiftedGates
from linkedbandits.lidar.thompson_gating import ThompsonGating
from linkedbandits.policies import LinkedElimination, LinkedHalving, MaximalSampling
from linkedbandits.policy import AnyPolicy

WIDE = 5.0
"""A pulse of more bins than this is a wide one."""


@dataclass(frozen=True)
class Task:
    """What is known beforehand: the sensor, about what signal to expect, and what may be spent.

    ``delta`` is for the acquisitions that can stop by themselves; without it they use all ``cycles``.
    """

    sensor: Sensor
    signal: float
    cycles: int
    delta: float | None = None

    @property
    def tolerance(self) -> float:
        """How many bins a right depth may be off: one, or half the pulse's width where the pulse is a wide one."""
        return self.sensor.fwhm / 2 if self.sensor.fwhm > WIDE else 1.0


@dataclass(frozen=True)
class Acquisition:
    """A policy, the linkage it plays under, and the laser cycles that a play takes."""

    policy: AnyPolicy
    linkage: str = "ordered"
    cost: float = 1.0


def _shifted(task: Task) -> Acquisition:
    cost = ShiftedGates(1).cost
    return Acquisition(ShiftedGates(max(1, int(task.cycles / cost))), "free", cost)


def _elimination(task: Task) -> Acquisition:
    return Acquisition(LinkedElimination(task.delta or 0.05, epsilon=bin_tolerance(task)))


def _thompson(task: Task) -> Acquisition:
    return Acquisition(ThompsonGating(task.sensor.fwhm, task.sensor.background, *_signals(task)))


def _pulse(task: Task) -> Acquisition:
    policy = PulseGating(
        task.sensor.fwhm, task.sensor.background, *_signals(task), delta=task.delta, tolerance=task.tolerance
    )
    return Acquisition(policy)


def _signals(task: Task) -> tuple[float, float]:
    return task.signal / SIGNAL_SPREAD, task.signal * SIGNAL_SPREAD


ACQUISITIONS: dict[str, Callable[[Task], Acquisition]] = {
    "synchronous": lambda task: Acquisition(MaximalSampling(plays=task.cycles)),
    "suffix": lambda task: Acquisition(EvenGates()),
    "free": lambda task: Acquisition(EvenGates(), "free"),
    "shifted": _shifted,
    "elimination": _elimination,
    "halving": lambda task: Acquisition(LinkedHalving(task.cycles)),
    "thompson": _thompson,
    "pulse": _pulse,
}


def find_acquisition(name: str, task: Task) -> Acquisition:
    """The acquisition of that name, for this task."""
    try:
        make = ACQUISITIONS[name]
    except KeyError:
        raise UnknownName(f"unknown acquisition {name!r}; choose one of {', '.join(ACQUISITIONS)}") from None
    return make(task)


def bin_tolerance(task: Task, steps: int = 16) -> float:
    """The tolerance in detection probability under which a best bin's equal lies within the tolerance in depth.

    True depth is continuous, so the two bins nearest to it may tie, and which of them is best is the wrong question.
    The best bin that is farther from the true depth than the tolerance fires less often than the best of all, by at
    least this much, wherever in its bin the depth lies.
    """
    middle = task.sensor.pulse.half + np.ceil(task.tolerance)
    sensor = Sensor(bins=int(2 * middle + 1), fwhm=task.sensor.fwhm, ambient=0.0, dark=task.sensor.background)
    depth = middle + np.arange(steps) / steps  # a bin's middle among them, where its neighbours are just too far
    chance = sensor.chances(depth, np.full(steps, task.signal))
    far = np.abs(np.arange(sensor.bins) + 0.5 - depth[:, np.newaxis]) > task.tolerance - 1e-9
    return float((chance.max(axis=1) - np.where(far, chance, 0.0).max(axis=1)).min())
