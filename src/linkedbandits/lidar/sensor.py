"""The sensor: photon rates, detection probabilities, and what a laser cycle costs.

A pixel's detector sees, in bin i of a laser cycle, Poisson light of rate

    r_i = signal * (share of the pulse in bin i) + ambient / bins + dark

and ends the cycle at the first photon: bin i, if the cycle gets there, fires with probability 1 - exp(-r_i). So a bin
is an arm, a laser cycle is a play, and a gate says which bins the play tries.

After a detection the detector is blind for a dead time, and the laser does not wait: :meth:`Sensor.lost_periods` says
how many periods that costs. What a gate can be is a property of the sensor (:mod:`linkedbandits.lidar.gates`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from linkedbandits.checks import check_not_negative, check_positive, check_share, check_whole
from linkedbandits.display import told_repr
from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar.gates import Gates, Suffixes
from linkedbandits.lidar.pulse import MeasuredPulse, Pulse
from linkedbandits.model import FloatArray, IntArray

SPEED_OF_LIGHT = 299_792_458.0
LEAST_BACKGROUND = 1e-6
"""Models assume at least this many background photons a bin and cycle, or one stray photon would prove a depth.
With this it does not, unless the pulse is much narrower than a bin."""
WIDE = 5.0
"""A pulse of more bins than this is a wide one."""
MOST_REACH = 1e6
"""Metres: no sensor sees so far."""
AFTERPULSES_END = 5.0
"""No afterpulse comes later than this many of their mean times."""

Mode = Literal["synchronous", "shifted", "free-running", "gated"]
MODES: tuple[Mode, ...] = get_args(Mode)
"""What a detector can do: see every bin of every cycle; windows as long as a period that begin later and later; see
again a dead time after each photon, wherever that is; a gate that is chosen."""


@dataclass(frozen=True)
class Sensor:
    """A gated single-photon detector and its laser.

    ``fwhm`` is the pulse's width in bins, ``ambient`` the background photons of a whole cycle, ``dark`` those that the
    detector makes by itself, in every bin. ``reach`` is the depth, in metres, that the last bin ends at. After a photon
    the detector is blind for ``dead_time`` seconds.

    ``response``, where given, is the impulse response that was measured, and takes the place of ``fwhm``. ``jitter`` is
    the detector's own error in time, in seconds (a standard deviation), on top of either. ``rise`` is how many seconds
    a gate takes from shut to fully sensitive; sensitivity grows evenly meanwhile, and what comes then is not counted.
    With probability ``afterpulsing`` a detection leaves an afterpulse, ``afterpulse_time`` seconds later on average
    (exponential, and no later than five of them). ``modes`` and ``gates`` say what the detector can do.

    >>> sensor = Sensor(bins=200, reach=6.0)
    >>> round(100 * sensor.bin_depth, 2), round(1e9 * sensor.period, 1)
    (3.0, 40.0)
    """

    bins: int = 200
    fwhm: float = 3.0
    ambient: float = 5.0
    dark: float = 0.0
    reach: float = 6.0
    dead_time: float = 100e-9
    jitter: float = field(default=0.0, kw_only=True)
    afterpulsing: float = field(default=0.0, kw_only=True)
    afterpulse_time: float = field(default=0.0, kw_only=True)
    rise: float = field(default=0.0, kw_only=True)
    response: MeasuredPulse | None = field(default=None, kw_only=True)
    modes: tuple[Mode, ...] = field(default=MODES, kw_only=True)
    gates: Gates = field(default=Suffixes(), kw_only=True)

    __repr__ = told_repr

    def __post_init__(self) -> None:
        check_whole("bins", self.bins, least=2)
        check_positive("reach", self.reach, most=MOST_REACH)
        for name in ("ambient", "dark", "dead_time", "jitter", "afterpulse_time", "rise"):
            check_not_negative(name, getattr(self, name))
        check_share("afterpulsing", self.afterpulsing)
        if self.afterpulsing > 0 and self.afterpulse_time == 0:
            raise InvalidParameter("afterpulsing without an afterpulse_time; give their mean time in seconds")
        if self.jitter >= self.period:
            raise InvalidParameter(
                f"jitter={self.jitter!r} s is no shorter than a period of {self.period:.3g} s; give seconds, as 5e-11"
            )
        if self.rise >= self.period:
            raise InvalidParameter(
                f"rise={self.rise!r} s is no shorter than a period of {self.period:.3g} s; give seconds, such as 1e-9"
            )
        if self.response is not None and not isinstance(self.response, MeasuredPulse):
            raise InvalidParameter(f"response={self.response!r} is no MeasuredPulse; make one with read_pulse")
        if isinstance(self.modes, str) or not self.modes or not set(self.modes) <= set(MODES):
            raise InvalidParameter(f"modes={self.modes!r}; give a tuple of one or more of {', '.join(MODES)}")
        object.__setattr__(self, "modes", tuple(mode for mode in MODES if mode in self.modes))
        if isinstance(self.gates, type) or not isinstance(self.gates, Gates):
            raise InvalidParameter(f"gates={self.gates!r} says not what a gate may be; give Suffixes(), or another")
        _ = self.pulse
        self.gates.check_sensor(self)

    @cached_property
    def pulse(self) -> Pulse | MeasuredPulse:
        """What the detector sees of a short flash, on this sensor's bins, jitter included."""
        shape = Pulse(self.fwhm) if self.response is None else self.response
        return shape.jittered(self.jitter / self.bin_seconds)

    @property
    def tolerance(self) -> float:
        """How many bins a right depth may be off: one, or half the pulse's width where the pulse is a wide one."""
        fwhm = self.pulse.fwhm
        return fwhm / 2 if fwhm > WIDE else 1.0

    @property
    def background(self) -> float:
        """Photons in a bin of a cycle that are no return."""
        return self.ambient / self.bins + self.dark

    @property
    def bin_depth(self) -> float:
        """The depth of a bin in metres."""
        return self.reach / self.bins

    @property
    def period(self) -> float:
        """Seconds from one laser pulse to the next: light goes to the end of the reach and back."""
        return 2 * self.reach / SPEED_OF_LIGHT

    @property
    def bin_seconds(self) -> float:
        """Seconds that a bin takes."""
        return self.period / self.bins

    @property
    def dead_bins(self) -> float:
        """The dead time in bins."""
        return self.dead_time / self.bin_seconds

    @property
    def rise_bins(self) -> int:
        """How many bins of a window are not counted, because the gate still rises."""
        return ceil(self.rise / self.bin_seconds - 1e-9)

    @property
    def first_seen(self) -> int:
        """The first bin that can be counted: none is in which every gate still rises."""
        return self.rise_bins if self.gates.rises else 0

    @property
    def rising(self) -> FloatArray:
        """The mean sensitivity of each of these bins, from 0 to 1."""
        if self.rise_bins == 0:
            return np.empty(0)
        rise, edges = self.rise / self.bin_seconds, np.arange(self.rise_bins + 1)
        # The integral of min(t / rise, 1).
        return np.diff(np.where(edges <= rise, edges**2 / (2 * rise), edges - rise / 2))

    @property
    def certifiable(self) -> bool:
        """Does what a gate sees depend on nothing but the gate? It does not where afterpulses outlast the dead time."""
        return self.afterpulsing == 0 or self.dead_time >= AFTERPULSES_END * self.afterpulse_time

    def rates(self, depth: npt.ArrayLike, signal: npt.ArrayLike, background: npt.ArrayLike | None = None) -> FloatArray:
        """Photons in every bin of a cycle: one row for each depth (in bins) and signal, or just one.

        A depth that is not finite has no return. ``background`` has the photons a bin that are none, dark counts
        included: one number, or one for each depth; without it, it is the sensor's.
        """
        base = self.background if background is None else np.asarray(background, dtype=np.float64)[..., np.newaxis]
        return np.asarray(np.asarray(signal)[..., np.newaxis] * self.pulse.shares(depth, self.bins) + base)

    def chances(
        self, depth: npt.ArrayLike, signal: npt.ArrayLike, background: npt.ArrayLike | None = None
    ) -> FloatArray:
        """The detection probability of every bin, at the :meth:`rates` of these depths, signals and backgrounds."""
        return np.asarray(-np.expm1(-self.rates(depth, signal, background)))

    def lost_periods(self, fired: npt.ArrayLike, opens: npt.ArrayLike = 0) -> FloatArray:
        """How many periods pass unseen after a detection in the bin ``fired`` if the next gate opens at ``opens``.

        The laser does not wait, and the detector must see again when the gate opens. So the next cycle is the first
        one after this that opens a dead time after the detection, or later; the middle of its bin is taken for that.

        >>> Sensor(bins=4, dead_time=100e-9).lost_periods([0, 1, 2, 3])  # 2.5 periods
        array([2., 2., 3., 3.])
        """
        since_opening = (np.asarray(fired, dtype=np.float64) + 0.5 - np.asarray(opens)) / self.bins
        return np.asarray(np.maximum(np.ceil(since_opening + self.dead_time / self.period) - 1, 0.0))

    def elapsed(self, cycles: FloatArray, photons: IntArray) -> FloatArray:
        """Seconds that ``cycles`` take, of which ``photons``, (pixels, bins), ended with a photon in that bin.

        That is for gates that begin with the period; :class:`linkedbandits.lidar.exposure.Exposure` has a clock for
        all others.
        """
        return np.asarray((cycles + photons @ self.lost_periods(np.arange(self.bins))) * self.period)

    def elapsed_shifted(self, windows: IntArray, shifts: int, cost: float, chances: FloatArray) -> FloatArray:
        """Seconds that ``windows`` take whose starts are shifted evenly, on average over what they may see.

        A window begins ``cost`` periods after the last one; or, where the detector is still blind by then, as many
        whole periods later as it takes. So it matters how far into its window a photon came. Counts of bins do not
        tell: the brighter it is, the earlier. ``chances`` are those of every bin, (pixels, bins).
        """
        blind = self.dead_time / self.period - cost
        least = max(0, ceil(0.5 / self.bins + blind))  # periods that any photon loses; one behind some place, one more
        place = min(max(ceil((least - blind) * self.bins - 0.5), 0), self.bins)
        dark = np.log1p(-np.minimum(chances, 1 - 1e-12)).cumsum(axis=1)  # the logarithm of: no photon up to here
        dark = np.concatenate([np.zeros((len(dark), 1)), dark, dark[:, -1:] + dark], axis=1)
        starts = np.arange(shifts) * self.bins // shifts
        to_place, to_end = (np.exp(dark[:, starts + after] - dark[:, starts]) for after in (place, self.bins))
        lost = (least * (1 - to_end) + (to_place - to_end)).mean(axis=1)
        return np.asarray(windows * (cost + lost) * self.period)
