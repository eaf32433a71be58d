"""The laser pulse on the grid of time bins: how much of it falls into which bin.

Time is measured in bins. The pulse is a Gaussian, lowered so that it ends at four standard deviations: then a pulse has
to do with finitely many bins, exactly, and its density is continuous.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, log, pi, sqrt

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from linkedbandits.checks import check_positive
from linkedbandits.model import FloatArray

CUT = 4.0
"""Where the pulse ends, in standard deviations;"""
_AT_CUT = exp(-(CUT**2) / 2) / sqrt(2 * pi)
_WHOLE = float(2 * ndtr(CUT) - 1 - 2 * CUT * _AT_CUT)
"""the normal density there, and what is left under the curve when it is lowered by that much."""


@dataclass(frozen=True)
class Pulse:
    """A pulse of full width ``fwhm`` at half maximum, in bins.

    >>> pulse = Pulse(fwhm=3.0)
    >>> pulse.shares(np.array([3.5]), bins=7).round(2)
    array([[0.02, 0.09, 0.23, 0.31, 0.23, 0.09, 0.02]])
    """

    fwhm: float

    def __post_init__(self) -> None:
        check_positive("fwhm", self.fwhm)

    @property
    def sigma(self) -> float:
        """The standard deviation, in bins."""
        return self.fwhm / sqrt(8 * log(2))

    @property
    def half(self) -> int:
        """A pulse at a depth in bin j stays within the bins from j - half to j + half."""
        return ceil(CUT * self.sigma)

    def cumulative(self, time: npt.ArrayLike) -> FloatArray:
        """The share of the pulse that comes before ``time``, counted from its middle."""
        z = np.clip(np.asarray(time, dtype=np.float64) / self.sigma, -CUT, CUT)
        return np.asarray((ndtr(z) - ndtr(-CUT) - _AT_CUT * (z + CUT)) / _WHOLE)

    def density(self, time: npt.ArrayLike) -> FloatArray:
        """The derivative of :meth:`cumulative`."""
        z = np.asarray(time, dtype=np.float64) / self.sigma
        return np.asarray(np.maximum(np.exp(-(z**2) / 2) / sqrt(2 * pi) - _AT_CUT, 0.0) / (_WHOLE * self.sigma))

    def steepest(self, time: npt.ArrayLike, width: float) -> FloatArray:
        """The largest slope of the density, in absolute value, within ``width`` of ``time``.

        The slope of a Gaussian grows up to one standard deviation from its middle and falls beyond.
        """
        z = np.abs(np.asarray(time, dtype=np.float64)) / self.sigma
        reach = width / self.sigma
        z = np.clip(1.0, np.maximum(z - reach, 0.0), z + reach)  # the point nearest to the steepest one
        slope = z * np.exp(-(z**2) / 2) / sqrt(2 * pi)
        return np.asarray(np.where(z < CUT, slope, 0.0) / (_WHOLE * self.sigma**2))

    def shares(self, depth: npt.ArrayLike, bins: int) -> FloatArray:
        """The share of a pulse at each of these depths that falls into each bin; nothing where depth is not finite."""
        place = np.asarray(depth, dtype=np.float64)[..., np.newaxis]
        shares = np.diff(self.cumulative(np.arange(bins + 1) - place), axis=-1)
        return np.asarray(np.where(np.isfinite(place), shares, 0.0))
