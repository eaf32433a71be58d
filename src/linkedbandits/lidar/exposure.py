"""Who answers, in time: what a detector counts of the light before it, with a clock that runs.

Light is Poisson, so the first photon of a cycle comes where the light that the detector can see has added up to a
number drawn from the exponential distribution: one draw and one search in a table for a cycle, however many bins it
has. A cycle that ends in bin i has sampled all open bins up to i.

A detection makes the detector blind for a dead time (:meth:`Sensor.lost_periods`), and the laser does not wait. As long
as what happens depends on the past only through the gate, the counts say all: of each bin how often it was sampled, and
how often it fired then. Bins in which the detector is not fully on are not counted, but a photon there is a photon.
Afterpulses that outlast the dead time are simulated one cycle after the other, and are counted like any detection;
then the past matters, and ``sensor.certifiable`` is False.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from linkedbandits.checks import check_whole
from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar.gates import counted, sensitivity
from linkedbandits.lidar.sensor import AFTERPULSES_END, Mode, Sensor
from linkedbandits.model import BoolArray, Counts, FloatArray, IntArray

_Sensitivity = FloatArray | BoolArray

_ALWAYS = 40.0
"""Photons: where so many come on average, one always comes. More would only cost digits."""


class Exposure:
    """Pixels before a sensor, one a lane, that see ``rates``: photons of every bin and period, (lanes, bins).

    ``plays`` are the cycles (or windows) that the detector was armed in, ``periods`` the laser cycles gone by, blind
    ones included, and ``seconds`` is the time that these took. Blind time is charged when the detector is used again.

    >>> sensor = Sensor(bins=100, ambient=10.0, dead_time=100e-9)
    >>> exposure = Exposure(sensor, sensor.rates([60.3], [0.5]), np.random.default_rng(1))
    >>> late = np.arange(100)[np.newaxis] >= 50
    >>> counts = exposure.expose(late, 1000)
    >>> int(counts.samples[0, 50]), int(counts.samples[0, 49]), int(counts.successes.sum())
    (1000, 0, 994)
    >>> float(exposure.periods[0])
    2986.0
    """

    def __init__(self, sensor: Sensor, rates: npt.ArrayLike, generator: np.random.Generator) -> None:
        self.sensor = sensor
        self.rates = _checked(rates, sensor)
        self._light = _Light(self.rates)
        lanes = self.rates.shape[0]
        self._generator = generator
        self._clock = np.zeros(lanes, dtype=np.int64)
        """Bins gone by;"""
        self._fired = np.full(lanes, -np.inf)
        """the bin of the last detection, counted from a period before that;"""
        self._afterpulses = np.full((lanes, 1), np.inf)
        """when they come, in bins from now;"""
        self._windows = np.zeros(lanes, dtype=np.int64)
        """and how many shifted windows there were."""
        self.plays = np.zeros(lanes, dtype=np.int64)

    @property
    def periods(self) -> FloatArray:
        """Laser cycles gone by, of each lane."""
        return np.asarray(self._clock / self.sensor.bins)

    @property
    def seconds(self) -> FloatArray:
        """The time that they took."""
        return np.asarray(self.periods * self.sensor.period)

    def keep(self, lanes: npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> None:
        """Go on with these lanes only (a mask, or their numbers)."""
        self.rates, self.plays = self.rates[lanes], self.plays[lanes]
        self._light = _Light(self.rates)
        self._clock, self._fired, self._windows = self._clock[lanes], self._fired[lanes], self._windows[lanes]
        self._afterpulses = self._afterpulses[lanes]

    def expose(self, gate: BoolArray, cycles: npt.ArrayLike) -> Counts:
        """Arm the detector with its ``gate``, (lanes, bins), in so many cycles of each lane, and count.

        It is armed in the first cycle that opens when it sees again. A gate that the sensor cannot do is refused.
        """
        sensor, lanes = self.sensor, len(self.rates)
        sensor.gates.check(gate, sensor)
        if gate.shape[0] != lanes:
            raise InvalidParameter(f"gates of {gate.shape[0]} lanes for {lanes}; give a row for each lane")
        if not gate.all():
            self._need("gated")
        elif "gated" not in sensor.modes:
            self._need("synchronous")
        times = _cycles(cycles, lanes)
        opens = gate.argmax(axis=1)
        self._wait_for(np.zeros(lanes, dtype=np.int64))
        sensitive: _Sensitivity = gate
        counts = gate
        if sensor.gates.rises and sensor.rise_bins:
            sensitive, counts = sensitivity(gate, sensor), counted(gate, sensor)
        stays_open = counts is gate and not (gate[:, :-1] > gate[:, 1:]).any()
        light = self._light if stays_open else _Light(self.rates * sensitive)
        run = self._one_by_one if self._has_afterpulses else self._all_at_once
        hits = run(light, sensitive, opens, times)
        self.plays = self.plays + times
        samples = hits.cumsum(axis=1)
        np.subtract(times[:, np.newaxis], samples, out=samples)
        samples += hits
        samples *= counts
        return Counts(samples, hits if counts is gate else hits * counts, times)

    def _all_at_once(self, light: _Light, sensitive: _Sensitivity, opens: IntArray, times: IntArray) -> IntArray:
        """The detections of every bin; the clock runs on."""
        bins, lanes = self.sensor.bins, times.size
        lane = np.arange(lanes).repeat(times)
        fired, cell = light.first(lane, opens[lane], self._generator)
        lane, place = np.divmod(cell, bins)
        loses = self.sensor.lost_periods(place, opens[lane])
        lost = np.bincount(lane, loses, lanes) + self._lost_before(opens) * (times > 0)
        # What a detection in the last cycle loses is charged to the next time, whose gate may open elsewhere.
        ends = times.cumsum() - 1
        last = times > 0
        last[last] = fired[ends[last]]
        of_last = np.searchsorted(np.flatnonzero(fired), ends[last])
        lost[last] -= loses[of_last]
        self._fired = np.where(times > 0, -np.inf, self._fired)
        self._fired[last] = place[of_last]
        self._clock = self._clock + (times + lost.astype(np.int64)) * bins
        return np.bincount(cell, minlength=lanes * bins).reshape(lanes, bins)

    def _one_by_one(self, light: _Light, sensitive: _Sensitivity, opens: IntArray, times: IntArray) -> IntArray:
        """The same, cycle by cycle, with afterpulses."""
        bins, lanes = self.sensor.bins, times.size
        hits = np.zeros((lanes, bins), dtype=np.int64)
        for cycle in range(int(times.max(initial=0))):
            lane = np.flatnonzero(times > cycle)
            lost = self._lost_before(opens)[lane].astype(np.int64) * bins
            afterpulses = np.asarray(self._afterpulses[lane] - lost[:, np.newaxis], dtype=np.float64)
            fired, cell = light.first(lane, opens[lane], self._generator)
            place = np.full(lane.size, bins)
            place[fired] = cell % bins
            now = (afterpulses >= 0) & (afterpulses < bins)
            within = np.where(now, afterpulses, 0.0).astype(np.int64)
            now &= self._generator.random(now.shape) < sensitive[lane[:, np.newaxis], within]
            place = np.minimum(place, np.where(now, within, bins).min(axis=1))
            hit = place < bins
            hits[lane[hit], place[hit]] += 1
            self._clock[lane] += lost + bins
            self._fired[lane] = np.where(hit, place, -np.inf)
            self._afterpulses[lane] = _still_to_come(afterpulses - bins)
            self._leave_afterpulses(lane[hit], place[hit] + 0.5 - bins)
        return hits

    def free_running(self, periods: int) -> Counts:
        """See again a dead time after each photon, wherever that is, for so many periods.

        The bin in which it sees again is seen in part, and not counted; a photon there is one all the same.
        """
        check_whole("periods", periods)
        self._need("free-running")
        sensor, (lanes, bins) = self.sensor, self.rates.shape
        self._wait_for(np.zeros(lanes, dtype=np.int64))
        length, tally = periods * bins, _Tally(lanes, bins)
        fired = self._fired + 0.5 - bins  # the moment of the last detection, in bins from now
        armed = np.maximum(fired + sensor.dead_bins, 0.0)
        lane = np.flatnonzero(armed < length)
        while lane.size:
            since = armed[lane]
            came = self._light.next_after(lane, since, self._generator)
            if self._has_afterpulses:
                waiting = self._afterpulses[lane]
                waiting[waiting < since[:, np.newaxis]] = np.inf
                came = np.minimum(came, waiting.min(axis=1))
                self._afterpulses[lane] = np.where(waiting > came[:, np.newaxis], waiting, np.inf)
            hit = came < length
            tally.add(lane, np.ceil(since), np.where(hit, np.floor(came) + 1, length), hit)
            fired[lane[hit]] = came[hit]
            if self._has_afterpulses:
                self._leave_afterpulses(lane[hit], came[hit])
            armed[lane] = np.where(hit, came + sensor.dead_bins, np.inf)
            lane = lane[armed[lane] < length]
        self._clock = self._clock + length
        self._fired = fired - 0.5 + bins - length
        self._afterpulses = _still_to_come(self._afterpulses - length)
        plays = np.full(lanes, periods, dtype=np.int64)
        self.plays = self.plays + plays
        return tally.counts(plays)

    def wrapped(self, opens: IntArray, cycles: npt.ArrayLike) -> Counts:
        """Open windows as long as a period that begin at this bin of each lane and wrap around into the next period.

        A photon ends a window, and the next one begins the first time that its bin comes when the detector sees again.
        So a window may begin in the period in which the last one ended.
        """
        sensor, (lanes, bins) = self.sensor, self.rates.shape
        self._need("gated")
        self._refuse_afterpulses("windows that wrap")
        opens = np.asarray(opens)
        if opens.shape != (lanes,) or opens.dtype.kind not in "iu" or (opens < 0).any() or (opens >= bins).any():
            raise InvalidParameter(f"opens={opens!r} are no bins from 0 to {bins - 1}; give one for each lane")
        times = _cycles(cycles, lanes)
        started = times > 0
        before = self._clock, self._fired
        self._wait_for(opens.astype(np.int64))
        order = (opens[:, np.newaxis] + np.arange(bins)) % bins  # from here on, bins are those of the window
        whole = np.ones((1, bins), dtype=np.bool_)
        seen = np.take_along_axis(self.rates, order, axis=1)
        light = _Light(seen * sensitivity(whole, sensor) if sensor.gates.rises else seen)
        hits = self._all_at_once(light, whole, np.zeros(lanes, dtype=np.int64), times)
        ended = np.where(started & np.isfinite(self._fired), bins - 1 - self._fired, 0.0)  # bins before its end
        self._clock = np.where(started, self._clock - ended.astype(np.int64), before[0])
        self._fired = np.where(started, self._fired + ended, before[1])
        self.plays = self.plays + times
        samples = times[:, np.newaxis] - hits.cumsum(axis=1) + hits
        if sensor.gates.rises:
            samples[:, : sensor.rise_bins] = hits[:, : sensor.rise_bins] = 0
        back = (np.arange(bins) - opens[:, np.newaxis]) % bins
        return Counts(np.take_along_axis(samples, back, axis=1), np.take_along_axis(hits, back, axis=1), times)

    def shifted(self, windows: npt.ArrayLike, shifts: int = 100) -> Counts:
        """Open windows as long as a period, each a step later in its own than the one before: ``shifts`` to a round.

        They wrap around into the next period. A window that the detector would still be blind for begins as many
        whole periods later as it takes. The next call goes on where this one ends. ``windows`` is their number, or one
        for each lane.
        """
        check_whole("shifts", shifts)
        self._need("shifted")
        sensor, (lanes, bins) = self.sensor, self.rates.shape
        self._refuse_afterpulses("shifted windows")
        plays = _cycles(windows, lanes)
        if (plays < 1).any():
            raise InvalidParameter(f"windows={windows!r}; give a whole number of at least 1, or one for each lane")
        number = np.arange(plays.max())
        begins = (self._windows[:, np.newaxis] + np.arange(number.size + 1)) % shifts * bins // shifts
        self._wait_for(begins[:, 0])
        lost = self._lost_before(np.zeros(lanes, dtype=np.int64))
        steps = np.diff(begins, axis=1) % bins  # from each window to the next
        used = number < plays[:, np.newaxis]
        lane, first = np.nonzero(used)[0], begins[:, :-1][used]
        came = self._light.next_after(lane, first.astype(np.float64), self._generator)
        hit = came < first + bins
        end = np.where(hit, np.floor(came) + 1, first + bins)
        tally = _Tally(lanes, bins)
        tally.add(lane, first, end, hit)
        place = np.full(used.shape, -np.inf)
        place[used] = np.where(hit, end - 1 - first, -np.inf)
        followed = used[:, 1:]
        lost += (sensor.lost_periods(place[:, :-1], steps[:, :-1]) * followed).sum(axis=1)
        self._fired = place[np.arange(lanes), plays - 1]
        self._clock = self._clock + (plays + lost.astype(np.int64)) * bins + (steps[:, :-1] * followed).sum(axis=1)
        self._windows, self.plays = self._windows + plays, self.plays + plays
        return tally.counts(plays)

    def cycles_until(self, seconds: float, opens: IntArray) -> IntArray:
        """How many cycles of gates that open there have ended by then on the clock, whatever they see."""
        return self._fit(seconds, np.zeros_like(opens), opens)

    def wrapped_until(self, seconds: float, opens: IntArray) -> IntArray:
        """The same of windows that wrap."""
        return self._fit(seconds, opens, np.zeros_like(opens))

    def shifted_until(self, seconds: float, shifts: int = 100) -> IntArray:
        """The same of shifted windows."""
        bins = self.sensor.bins
        begins = self._windows % shifts * bins // shifts
        return self._fit(seconds, begins, np.zeros_like(begins), (bins // shifts, -(-bins // shifts)))

    def _fit(self, seconds: float, phase: IntArray, opens: IntArray, step: tuple[int, int] = (0, 0)) -> IntArray:
        """Cycles that begin at this bin of the period, and each so many bins later in its own, from to, than the last.

        All but the last are taken to lose the most that they can, as a detection in the last bin does.
        """
        sensor = self.sensor
        idle = (phase - self._clock) % sensor.bins
        left = np.floor(seconds / sensor.bin_seconds * (1 + 1e-12)) - self._clock - idle
        left = left / sensor.bins - sensor.lost_periods(self._fired - idle, opens)
        each = 1 + sensor.lost_periods(sensor.bins - 1, opens + step[0]) + step[1] / sensor.bins
        return np.asarray(np.where(left >= 1, np.floor((left - 1) / each) + 1, 0).astype(np.int64))

    def _refuse_afterpulses(self, what: str) -> None:
        if self._has_afterpulses:
            raise InvalidParameter(
                f"{what} are not simulated with afterpulses that outlast the dead time; "
                "give a dead_time of five times the afterpulse_time, or another mode"
            )

    @property
    def _has_afterpulses(self) -> bool:
        """Where the dead time covers them, no afterpulse is ever seen."""
        return not self.sensor.certifiable

    def _need(self, mode: Mode) -> None:
        if mode not in self.sensor.modes:
            raise InvalidParameter(
                f"this sensor's modes are {', '.join(self.sensor.modes)}, not {mode}; give Sensor(modes=...) with it"
            )

    def _wait_for(self, phase: IntArray) -> None:
        """Let the clock run on to this bin of a period."""
        idle = (phase - self._clock) % self.sensor.bins
        if idle.any():
            self._clock = self._clock + idle
            self._fired = self._fired - idle
            self._afterpulses = _still_to_come(self._afterpulses - idle[:, np.newaxis])

    def _lost_before(self, opens: IntArray) -> FloatArray:
        """Periods until the detector sees again when a gate opens there."""
        return self.sensor.lost_periods(self._fired, opens)

    def _leave_afterpulses(self, lane: IntArray, moment: FloatArray) -> None:
        """Detections at these moments may leave an afterpulse each."""
        sensor = self.sensor
        share, chance = self._generator.random((2, lane.size))
        delay = -np.log1p(share * np.expm1(-AFTERPULSES_END)) * (sensor.afterpulse_time / sensor.bin_seconds)
        comes = (chance < sensor.afterpulsing) & (moment + delay >= 0)
        lane, moment = lane[comes], (moment + delay)[comes]
        free = np.isinf(self._afterpulses[lane])
        if not free.any(axis=1).all():
            self._afterpulses = np.append(self._afterpulses, np.full((len(self._afterpulses), 1), np.inf), axis=1)
            free = np.isinf(self._afterpulses[lane])
        self._afterpulses[lane, free.argmax(axis=1)] = moment


def _still_to_come(moments: FloatArray) -> FloatArray:
    return np.asarray(np.where(moments >= 0, moments, np.inf))


class _Light:
    """The light that comes from cell to cell, all lanes in a row, added up."""

    def __init__(self, visible: FloatArray) -> None:
        lanes, self.bins = visible.shape
        self.sums = np.zeros(lanes * self.bins + 1)
        np.cumsum(np.minimum(visible, _ALWAYS), out=self.sums[1:])
        self.edges = self.sums[:: self.bins]

    def first(self, lane: IntArray, opens: IntArray, generator: np.random.Generator) -> tuple[BoolArray, IntArray]:
        """Which cycles of these lanes, from this bin on, end with a photon; and the cell of each that does."""
        until = self.sums[lane * self.bins + opens] + generator.standard_exponential(lane.size)
        fired = until < self.edges[lane + 1]
        return fired, np.searchsorted(self.sums, until[fired], side="right") - 1

    def next_after(self, lane: IntArray, since: FloatArray, generator: np.random.Generator) -> FloatArray:
        """When the next photon comes, in bins, to who sees from a moment on, period after period."""
        begins, total = self.edges[lane], self.edges[lane + 1] - self.edges[lane]
        whole, within = np.divmod(since, self.bins)
        cell = lane * self.bins + within.astype(np.int64)
        seen = self.sums[cell] - begins + (within % 1.0) * (self.sums[cell + 1] - self.sums[cell])
        dark = total == 0
        more, rest = np.divmod(seen + generator.standard_exponential(lane.size), np.where(dark, 1.0, total))
        until = np.minimum(begins + rest, np.nextafter(self.edges[lane + 1], -np.inf))
        cell = np.clip(np.searchsorted(self.sums, until, side="right") - 1, 0, self.sums.size - 2)
        light = self.sums[cell + 1] - self.sums[cell]
        part = (until - self.sums[cell]) / np.where(dark, 1.0, light)
        came = (whole + more) * self.bins + (cell - lane * self.bins) + part
        return np.asarray(np.where(dark, np.inf, np.maximum(came, since)))


class _Tally:
    """How often each bin was seen, and fired, from runs of bins that may go over many periods."""

    def __init__(self, lanes: int, bins: int) -> None:
        self.bins = bins
        self.rounds = np.zeros(lanes, dtype=np.int64)
        self.marks, self.successes = np.zeros((2, lanes, bins), dtype=np.int64)

    def add(self, lane: IntArray, first: npt.NDArray[Any], end: npt.NDArray[Any], hit: BoolArray) -> None:
        """Runs from a bin up to ``end``, which is not part of it; some of them end with a photon in their last bin."""
        first, end = first.astype(np.int64), end.astype(np.int64)
        real = end > first
        lane, first, end, hit = lane[real], first[real], end[real], hit[real]
        # A bin comes (end // bins - first // bins) times, and once more before end's place, once less before first's.
        np.add.at(self.rounds, lane, end // self.bins - first // self.bins)
        np.add.at(self.marks, (lane, end % self.bins), 1)
        np.subtract.at(self.marks, (lane, first % self.bins), 1)
        np.add.at(self.successes, (lane[hit], (end[hit] - 1) % self.bins), 1)

    def counts(self, plays: IntArray) -> Counts:
        """All of them."""
        later = self.marks[:, ::-1].cumsum(axis=1)[:, ::-1] - self.marks
        return Counts(self.rounds[:, np.newaxis] + later, self.successes, plays)


def _checked(rates: npt.ArrayLike, sensor: Sensor) -> FloatArray:
    array = np.asarray(rates, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != sensor.bins:
        raise InvalidParameter(f"rates of shape {array.shape}; give a row of {sensor.bins} bins for each lane")
    if not (np.isfinite(array) & (array >= 0)).all():
        raise InvalidParameter("rates have to be finite and at least 0; give photons a bin and period")
    return array


def _cycles(cycles: npt.ArrayLike, lanes: int) -> IntArray:
    times = np.asarray(cycles)
    if times.dtype.kind not in "iu" or times.ndim > 1 or (times.ndim == 1 and times.size != lanes) or (times < 0).any():
        raise InvalidParameter(
            f"cycles={cycles!r} are no counts; give a whole number, or one for each of {lanes} lanes"
        )
    return np.broadcast_to(times.astype(np.int64), lanes).copy()
