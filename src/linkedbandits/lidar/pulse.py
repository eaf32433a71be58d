"""The laser pulse on the grid of time bins: how much of it falls into which bin.

Time is measured in bins. :class:`Pulse` is a Gaussian, lowered so that it ends at four standard deviations: then a
pulse has to do with finitely many bins, exactly, and its density is continuous. :class:`MeasuredPulse` has any shape:
its density is a line from sample to sample and ends at 0 on both sides, so it is as exact as the other.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, exp, log, pi, sqrt
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from linkedbandits.checks import check_not_negative, check_positive, check_share
from linkedbandits.errors import CannotRead, InvalidParameter
from linkedbandits.lidar.file_errors import why_not
from linkedbandits.model import FloatArray

CUT = 4.0
"""Where the pulse ends, in standard deviations;"""
_AT_CUT = exp(-(CUT**2) / 2) / sqrt(2 * pi)
_WHOLE = float(2 * ndtr(CUT) - 1 - 2 * CUT * _AT_CUT)
"""the normal density there, and what is left under the curve when it is lowered by that much."""
_FWHM = sqrt(8 * log(2))
"""The full width of a Gaussian at half its maximum, in standard deviations."""
NEGLIGIBLE = 1e-3
"""A measured pulse begins with the first sample that has this share of its peak, and ends with the last."""
_AFTER_JITTER = 1e-4
_STEPS_OF_JITTER = 8
_MOST_KNOTS = 4000
"""A pulse with jitter is sampled this many times a standard deviation of the jitter, but not more often than this."""
_NARROWEST, _WIDEST = 0.01, 10_000
"""Bins: a pulse from a file that is narrower or longer than this has its times in another unit."""
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12}
"""Seconds in each unit of time that a file may have."""
_UNIT_WORDS = UNITS | {
    "sec": 1.0,
    "second": 1.0,
    "seconds": 1.0,
    "milliseconds": 1e-3,
    "microseconds": 1e-6,
    "nanoseconds": 1e-9,
    "picoseconds": 1e-12,
}
_UNIT_IN_HEAD = re.compile(rf"(?:^|[_\s(\[/])({'|'.join(_UNIT_WORDS)})(?=$|[\s)\]])")


class PulseShape(Protocol):
    """What a pulse is: its widths, and how much of it comes when. Times are in bins, from the pulse's time zero."""

    @property
    def fwhm(self) -> float:
        """The full width at half maximum."""

    @property
    def sigma(self) -> float:
        """The standard deviation of a Gaussian of that width: grids of depths are made to resolve it."""

    @property
    def half(self) -> int:
        """A pulse at a depth in bin j stays within the bins from j - half to j + half."""

    def cumulative(self, time: npt.ArrayLike) -> FloatArray:
        """The share of the pulse that comes before ``time``."""

    def density(self, time: npt.ArrayLike) -> FloatArray:
        """The derivative of :meth:`cumulative`; it is continuous."""

    def steepest(self, time: npt.ArrayLike, width: float) -> FloatArray:
        """An upper bound of the density's slope, in absolute value, within ``width`` of ``time``."""

    def shares(self, depth: npt.ArrayLike, bins: int) -> FloatArray:
        """The share of a pulse at each of these depths that falls into each bin; nothing where depth is not finite."""

    def jittered(self, sigma: float) -> PulseShape:
        """This pulse, seen by a detector that is off by a normal error with this standard deviation, in bins."""

    def __hash__(self) -> int:
        """Pulses are keys of caches."""


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
        return self.fwhm / _FWHM

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
        return _shares(self, depth, bins)

    def jittered(self, sigma: float) -> Pulse:
        """Widths of Gaussians add in squares.

        >>> Pulse(fwhm=3.0).jittered(4 / 2.3548).fwhm.__round__(3)
        5.0
        """
        check_not_negative("jitter", sigma)
        return self if sigma == 0 else Pulse(sqrt(self.fwhm**2 + (_FWHM * sigma) ** 2))


