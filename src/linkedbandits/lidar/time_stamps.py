"""Time stamps of single photons, and the exact number of times that each bin could have fired.

A stamp is a laser cycle, counted from the beginning of a *stream*, and a time within it in whole *ticks*. A *schedule*
says which cycles of the stream belong to which pixel: a scanner stays with a pixel for some cycles, and may come back.

Free running: after a photon at time t the detector is blind until t plus the dead time. A stamp says t to a tick, so
the detector surely sees again at the end of that tick plus the dead time. A bin counts as looked at if the detector
surely saw at its beginning. Photons in other bins are not counted, and still make it blind. Whether a bin counts
depends on what happened before it alone, so given the past it fires with the probability that the model says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar.photons import PhotonMode, Photons, check_bin_seconds, check_dead_time, check_mode
from linkedbandits.model import IntArray

_CLOSE = 1e-9
"""Where a time is said to be at the beginning of a bin, in bins: rounding must not make the detector see later."""
NOT_SYNCHRONOUS = "A synchronous sensor has none, so no depth is called sure: give another --mode."
_PAUSE = 2**20
"""Cycles between two pixels that were measured apart from each other: no dead time is that long."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """From cycle ``start`` on, ``length`` cycles are of ``pixel``: arrays, in the order of the cycles."""

    start: IntArray
    length: IntArray
    pixel: IntArray

    @classmethod
    def one_after_another(cls, cycles: IntArray) -> Schedule:
        """A stay at each pixel in turn, of its number of cycles, with a pause before the next."""
        length = cycles.reshape(-1)
        stride = int(length.max()) + _PAUSE
        pixel = np.arange(length.size)
        return cls(pixel * stride, length, pixel)

    def pixel_of(self, cycle: IntArray) -> IntArray:
        """The pixel of each cycle; -1 where there is none."""
        place = np.searchsorted(self.start, cycle, side="right") - 1
        inside = (place >= 0) & (cycle < self.start[place] + self.length[place])
        return np.where(inside, self.pixel[place], -1)

    def cycles(self, pixels: int) -> IntArray:
        """How many cycles each pixel has."""
        total = np.zeros(pixels, dtype=np.int64)
        np.add.at(total, self.pixel, self.length)
        return total


@dataclass(frozen=True, eq=False)
class TimeStamps:
    """Photons of one stream: the cycle and the tick of each, and whose cycles they are.

    ``ticks`` is how many of them a cycle has stamps for, ``period`` the seconds from a pulse to the next.
    """

    cycle: IntArray
    tick: IntArray
    schedule: Schedule
    shape: tuple[int, int]
    tick_seconds: float
    ticks: int
    period: float
    source: str

    def opened(self, opens: int) -> TimeStamps:
        """Counted from where the detector's window opens: what is before that is of the window before."""
        if isinstance(opens, bool) or not isinstance(opens, int) or not 0 <= opens < self.ticks:
            raise InvalidParameter(f"{self.source}: opens={opens!r} is no bin from 0 to {self.ticks - 1}; give one")
        before = self.tick < opens
        return replace(self, cycle=self.cycle - before, tick=self.tick - opens + before * self.ticks)

    def count(
        self, *, mode: PhotonMode, dead_time: float | None = None, merge: int = 1, zero_seconds: float = 0.0
    ) -> Photons:
        """Detections and samples of bins of ``merge`` ticks."""
        check_mode(mode)
        check_bin_seconds(self.tick_seconds * merge, self.source)
        bins = self.ticks // merge
        if bins < 2:
            raise InvalidParameter(f"{self.source}: {self.ticks} ticks, {merge} to a bin, are no two bins; merge fewer")
        pixels = self.shape[0] * self.shape[1]
        cycles = self.schedule.cycles(pixels)
        if (cycles < 1).any():
            empty = int((cycles < 1).sum())
            raise InvalidParameter(f"{self.source}: {empty:,} of {pixels:,} pixels have no laser cycle; crop them away")
        order = np.lexsort((self.tick, self.cycle))
        cycle, tick = self.cycle[order], self.tick[order]
        pixel = self.schedule.pixel_of(cycle)
        place = tick // merge
        notes: tuple[str, ...] = ()
        exact = True
        if mode == "free-running":
            dead = check_dead_time(dead_time, self.source)
            counted, blind = self._free_running(cycle, tick, place, dead, merge, bins)
            samples = cycles[:, np.newaxis] - blind
        else:
            kept = cycle * bins + np.minimum(place, bins) if mode == "every" else cycle
            counted = np.ones(cycle.size, dtype=np.bool_)
            counted[1:] = kept[1:] != kept[:-1]
            left_out = int((~counted & (pixel >= 0)).sum())
            exact = mode == "every" or not left_out
            if left_out:
                which, so = ("bin", "") if mode == "every" else ("cycle", f" {NOT_SYNCHRONOUS}")
                notes = (f"{left_out:,} photons behind the first of their {which} were left out.{so}",)
            samples = np.broadcast_to(cycles[:, np.newaxis], (pixels, bins)).copy()
        counted = counted & (pixel >= 0) & (place < bins)
        detections = np.bincount(pixel[counted] * bins + place[counted], minlength=pixels * bins).reshape(pixels, bins)
        if mode == "synchronous":
            samples -= detections.cumsum(axis=1) - detections
        return Photons(
            detections=detections.reshape(*self.shape, bins),
            samples=samples.reshape(*self.shape, bins),
            bin_seconds=self.tick_seconds * merge,
            cycles=cycles.reshape(self.shape),
            source=self.source,
            mode=mode,
            zero_seconds=zero_seconds,
            exact=exact,
            notes=notes,
        )

    def _free_running(
        self, cycle: IntArray, tick: IntArray, place: IntArray, dead: float, merge: int, bins: int
    ) -> tuple[np.ndarray[tuple[int], np.dtype[np.bool_]], IntArray]:
        """Which photons count, and for how many cycles each bin of each pixel was blind."""
        self._check_gaps(cycle, tick, dead)
        width = merge * self.tick_seconds
        ready = (tick + 1) * self.tick_seconds + dead  # from the beginning of the photon's cycle
        later = np.floor(ready / self.period)
        first = np.ceil((ready - later * self.period) / width - _CLOSE).astype(np.int64)
        sees = (cycle + later.astype(np.int64)) * bins + np.minimum(first, bins)  # the first bin that it sees again
        own = cycle * bins + np.minimum(place, bins)
        sees = np.maximum.accumulate(np.maximum(sees, np.minimum(own + 1, (cycle + 1) * bins)))
        before = np.concatenate([[np.iinfo(np.int64).min], sees[:-1]])
        counted = own >= before
        begin = np.maximum(np.minimum(own + 1, (cycle + 1) * bins), before)
        pixels = self.shape[0] * self.shape[1]
        edges = np.zeros((pixels, bins + 1), dtype=np.int64)
        # A photon makes blind the end of one cycle and the beginning of another, and all that are between them.
        stretches = begin < sees
        begin, end = begin[stretches], sees[stretches]
        while begin.size:
            number = begin // bins
            stop = np.minimum(end, (number + 1) * bins)
            pixel = self.schedule.pixel_of(number)
            inside = pixel >= 0
            np.add.at(edges, (pixel[inside], (begin - number * bins)[inside]), 1)
            np.subtract.at(edges, (pixel[inside], (stop - number * bins)[inside]), 1)
            going_on = stop < end
            begin, end = stop[going_on], end[going_on]
        return counted, edges.cumsum(axis=1)[:, :bins]

    def _check_gaps(self, cycle: IntArray, tick: IntArray, dead: float) -> None:
        """Refuse photons that come while the detector would be blind: then the dead time is another."""
        gap = np.diff(cycle) * self.period + np.diff(tick) * self.tick_seconds
        if gap.size and gap.min() + self.tick_seconds < dead * (1 - _CLOSE):
            raise InvalidParameter(
                f"{self.source}: two photons are {1e9 * gap.min():.4g} ns apart, within the dead time of "
                f"{1e9 * dead:g} ns; give the one that the sensor has: --dead-time {1e9 * gap.min():.4g} or less"
            )


def check_stamps(cycle: IntArray, tick: IntArray, ticks: int, cycles: int | IntArray, source: str) -> None:
    """Refuse stamps outside of their cycles; ``cycles`` is how many there are, for each stamp if pixels differ."""
    if not cycle.size:
        raise InvalidParameter(f"{source}: there is not one photon in it; look whether the laser was on")
    if (tick < 0).any() or (cycle < 0).any():
        raise InvalidParameter(f"{source}: it has negative times or cycles; count both from 0")
    if (tick >= ticks).any():
        raise InvalidParameter(
            f"{source}: a time stamp of {int(tick.max()):,} is beyond the {ticks:,} bins of a cycle; give the right "
            "--bins, or the --bin-width that stamps are counted in"
        )
    if (cycle >= cycles).any():
        raise InvalidParameter(
            f"{source}: cycle {int(cycle.max()):,} is beyond the {int(np.max(cycles)):,} cycles given, counted from "
            "0; give the right --cycles"
        )
