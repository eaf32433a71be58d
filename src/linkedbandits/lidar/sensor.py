"""The sensor: photon rates, detection probabilities, and what a laser cycle costs.

A pixel's detector sees, in bin i of a laser cycle, Poisson light of rate

    r_i = signal * (share of the pulse in bin i) + ambient / bins + dark

and ends the cycle at the first photon: bin i, if the cycle gets there, fires with probability 1 - exp(-r_i). So a bin
is an arm, a laser cycle is a play, and a gate says which bins the play tries.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt

from linkedbandits.checks import check_not_negative, check_positive, check_whole
from linkedbandits.lidar.pulse import Pulse
from linkedbandits.model import FloatArray, IntArray

SPEED_OF_LIGHT = 299_792_458.0
LEAST_BACKGROUND = 1e-6
"""Models assume at least this many background photons a bin and cycle, or one stray photon would prove a depth.
With this it does not, unless the pulse is much narrower than a bin."""
MOST_REACH = 1e6
"""Metres: no sensor sees so far."""


@dataclass(frozen=True)
class Sensor:
    """A gated single-photon detector and its laser.

    ``fwhm`` is the pulse's width in bins, ``ambient`` the background photons of a whole cycle, ``dark`` those that the
    detector makes by itself, in every bin. ``reach`` is the depth, in metres, that the last bin ends at. After a photon
    the detector is blind for ``dead_time`` seconds.

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

    def __post_init__(self) -> None:
        check_whole("bins", self.bins, least=2)
        check_positive("reach", self.reach, most=MOST_REACH)
        _ = self.pulse
        for name in ("ambient", "dark", "dead_time"):
            check_not_negative(name, getattr(self, name))

    @property
    def pulse(self) -> Pulse:
        """The laser's pulse, on this sensor's bins."""
        return Pulse(self.fwhm)

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

    def chances(self, depth: npt.ArrayLike, signal: npt.ArrayLike) -> FloatArray:
        """The detection probability of every bin: one row for each depth (in bins) and signal, or just one.

        A depth that is not finite has no return.
        """
        rates = np.asarray(signal)[..., np.newaxis] * self.pulse.shares(depth, self.bins) + self.background
        return np.asarray(-np.expm1(-rates))

    def elapsed(self, cycles: FloatArray, photons: IntArray) -> FloatArray:
        """Seconds that ``cycles`` take, of which ``photons``, (pixels, bins), ended with a photon in that bin.

        The laser does not wait: a photon costs the periods that begin before the detector can see again. How many
        those are depends on when in its period it came: the middle of its bin is taken for that.
        """
        sees_again = (np.arange(self.bins) + 0.5) / self.bins + self.dead_time / self.period  # in periods
        lost = np.ceil(sees_again) - 1
        return np.asarray((cycles + photons @ lost) * self.period)

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