@dataclass(frozen=True, repr=False)
class MeasuredPulse:
    """A pulse of any shape: its density is a line from knot to knot, 0 at the first and the last, with area 1.

    ``times`` are in bins from the pulse's time zero. Make it with :meth:`from_samples` or :func:`read_pulse`.

    >>> pulse = MeasuredPulse.from_samples([0, 4, 8, 2, 1, 1, 0], step=0.5)
    >>> pulse
    MeasuredPulse(fwhm=0.833 bins, from -1.09 to 1.91)
    >>> pulse.shares(2.0, bins=5).round(2)
    array([0.  , 0.58, 0.33, 0.08, 0.  ])
    """

    times: tuple[float, ...]
    heights: tuple[float, ...]

    def __post_init__(self) -> None:
        times, heights = self._knots
        if times.size < 3 or times.shape != heights.shape or not (np.diff(times) > 0).all():
            raise InvalidParameter("a measured pulse needs three or more rising times, with a height for each")
        if heights[0] != 0 or heights[-1] != 0 or not (heights >= 0).all() or abs(self._before[-1] - 1) > 1e-9:
            raise InvalidParameter(
                "the heights of a measured pulse are no density that begins and ends at 0; "
                "make it with MeasuredPulse.from_samples"
            )
        if not times[0] <= 0 <= times[-1]:
            raise InvalidParameter(
                f"time zero is not within the pulse, which goes from {times[0]:g} to {times[-1]:g} bins after it; "
                "give a moment within the pulse, and take the offset from the depth"
            )

    @classmethod
    def from_samples(
        cls,
        values: npt.ArrayLike,
        step: float,
        *,
        zero: float | None = None,
        baseline: float | Literal["median"] = 0.0,
        negligible: float = NEGLIGIBLE,
    ) -> Self:
        """The pulse through samples that are ``step`` bins apart.

        ``baseline`` is subtracted: a level, or the median of all samples, which is one if the pulse fills less than
        half of them. What is then below 0 counts as 0, and so does what comes before the first sample that has the
        share ``negligible`` of the peak, and after the last. Time zero is ``zero`` bins after the first sample, or the
        pulse's centroid.
        """
        check_positive("step", step, most=1e9)
        count = np.size(np.asarray(values))
        return cls.from_curve(np.arange(count) * step, values, zero=zero, baseline=baseline, negligible=negligible)

    @classmethod
    def from_curve(
        cls,
        times: npt.ArrayLike,
        values: npt.ArrayLike,
        *,
        zero: float | None = None,
        baseline: float | Literal["median"] = 0.0,
        negligible: float = NEGLIGIBLE,
    ) -> Self:
        """The pulse through samples at these times, in bins, which rise; the rest as in :meth:`from_samples`."""
        check_share("negligible", negligible)
        time, height = _finite("times", times), _finite("values", values)
        if time.size != height.size or time.size < 2:
            raise InvalidParameter(f"{time.size} times and {height.size} values; give a pulse of two or more samples")
        if not (np.diff(time) > 0).all():
            raise InvalidParameter("the times of a pulse do not rise from sample to sample; sort them, without repeats")
        height = np.maximum(height - _level(height, baseline), 0.0)
        peak = height.max()
        if peak <= 0:
            raise InvalidParameter("a pulse without a sample above its baseline; give one that has a peak")
        first, last = np.flatnonzero(height >= max(negligible * peak, np.finfo(float).tiny))[[0, -1]]
        before = time[first - 1] if first > 0 else 2 * time[0] - time[1]
        after = time[last + 1] if last + 1 < time.size else 2 * time[-1] - time[-2]
        time = np.concatenate([[before], time[first : last + 1], [after]])
        height = np.concatenate([[0.0], height[first : last + 1], [0.0]])
        step = np.diff(time)
        height = height / (step * (height[1:] + height[:-1]) / 2).sum()
        if zero is None:  # the mean of a line from knot to knot, step by step
            low, high = 2 * height[:-1] + height[1:], height[:-1] + 2 * height[1:]
            zero = float((step * (time[:-1] * low + time[1:] * high)).sum() / 6)
        return cls(tuple((time - zero).tolist()), tuple(height.tolist()))

    @cached_property
    def _knots(self) -> tuple[FloatArray, FloatArray]:
        return np.array(self.times, dtype=np.float64), np.array(self.heights, dtype=np.float64)

    @cached_property
    def _slopes(self) -> FloatArray:
        times, heights = self._knots
        return np.asarray(np.diff(heights) / np.diff(times))

    @cached_property
    def _before(self) -> FloatArray:
        """The share of the pulse before each knot."""
        times, heights = self._knots
        return np.concatenate([[0.0], (np.diff(times) * (heights[1:] + heights[:-1]) / 2).cumsum()])

    @cached_property
    def _steepest_of(self) -> FloatArray:
        """The largest slope of 1, 2, 4, 8... pieces from each piece on; the first and the last piece are flat."""
        rows = [np.concatenate([[0.0], np.abs(self._slopes), [0.0]])]
        while 2 ** len(rows) <= rows[0].size:
            longer = np.append(rows[-1][2 ** (len(rows) - 1) :], np.zeros(2 ** (len(rows) - 1)))
            rows.append(np.maximum(rows[-1], longer))
        return np.array(rows)

    @cached_property
    def fwhm(self) -> float:
        """The full width of the highest peak at half of its height, in bins."""
        times, heights = self._knots
        half, peak = heights.max() / 2, int(heights.argmax())
        left = int(np.flatnonzero(heights[:peak] <= half)[-1])
        right = peak + 1 + int((heights[peak + 1 :] <= half).argmax())
        begins = times[left] + (half - heights[left]) / self._slopes[left]
        ends = times[right] + (half - heights[right]) / self._slopes[right - 1]
        return float(ends - begins)

    @property
    def sigma(self) -> float:
        """The standard deviation of a Gaussian with this ``fwhm``, in bins: a long tail does not make a pulse blunt."""
        return self.fwhm / _FWHM

    @property
    def half(self) -> int:
        """A pulse at a depth in bin j stays within the bins from j - half to j + half."""
        return ceil(max(-self.times[0], self.times[-1]))

    def cumulative(self, time: npt.ArrayLike) -> FloatArray:
        """The share of the pulse that comes before ``time``."""
        times, heights = self._knots
        within = np.clip(np.asarray(time, dtype=np.float64), times[0], times[-1])
        piece = np.minimum(np.searchsorted(times, within, side="right") - 1, times.size - 2)
        since = within - times[piece]
        return np.asarray(self._before[piece] + since * (heights[piece] + since * self._slopes[piece] / 2))

    def density(self, time: npt.ArrayLike) -> FloatArray:
        """The derivative of :meth:`cumulative`."""
        return np.asarray(np.interp(np.asarray(time, dtype=np.float64), *self._knots, left=0.0, right=0.0))

    def steepest(self, time: npt.ArrayLike, width: float) -> FloatArray:
        """The largest slope of the density, in absolute value, within ``width`` of ``time``; or of a piece next to it.

        Where the interval ends at a knot, both pieces there count, so that rounding cannot leave one out.
        """
        times, _ = self._knots
        middle = np.asarray(time, dtype=np.float64)
        reach = width + 1e-9 * (1 + np.abs(middle))
        first = np.searchsorted(times, middle - reach, side="left")
        last = np.searchsorted(times, middle + reach, side="right")
        row = np.log2(last - first + 1).astype(np.int64)  # exact for powers of two
        return np.asarray(np.maximum(self._steepest_of[row, first], self._steepest_of[row, last + 1 - 2**row]))

    def shares(self, depth: npt.ArrayLike, bins: int) -> FloatArray:
        """The share of a pulse at each of these depths that falls into each bin; nothing where depth is not finite."""
        return _shares(self, depth, bins)

    def jittered(self, sigma: float) -> MeasuredPulse:
        """This pulse and a normal error of this standard deviation, in bins; time zero stays where it is.

        The density is a sum of ramps, one for each change of slope. A ramp and a normal error give the integral of the
        normal distribution, so that the sum is exact at every new knot.
        """
        check_not_negative("jitter", sigma)
        if sigma == 0:
            return self
        times, _ = self._knots
        first, last = times[0] - CUT * sigma, times[-1] + CUT * sigma
        count = min(ceil((last - first) * _STEPS_OF_JITTER / sigma), _MOST_KNOTS)
        places = np.linspace(first, last, count + 1)
        z = (places[:, np.newaxis] - times) / sigma
        ramps = sigma * (z * ndtr(z) + np.exp(-(z**2) / 2) / sqrt(2 * pi))
        values = ramps @ np.diff(self._slopes, prepend=0.0, append=0.0)
        return MeasuredPulse.from_curve(places, values, zero=0.0, negligible=_AFTER_JITTER)

    @cached_property
    def _hash(self) -> int:
        return hash((self.times, self.heights))

    def __hash__(self) -> int:
        """Kept, because a pulse keys caches that are asked in inner loops."""
        return self._hash

    def __reduce__(self) -> tuple[type[MeasuredPulse], tuple[tuple[float, ...], tuple[float, ...]]]:
        return MeasuredPulse, (self.times, self.heights)

    def __repr__(self) -> str:
        """Without its hundreds of knots."""
        return f"MeasuredPulse(fwhm={self.fwhm:.3g} bins, from {self.times[0]:.3g} to {self.times[-1]:.3g})"


