"""Photons that a real sensor has counted: how often each bin fired, and how often it could have.

``detections`` and ``samples`` are all that depth is found from (:func:`linkedbandits.lidar.find_depths`). Files have
detections; how often a bin could have fired depends on how the sensor works:

=============== ====================================================================================================
mode            samples of a bin
=============== ====================================================================================================
``synchronous`` the cycles in which no earlier bin had fired: the first photon ends a cycle
``free-running`` the cycles in which the detector was not blind: it is blind for a dead time after each photon
``every``       all cycles: every bin of every cycle can fire, whatever the others did
=============== ====================================================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from linkedbandits.checks import check_not_negative, check_whole
from linkedbandits.display import number
from linkedbandits.errors import InvalidParameter, UnknownName
from linkedbandits.lidar.sensor import SPEED_OF_LIGHT
from linkedbandits.model import COUNT_LIMIT, FloatArray, IntArray

PhotonMode = Literal["synchronous", "free-running", "every"]
PHOTON_MODES: tuple[PhotonMode, ...] = ("synchronous", "free-running", "every")
LEAST_BIN = 1e-12
MOST_BIN = 1e-6
"""Seconds: no time bin of a photon counter is shorter or longer than these."""
_MOST_DOUBLE = 0.5
"""Bins of the mode ``every`` are merged where fewer photons a pixel than this are expected to be counted twice."""
_WHOLE_TO = 1e-6
"""Counts stored as floating-point numbers may be off by rounding."""


def check_mode(mode: str) -> None:
    """Refuse a mode that there is not."""
    if mode not in PHOTON_MODES:
        raise UnknownName(f"unknown mode {mode!r}; choose one of {', '.join(PHOTON_MODES)}")


def check_bin_seconds(value: float, source: str) -> None:
    """Refuse what is no width of a time bin in seconds: mostly, a number in other units."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not LEAST_BIN <= value <= MOST_BIN:
        raise InvalidParameter(
            f"{source}: bin_seconds={value!r} is no bin width from 1 ps to 1 us; give it in seconds, as 55e-12, or "
            "with its unit on the command line: --bin-width 55ps"
        )


def as_counts(array: npt.NDArray[Any], source: str) -> IntArray:
    """The array as counts; refuse what counts nothing."""
    if array.dtype.kind not in "biuf":
        raise InvalidParameter(f"{source}: it holds {array.dtype}, not counts; give an array of whole numbers")
    if array.size == 0:
        raise InvalidParameter(f"{source}: an array of shape {array.shape} is empty; give one with photons in it")
    if array.dtype.kind == "f":
        broken = int((~np.isfinite(array)).sum())
        if broken:
            raise InvalidParameter(
                f"{source}: {broken:,} of {array.size:,} counts are not finite; replace them, by 0 where a pixel is "
                "dead"
            )
        whole = np.rint(array)
        if (np.abs(array - whole) > _WHOLE_TO).any():
            first = float(array.ravel()[(np.abs(array - whole) > _WHOLE_TO).argmax()])
            raise InvalidParameter(
                f"{source}: {first:g} is no whole number of photons; give raw counts, not rates or filtered histograms"
            )
        array = whole
    least, most = array.min(), array.max()
    if least < 0:
        raise InvalidParameter(
            f"{source}: it has negative counts, down to {least:g}; give raw counts, without a background subtracted"
        )
    if most > COUNT_LIMIT:
        raise InvalidParameter(f"{source}: a count of {most:g} is too large; counters end at 2**62")
    return array.astype(np.int64, copy=False)


