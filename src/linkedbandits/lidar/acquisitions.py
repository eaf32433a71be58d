"""The ways to spend laser cycles, by name: each is a policy under a linkage, or a mode in which the sensor runs.

============ ============ ============================================================================================
name         mode         what it does
============ ============ ============================================================================================
synchronous  synchronous  every bin, every cycle: the paper's MaximalSampling
free-running free-running the detector is on again a dead time after each photon, wherever that is in the period
shifted      shifted      windows that begin later and later and wrap: the field's asynchronous mode
even         gated        every bin equally often, with gates that open late: the paper's SuffixSample
free         gated        every bin equally often, if bins could be tried in any order: a bound, not a sensor
elimination  gated        LinkedElimination over bins, until those left are neighbours within the pulse
halving      gated        LinkedHalving over bins, likewise
thompson     gated        gates opened where a draw from the posterior says: the published peer
thompson-    gated        the same as the authors have it: windows that wrap, as long as a period
wrapped
pulse        gated        PulseGating: the pulse is known, and the gate is the best of those that the sensor can open
auto         any          pulse or free-running: what takes less time, or has more right, on made-up pixels
============ ============ ============================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np

from linkedbandits.checks import check_delta, check_positive, check_probability, check_whole
from linkedbandits.display import told_repr
from linkedbandits.errors import InvalidParameter, UnknownName
from linkedbandits.lidar.estimators import signal_range
from linkedbandits.lidar.even_gates import EvenGates
from linkedbandits.lidar.gate_policy import AnyGatePolicy, GatePolicy
from linkedbandits.lidar.gates import AnySubset, Suffixes
from linkedbandits.lidar.pulse_gating import PulseGating
from linkedbandits.lidar.sensor import Mode, Sensor
from linkedbandits.lidar.shifted_gates import ShiftedGates
from linkedbandits.lidar.thompson_gating import ThompsonGating, WrappedThompsonGating
from linkedbandits.policies import LinkedElimination, LinkedHalving, MaximalSampling
from linkedbandits.policy import AnyPolicy

MOST_SIGNAL = 1e6
"""Photons a cycle: more are no single photons."""
DROP = 0.05
"""Elimination drops a best bin with at most this probability, where a task has no delta."""


@dataclass(frozen=True)
class Task:
    """What is known beforehand: the sensor, about what signal to expect, and what may be spent.

    ``delta`` is for ``pulse`` and ``free-running``, which stop where a depth is sure. ``elimination`` drops bins at
    that level, or at 0.05, and always stops where those left are neighbours. ``likely`` has pulse and free-running
    stop where a depth is right with that probability by the model's own reckoning, without a guarantee. Without both
    all ``cycles`` are used. ``strongest`` is the largest signal that models are prepared for, ten times ``signal``
    unless given. Where it is given, the guarantee is void for brighter ones; where not, it holds for any. ``told``
    says that every pixel has just the sensor's background; without it, a pixel's own counts tell. ``present`` says
    that there is a return in every pixel, so that the estimator ``map`` never answers with none. ``borrow`` has pixels
    begin with what was found around them.
    ``seconds`` is the time that a pixel may take, blind times included: no cycle is begun that might end later.
    """

    sensor: Sensor
    signal: float
    cycles: int
    delta: float | None = None
    strongest: float | None = None
    likely: float | None = None
    told: bool = False
    present: bool = False
    borrow: bool = True
    seconds: float | None = None

    __repr__ = told_repr

    def __post_init__(self) -> None:
        check_positive("signal", self.signal, most=MOST_SIGNAL)
        check_whole("cycles", self.cycles)
        if self.delta is not None:
            check_delta(self.delta)
        if self.likely is not None:
            check_probability("likely", self.likely, example=0.95)
        if self.seconds is not None:
            check_positive("seconds", self.seconds)
            if self.seconds < self.sensor.period:
                raise InvalidParameter(
                    f"seconds={self.seconds!r} is less than a laser cycle of {self.sensor.period:.3g} s; give more"
                )
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
        return self.sensor.tolerance

    @property
    def neighbours(self) -> int:
        """How many places off a bin may be: half the pulse's width in whole bins, or one, and the next one may tie."""
        return min(max(1, int(self.sensor.pulse.fwhm / 2)), (self.sensor.bins - 2) // 2)


@dataclass(frozen=True)
class Acquisition:
    """A policy, the linkage it plays under, and the laser cycles that a play takes; and the mode it needs.

    ``shifts`` says that plays are windows whose starts are shifted evenly, in this many steps. ``sure_of`` names the
    estimator whose depth is sure where the policy stops with its guarantee.
    """

    policy: AnyPolicy
    linkage: str = "ordered"
    cost: float = 1.0
    shifts: int | None = None
    sure_of: str | None = None
    mode: Mode = "gated"

    @property
    def gates(self) -> AnyGatePolicy | None:
        """The policy, if it chooses gates by a model of the return."""
        return self.policy if isinstance(self.policy, GatePolicy) else None

    @property
    def in_time(self) -> bool:
        """Is it simulated with a clock that runs? The others are plays of bins, whose time is told afterwards."""
        return self.gates is not None or self.mode in ("synchronous", "shifted")


def _shifted(task: Task) -> Acquisition:
    if task.cycles < 2:
        raise InvalidParameter(f"cycles={task.cycles} is less than the 2 that a shifted window takes; give more")
    shifts = ShiftedGates(1).shifts
    if task.seconds is not None:  # a round that does not fit has fewer windows, shifted farther
        chances = -np.expm1(np.full((1, task.sensor.bins), -task.sensor.background))
        each = task.sensor.elapsed_shifted(np.ones(1, dtype=np.int64), shifts, 1 + 1 / shifts, chances)[0]
        shifts = max(1, min(shifts, int(task.seconds / each)))
    policy = ShiftedGates(task.cycles * shifts // (shifts + 1), shifts)  # every round begun takes a cycle more
    return Acquisition(policy, "free", policy.cost, policy.round, mode="shifted")


def _of_bins(policy: AnyPolicy, name: str, task: Task) -> Acquisition:
    """A policy that knows nothing of gates: it needs samples of bins, and the linkage finds the plays."""
    sensor = task.sensor
    if isinstance(sensor.gates, AnySubset):
        return Acquisition(policy)
    if isinstance(sensor.gates, Suffixes) and sensor.gates.positions is None:
        return Acquisition(policy, "suffix")
    raise InvalidParameter(
        f"{name} may open at any bin, and this sensor's gates are {sensor.gates.words}; use pulse or thompson, or "
        "gates that may open anywhere"
    )


def _elimination(task: Task) -> Acquisition:
    """Its guarantee is for the bin it names, whatever the signal; nothing is proved of a depth refined from it."""
    policy = LinkedElimination(DROP if task.delta is None else task.delta, neighbours=task.neighbours)
    return _of_bins(policy, "elimination", task)


def _thompson(task: Task, kind: type[ThompsonGating] = ThompsonGating, linkage: str = "ordered") -> Acquisition:
    sensor = task.sensor
    policy = kind(sensor.pulse.fwhm, sensor.background, *task.signals, told=task.told, sensor=sensor)
    return Acquisition(policy, linkage)


def _pulse(task: Task, mode: Mode = "gated") -> Acquisition:
    sensor = task.sensor
    policy = PulseGating(
        sensor.pulse.fwhm,
        sensor.background,
        *task.signals,
        told=task.told,
        sensor=sensor,
        delta=task.delta if sensor.certifiable else None,
        tolerance=task.tolerance,
        likely=task.likely,
        signal_limit=inf if task.strongest is None else task.strongest,
    )
    return Acquisition(policy, sure_of=None if policy.delta is None else "map", mode=mode)


ACQUISITIONS: dict[str, Callable[[Task], Acquisition]] = {
    "synchronous": lambda task: Acquisition(MaximalSampling(plays=task.cycles), mode="synchronous"),
    "free-running": lambda task: _pulse(task, "free-running"),
    "shifted": _shifted,
    "even": lambda task: _of_bins(EvenGates(), "even", task),
    "free": lambda task: Acquisition(EvenGates(), "free"),
    "elimination": _elimination,
    "halving": lambda task: _of_bins(LinkedHalving(task.cycles, task.neighbours), "halving", task),
    "thompson": _thompson,
    "thompson-wrapped": lambda task: _thompson(task, WrappedThompsonGating, "free"),
    "pulse": _pulse,
}
"""All but ``auto``, which is one of these: see :mod:`linkedbandits.lidar.choosing`."""


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
        raise UnknownName(f"unknown acquisition {name!r}; choose one of {', '.join(ACQUISITIONS)}, auto") from None
    made = make(task)
    if made.mode not in task.sensor.modes:
        raise InvalidParameter(
            f"{name} needs the mode {made.mode}, and this sensor has {', '.join(task.sensor.modes)}; choose another way"
        )
    if task.seconds is not None and not made.in_time:
        raise InvalidParameter(
            f"{name} plans by cycles and does not end by a clock, so seconds={task.seconds!r} is nothing to it; give "
            "cycles alone, or use synchronous, shifted, free-running, thompson or pulse"
        )
    if made.gates is not None and made.gates.wraps and not task.sensor.certifiable:
        raise InvalidParameter(
            f"{name} is simulated without afterpulses that outlast the dead time; use pulse, thompson or free-running, "
            "or set the sensor's afterpulsing to 0"
        )
    if made.gates is None and (task.sensor.rise_bins or not task.sensor.certifiable):
        raise InvalidParameter(
            f"{name} is simulated for gates that open at once and no afterpulses; use pulse, thompson or free-running, "
            "or set the sensor's rise and afterpulsing to 0"
        )
    return made