def _shares(pulse: PulseShape, depth: npt.ArrayLike, bins: int) -> FloatArray:
    place = np.asarray(depth, dtype=np.float64)[..., np.newaxis]
    shares = np.diff(pulse.cumulative(np.arange(bins + 1) - place), axis=-1)
    return np.asarray(np.where(np.isfinite(place), np.maximum(shares, 0.0), 0.0))  # rounding is no negative light


def _finite(name: str, numbers: npt.ArrayLike) -> FloatArray:
    try:
        array = np.asarray(numbers, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidParameter(f"the {name} of a pulse are no numbers ({error}); give a list of them") from None
    if array.ndim != 1 or not np.isfinite(array).all():
        raise InvalidParameter(f"the {name} of a pulse have to be one list of finite numbers; clean them first")
    return array


def _level(values: FloatArray, baseline: float | Literal["median"]) -> float:
    if baseline == "median":
        return float(np.median(values))
    if not (isinstance(baseline, int | float) and np.isfinite(baseline)):
        raise InvalidParameter(f"baseline={baseline!r} is no level; give a number, or 'median'")
    return float(baseline)


class _Recording(NamedTuple):
    """What a file has: values, their times where it has some, and what it says of the times' unit."""

    values: FloatArray
    times: FloatArray | None
    says: Sequence[str]


def read_pulse(
    path: Path,
    bin_seconds: float,
    *,
    step: float | None = None,
    unit: str | None = None,
    zero: float | None = None,
    baseline: float | Literal["median"] = 0.0,
) -> MeasuredPulse:
    """Read an impulse response that was measured, for bins that take ``bin_seconds``.

    ``.csv`` and ``.txt`` have a column of values, or times and values; ``.npy`` is an array of that shape; ``.npz`` has
    ``values`` and may have ``time_ns`` (or ``time_s``, ``time_ps``...). Values alone are ``step`` seconds apart. Times
    are in the ``unit`` given, or in the one that the head of the column names: ``time_ns``, ``time (ns)``. ``zero``, in
    seconds on the file's own clock, is the moment that depths are counted from; ``baseline`` is as in
    :meth:`MeasuredPulse.from_samples`.
    """
    check_positive("bin_seconds", bin_seconds)
    readers = {".csv": _read_text, ".txt": _read_text, ".npy": _read_npy, ".npz": _read_npz}
    ending = path.suffix.lower()
    if ending not in readers:
        raise CannotRead(f"{path} is no pulse that can be read; give a file in {', '.join(readers)}")
    if unit is not None and unit not in UNITS:
        raise InvalidParameter(f"unit={unit!r} (--pulse-unit) is no unit of time here; give one of {', '.join(UNITS)}")
    try:
        values, times, says = readers[ending](path)
        seconds = _seconds(values, times, says, step, unit)
        pulse = MeasuredPulse.from_curve(
            seconds / bin_seconds,
            values,
            zero=None if zero is None else zero / bin_seconds,
            baseline=baseline,
        )
    except FileNotFoundError as error:
        raise CannotRead(f"there is no file {path}; name one in which the pulse was measured") from error
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise CannotRead(f"the pulse {why_not(path, error)}") from error
    if not (pulse.fwhm >= _NARROWEST and pulse.half <= _WIDEST):
        raise CannotRead(
            f"the pulse {path} is {pulse.fwhm:.3g} bins wide at half maximum and goes from {pulse.times[0]:.3g} to "
            f"{pulse.times[-1]:.3g} bins, which no sensor has; check the unit of its times, or the step "
            "(--pulse-unit, --pulse-step), and the "
            f"{bin_seconds:.3g} s that a bin takes"
        )
    return pulse


def _seconds(
    values: FloatArray, times: FloatArray | None, says: Sequence[str], step: float | None, unit: str | None
) -> FloatArray:
    """The time of every value."""
    if times is None:
        if step is None:
            raise ValueError("it has values without times; say how far they are apart: step=50e-12 (--pulse-step 50ps)")
        check_positive("step", step, most=1.0)
        return np.arange(values.size, dtype=np.float64) * step
    if step is not None:
        raise ValueError("it has times of its own; leave out step= (--pulse-step)")
    named = {_UNIT_WORDS[word] for word in says if word in _UNIT_WORDS}
    if unit is not None:
        if named and named != {UNITS[unit]}:
            raise ValueError(f"its head says {' '.join(says)!r}, not {unit}; give the unit that is right, in one place")
        named = {UNITS[unit]}
    if len(named) != 1:
        raise ValueError(
            "it does not say the unit of its times; name the column time_ns (or _s, _ps), or give unit='ns' "
            "(--pulse-unit ns)"
        )
    return times * named.pop()


def _columns(table: npt.NDArray[Any], says: Sequence[str] = ()) -> _Recording:
    if table.dtype.kind not in "fiu":
        raise ValueError(f"it holds {table.dtype}, not real numbers; give a column of values, or times and values")
    table = table.astype(np.float64)
    if table.ndim == 2 and table.shape[1] == 1:
        table = table[:, 0]
    if table.ndim == 1:
        return _Recording(table, None, says)
    if table.ndim != 2 or table.shape[1] != 2:
        raise ValueError(f"it has shape {table.shape}; give a column of values, or two: times and values")
    return _Recording(table[:, 1], table[:, 0], says)


def _read_text(path: Path) -> _Recording:
    rows: list[list[float]] = []
    head = ""
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), start=1):
        cells = [cell for cell in re.split(r"[,;\s]+", line.strip()) if cell]
        if not cells:
            continue
        try:
            rows.append([float(cell) for cell in cells])
        except ValueError:
            if rows:
                raise ValueError(f"line {number} is no row of numbers: {line.strip()[:40]!r}; remove it") from None
            head = re.split(r"[,;\t]", line.strip("# \t"))[0]  # the last line before the numbers, its first column
            continue
        if len(rows[-1]) != len(rows[0]):
            raise ValueError(f"line {number} has {len(rows[-1])} columns and the first row {len(rows[0])}; even them")
    if not rows:
        raise ValueError("it has no numbers; give a column of values, or times and values")
    return _columns(np.array(rows), _UNIT_IN_HEAD.findall(head.lower().replace("µs", "us").replace("μs", "us")))


def _read_npy(path: Path) -> _Recording:
    with path.open("rb") as file:
        loaded = np.load(file)
        if not isinstance(loaded, np.ndarray):
            raise ValueError("it is no single array; give it the ending .npz")
        return _columns(loaded)


def _read_npz(path: Path) -> _Recording:
    with path.open("rb") as file, np.load(file) as arrays:
        times = [name for name in arrays.files if name.startswith("time")]
        if "values" not in arrays.files or len(times) > 1:
            raise ValueError(f"it has {', '.join(arrays.files) or 'nothing'}; give values, and time_ns unless evenly")
        values = _columns(arrays["values"]).values
        if not times:
            return _Recording(values, None, ())
        return _Recording(values, _columns(arrays[times[0]]).values, times[0].split("_")[1:])