@dataclass(frozen=True, eq=False)
class Photons:
    """How often each bin of each pixel fired, (rows, columns, bins), and how often it could have.

    ``cycles`` are the laser cycles of each pixel, ``bin_seconds`` is the width of a bin. ``zero_seconds`` is when,
    after the first bin begins, light from depth 0 would come: delays of cables and electronics. ``background``, where
    there is a calibration, has photons a bin and cycle for each pixel, and ``background_cycles`` how many cycles that
    is from. ``exact`` says that ``samples`` are what they are called; where they are not, no depth is called sure.
    ``notes`` say what a reader of the results has to know.

    >>> photons = Photons.from_histogram(np.array([[[1, 2, 0]]]), cycles=10, bin_seconds=1e-9)
    >>> photons.samples
    array([[[10,  9,  7]]])
    """

    detections: IntArray
    samples: IntArray
    bin_seconds: float
    cycles: IntArray
    source: str = "photons"
    mode: PhotonMode = "synchronous"
    zero_seconds: float = 0.0
    background: FloatArray | None = None
    background_cycles: IntArray | None = None
    exact: bool = True
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_mode(self.mode)
        check_bin_seconds(self.bin_seconds, self.source)
        for name in ("detections", "samples"):
            array = np.asarray(getattr(self, name))
            if array.ndim != 3:
                raise InvalidParameter(
                    f"{self.source}: {name} of shape {array.shape} are not (rows, columns, bins); reshape them"
                )
            object.__setattr__(self, name, as_counts(array, self.source))
        shape = self.detections.shape
        if self.samples.shape != shape:
            raise InvalidParameter(
                f"{self.source}: samples of shape {self.samples.shape} do not fit detections of shape {shape}; give "
                "both for the same bins"
            )
        if shape[2] < 2:
            raise InvalidParameter(f"{self.source}: one bin a pixel has no depth in it; give at least 2 bins")
        object.__setattr__(self, "cycles", cycles_of(self.cycles, shape[:2], self.source))
        if (self.detections > self.samples).any():
            where = _first(self.detections > self.samples)
            raise InvalidParameter(
                f"{self.source}: {_bin(where)} fired {self.detections[where]:,} times but was looked at "
                f"{self.samples[where]:,} times; give the samples that these detections are from"
            )
        if not self.detections.any():
            raise InvalidParameter(f"{self.source}: there is not one photon in it; look whether the laser was on")
        if not np.isfinite(self.zero_seconds):
            raise InvalidParameter(f"{self.source}: zero_seconds={self.zero_seconds!r} is no time; give seconds")

    def __repr__(self) -> str:
        """Without its histograms."""
        rows, columns, bins = self.detections.shape
        least, most = int(self.cycles.min()), int(self.cycles.max())
        cycles = f"{least:,} cycles" if least == most else f"{least:,} to {most:,} cycles"
        mean = float(self.detections.sum() / (rows * columns))
        said = f"{rows} x {columns} pixels, {bins:,} bins of {number(1e12 * self.bin_seconds)} ps"
        inexact = "" if self.exact else ", samples not exact"
        return f"Photons({self.source}, {self.mode}: {said}, {cycles}, {number(mean)} photons a pixel{inexact})"

    @classmethod
    def from_histogram(
        cls,
        detections: npt.ArrayLike,
        *,
        cycles: npt.ArrayLike,
        bin_seconds: float,
        mode: PhotonMode = "synchronous",
        dead_time: float | None = None,
        period: float | None = None,
        opens: int = 0,
        zero_seconds: float = 0.0,
        source: str = "histogram",
    ) -> Self:
        """Photons from a histogram (rows, columns, bins) of ``cycles`` laser cycles: one number, or one for each pixel.

        ``opens`` is the bin at which the detector's window opens, and the bins before it are seen last.
        ``free-running`` needs ``dead_time``, and takes ``period``, the seconds from pulse to pulse, where that is
        longer than the bins together. A histogram does not say where within a bin the detector sees again, so those
        samples are not exact.
        """
        check_mode(mode)
        check_bin_seconds(bin_seconds, source)
        array = np.asarray(detections)
        if array.ndim != 3:
            raise InvalidParameter(
                f"{source}: a histogram of shape {array.shape} is not (rows, columns, bins); reshape it, or say "
                "what its axes are: --axes rows,columns,bins"
            )
        counts = as_counts(array, source)
        bins = counts.shape[2]
        per_pixel = cycles_of(cycles, counts.shape[:2], source)
        _check_room(array.dtype, counts, per_pixel, source)
        if isinstance(opens, bool) or not isinstance(opens, int) or not 0 <= opens < bins:
            raise InvalidParameter(f"{source}: opens={opens!r} is no bin from 0 to {bins - 1}; give one")
        if opens:
            counts = np.roll(counts, -opens, axis=2)
        notes: tuple[str, ...] = ()
        if mode == "synchronous":
            samples = _reached(counts, per_pixel, source)
        elif mode == "every":
            samples = np.broadcast_to(per_pixel[..., np.newaxis], counts.shape)
            _check_saturation(counts, samples, source)
        else:
            samples = _not_blind(counts, per_pixel, bin_seconds, dead_time, period, source)
            notes = (
                "The detector is taken to see again at the edge of a bin. A histogram does not say more, so no "
                "depth is called sure; read the time stamps for that.",
            )
        return cls(
            detections=counts,
            samples=samples,
            bin_seconds=bin_seconds,
            cycles=per_pixel,
            source=source,
            mode=mode,
            zero_seconds=zero_seconds - opens * bin_seconds,
            exact=mode != "free-running",
            notes=notes,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns, _ = self.detections.shape
        return rows, columns

    @property
    def bins(self) -> int:
        """Bins of a pixel."""
        return int(self.detections.shape[2])

    @property
    def bin_depth(self) -> float:
        """The depth of a bin in metres: light goes there and back."""
        return self.bin_seconds * SPEED_OF_LIGHT / 2

    def depth(self, place: npt.ArrayLike) -> FloatArray:
        """The depth in metres of places in bins, counted from the beginning of the first."""
        return (np.asarray(place, dtype=np.float64) * self.bin_seconds - self.zero_seconds) * (SPEED_OF_LIGHT / 2)

    def crop(
        self,
        *,
        rows: tuple[int, int] | None = None,
        columns: tuple[int, int] | None = None,
        first_bin: int = 0,
        last_bin: int | None = None,
    ) -> Self:
        """Some rows, columns and bins, each from the first to the last one given, that one included; samples stay."""
        last_bin = self.bins - 1 if last_bin is None else last_bin
        ends = [
            _slice("rows", rows, self.shape[0]),
            _slice("columns", columns, self.shape[1]),
            _slice("first_bin and last_bin", (first_bin, last_bin), self.bins),
        ]
        high, wide, deep = ends
        return replace(
            self,
            detections=self.detections[high, wide, deep],
            samples=self.samples[high, wide, deep],
            cycles=self.cycles[high, wide],
            background=None if self.background is None else self.background[high, wide],
            background_cycles=None if self.background_cycles is None else self.background_cycles[high, wide],
            zero_seconds=self.zero_seconds - first_bin * self.bin_seconds,
        )

    def merged(self, bins: int) -> Self:
        """Neighbouring bins together, ``bins`` at a time; those left over at the end are dropped.

        A cycle looks at a merged bin if it looks at the first bin of it. That is exact for ``synchronous``. For
        ``every`` a cycle in which two of them fired would count twice: where that may have happened it is refused. For
        ``free-running`` it takes time stamps: read them with ``merge``.
        """
        check_whole("bins", bins)
        if bins == 1:
            return self
        if self.bins // bins < 2:
            raise InvalidParameter(f"{bins} of {self.bins} bins at a time leave no two bins; merge fewer")
        if self.mode == "free-running":
            raise InvalidParameter(
                f"{self.source}: bins of a free-running sensor cannot be merged after they were counted; read the time "
                f"stamps with merge={bins} (--merge {bins})"
            )
        groups = self.bins // bins
        grouped = (*self.shape, groups, bins)
        detections = self.detections[..., : groups * bins].reshape(grouped)
        samples = self.samples[..., : groups * bins].reshape(grouped)
        if self.mode == "every":
            chance = detections / np.maximum(samples, 1)
            twice = (chance.sum(axis=3) ** 2 - (chance**2).sum(axis=3)) / 2 * samples[..., 0]
            if twice.max() > _MOST_DOUBLE:
                raise InvalidParameter(
                    f"{self.source}: {twice.max():.1f} cycles of a pixel may have fired twice within {bins} bins, "
                    f"which a histogram does not tell; read the time stamps with merge={bins} (--merge {bins}), or "
                    "merge fewer"
                )
        background = None if self.background is None else self.background * bins
        return replace(
            self,
            detections=detections.sum(axis=3),
            samples=samples[..., 0],
            bin_seconds=self.bin_seconds * bins,
            background=background,
        )

    def with_background(self, frame: Photons) -> Self:
        """The same with the background of a ``frame`` that was taken with the laser off, by the same sensor."""
        if frame.detections.shape != self.detections.shape:
            raise InvalidParameter(
                f"the background {frame.source} has shape {frame.detections.shape}, but {self.source} has "
                f"{self.detections.shape}; give one of the same pixels and bins"
            )
        if not np.isclose(frame.bin_seconds, self.bin_seconds, rtol=1e-6, atol=0):
            raise InvalidParameter(
                f"the background {frame.source} has bins of {1e12 * frame.bin_seconds:g} ps, but {self.source} of "
                f"{1e12 * self.bin_seconds:g} ps; give one of the same sensor setting"
            )
        looked = frame.samples.sum(axis=2)
        chance = frame.detections.sum(axis=2) / np.maximum(looked, 1)
        rate = -np.log1p(-np.minimum(chance, 1 - 1e-9))
        return replace(self, background=rate, background_cycles=frame.cycles)

    def noting(self, *notes: str) -> Self:
        """The same with more said about it."""
        return replace(self, notes=(*self.notes, *notes))


def cycles_of(cycles: npt.ArrayLike, shape: Sequence[int], source: str) -> IntArray:
    """Cycles for every pixel, from one number or an image of them."""
    array = np.asarray(cycles)
    remedy = "give a whole number of laser cycles, or one for each pixel: --cycles 1000"
    if array.dtype.kind not in "iuf" or not (np.isfinite(array) & (array == np.rint(array))).all():
        raise InvalidParameter(f"{source}: cycles={cycles!r} are no whole numbers; {remedy}")
    if array.ndim and array.shape != tuple(shape):
        if array.size != 1:
            raise InvalidParameter(
                f"{source}: cycles of shape {array.shape} do not fit {shape[0]} rows and {shape[1]} columns; {remedy}"
            )
        array = array.reshape(())
    if (array < 1).any() or (array > COUNT_LIMIT).any():
        raise InvalidParameter(f"{source}: cycles from {array.min():g} to {array.max():g} are no counts; {remedy}")
    return np.broadcast_to(array.astype(np.int64), tuple(shape)).copy()


def _check_room(kind: np.dtype[Any], counts: IntArray, cycles: IntArray, source: str) -> None:
    """Refuse counts at the largest number that their type holds, where more could have been."""
    if kind.kind not in "iu" or kind.itemsize > 2:
        return
    most = np.iinfo(kind).max
    full = (counts >= most) & (cycles[..., np.newaxis] > most)
    if full.any():
        raise InvalidParameter(
            f"{source}: {int(full.sum()):,} bins are at {most}, the largest number that {kind} holds, so they may have "
            "overflowed; export the histogram with 32 bits, or with fewer cycles"
        )


def _check_saturation(counts: IntArray, samples: IntArray, source: str) -> None:
    if (counts > samples).any():
        where = _first(counts > samples)
        raise InvalidParameter(
            f"{source}: {_bin(where)} has {counts[where]:,} photons in {samples[where]:,} cycles, and a bin fires "
            "once a cycle at most; give the cycles that the histogram holds: --cycles"
        )


def _reached(counts: IntArray, cycles: IntArray, source: str) -> IntArray:
    """The cycles in which no earlier bin had fired."""
    total = counts.sum(axis=2)
    if (total > cycles).any():
        row, column = _first(total > cycles)
        raise InvalidParameter(
            f"{source}: the pixel in row {row}, column {column} has {total[row, column]:,} photons in "
            f"{cycles[row, column]:,} cycles, and a synchronous sensor sees one a cycle at most; give the cycles "
            "that the histogram holds with --cycles, or say how the sensor works: --mode free-running or --mode every"
        )
    return np.asarray(cycles[..., np.newaxis] - counts.cumsum(axis=2) + counts)


def check_dead_time(dead_time: float | None, source: str) -> float:
    """The dead time in seconds, without which there is no free-running sensor."""
    if dead_time is None:
        raise InvalidParameter(
            f"{source}: a free-running sensor is blind after each photon; say how long: dead_time=50e-9 "
            "(--dead-time 50, in nanoseconds)"
        )
    check_not_negative("dead_time", dead_time)
    if dead_time > 1e-3:
        raise InvalidParameter(f"dead_time={dead_time!r} is more than a millisecond; give it in seconds, as 50e-9")
    return dead_time


def _not_blind(
    counts: IntArray, cycles: IntArray, bin_seconds: float, dead_time: float | None, period: float | None, source: str
) -> IntArray:
    """The cycles less those in which a photon of the dead time before, of this cycle or of the last, was seen."""
    blind = round(check_dead_time(dead_time, source) / bin_seconds)
    bins = counts.shape[2]
    places = bins if period is None else round(period / bin_seconds)
    if places < bins:
        raise InvalidParameter(
            f"{source}: a period of {places} bins is shorter than the {bins} bins of the histogram; give a longer one"
        )
    whole, rest = divmod(blind, places)
    padded = np.zeros((*counts.shape[:2], places), dtype=np.int64)
    padded[..., :bins] = counts
    upto = np.concatenate([np.zeros((*counts.shape[:2], 1), dtype=np.int64), padded.cumsum(axis=2)], axis=2)
    total = upto[..., -1:]
    place = np.arange(bins)
    begin = place - rest
    here = upto[..., place] - upto[..., np.maximum(begin, 0)]
    before = np.where(begin < 0, total - upto[..., places + np.minimum(begin, 0)], 0)
    samples = cycles[..., np.newaxis] - whole * total - here - before
    if (counts > samples).any():
        where = _first(counts > samples)
        raise InvalidParameter(
            f"{source}: {_bin(where)} has {counts[where]:,} photons but was not blind in {max(samples[where], 0):,} of "
            f"{cycles[where[:2]]:,} cycles; give the sensor's --dead-time, and the --cycles that the histogram holds"
        )
    return np.asarray(samples)


def _first(wrong: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(place) for place in np.unravel_index(int(wrong.argmax()), wrong.shape))


def _bin(where: tuple[int, ...]) -> str:
    row, column, number = where
    return f"bin {number} of the pixel in row {row}, column {column}"


def _slice(name: str, ends: tuple[int, int] | None, size: int) -> slice:
    if ends is None:
        return slice(None)
    first, last = ends
    if not 0 <= first <= last < size:
        raise InvalidParameter(f"{name} from {first} to {last} are not within 0 to {size - 1}; give numbers that are")
    return slice(first, last + 1)
