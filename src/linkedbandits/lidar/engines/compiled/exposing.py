"""Who answers, in time, for one pixel: :mod:`linkedbandits.lidar.exposure`, with randomness by counter.

The clock of a pixel is an array of a few numbers (``CLOCK``...), so that it can be passed on and changed.
"""

from __future__ import annotations

from math import ceil, floor, inf
from typing import Any

import numpy as np

from linkedbandits.lidar.engines.compiled.compiling import in_place, machine_code
from linkedbandits.lidar.engines.compiled.counting import exponential
from linkedbandits.lidar.engines.counter import DETECTIONS, PHOTONS

ALWAYS = 40.0
"""Photons: where so many come on average, one always comes."""

CLOCK, FIRED, ARMED, WINDOWS, COMES, SEEN = 0, 1, 2, 3, 4, 5
"""Bins gone by; the bin of the last detection, counted from a period before that; cycles that the detector was armed
in; shifted windows so far; when the photon comes that was drawn already, in bins from now; and detections so far."""
CLOCKS = 6
GUIDES = 512
"""Parts of the light that a guide has."""


@machine_code
def start_clock(clock: Any) -> None:
    """Nothing has happened."""
    clock[:] = 0.0
    clock[FIRED] = -inf
    clock[COMES] = -1.0


@in_place
def lost_periods(timing: Any, fired: float, opens: int) -> float:
    """Periods that pass unseen after a detection in the bin ``fired`` if the next gate opens at ``opens``."""
    if fired == -inf:
        return 0.0
    return max(ceil((fired + 0.5 - opens) / timing.bins + timing.periods_dead) - 1.0, 0.0)


@machine_code
def put_rates(rates: Any, first: int, shares: Any, signal: float, background: float) -> None:
    """Photons of every bin: the background, and a return whose shares begin at the bin ``first``."""
    rates[:] = background
    for k in range(shares.size):
        place = first + k
        if 0 <= place < rates.size:
            rates[place] = signal * shares[k] + background


@machine_code
def add_up(sums: Any, rates: Any) -> None:
    """The light from bin to bin, added up."""
    total = 0.0
    sums[0] = 0.0
    for i in range(rates.size):
        total += min(rates[i], ALWAYS)
        sums[i + 1] = total


@machine_code
def see_through(timing: Any, gate: Any, rates: Any, seen: Any, counted: Any, sums: Any) -> None:
    """The light that a gate lets through, added up; and which bins are counted. ``seen`` is working memory."""
    rise = timing.rising.size
    since = rise
    for i in range(gate.size):
        opens = gate[i] and (i == 0 or not gate[i - 1])
        since = 0 if opens else since + 1
        rises = gate[i] and since < rise
        counted[i] = gate[i] and not rises
        seen[i] = rates[i] * timing.rising[since] if rises else (rates[i] if gate[i] else 0.0)
    add_up(sums, seen)


@machine_code
def _cell(sums: Any, until: float, low: int, high: int) -> int:
    """The cell in which the light has added up to ``until``."""
    while high - low > 1:
        middle = (low + high) >> 1
        if sums[middle] <= until:
            low = middle
        else:
            high = middle
    return low


@machine_code
def put_guide(guide: Any, sums: Any) -> None:
    """Where to begin to look for a cell: the first one of each of so many equal parts of all the light."""
    cell, step = 0, sums[sums.size - 1] / guide.size
    for part in range(guide.size):
        while cell < sums.size - 2 and sums[cell + 1] <= part * step:
            cell += 1
        guide[part] = cell


@machine_code
def guided_cell(sums: Any, guide: Any, until: float, parts: float) -> int:
    """The same cell, from a place near it."""
    cell = guide[min(np.int64(until * parts), guide.size - 1)]
    while sums[cell] > until:  # rounding
        cell -= 1
    while sums[cell + 1] <= until:
        cell += 1
    return cell


@in_place
def expose(
    timing: Any, key: Any, pixel: Any, four: Any, sums: Any, guide: Any, opens: int, times: int, clock: Any, hits: Any
) -> None:
    """Arm the detector with a gate that opens first at this bin, in so many cycles; ``hits`` gets the detections."""
    bins = timing.bins
    hits[:] = 0
    if times <= 0:
        return
    lost = lost_periods(timing, clock[FIRED], opens)
    armed = np.int64(clock[ARMED])
    before, total = sums[opens], sums[bins]
    parts = guide.size / total
    last, last_lost = -inf, 0.0
    for cycle in range(times):
        until = before + exponential(four, key, pixel, PHOTONS, armed + cycle, cycle == 0)
        last, last_lost = -inf, 0.0
        if until < total:
            place = guided_cell(sums, guide, until, parts)
            hits[place] += 1
            last = np.float64(place)
            last_lost = timing.base + 1.0 if place - opens >= timing.late else timing.base
            lost += last_lost
    # What a detection in the last cycle loses is charged to the next time, whose gate may open elsewhere.
    clock[CLOCK] += (times + lost - last_lost) * bins
    clock[FIRED] = last
    clock[ARMED] += times


@in_place
def count(hits: Any, times: int, counted: Any, samples: Any, successes: Any) -> None:
    """Add what cycles with this many detections in each bin have sampled and seen, of the bins that are counted.

    Of the others nothing is left in ``hits``.
    """
    left = times
    for i in range(hits.size):
        fired = hits[i]
        if counted[i]:
            samples[i] += left
            successes[i] += fired
        else:
            hits[i] = 0
        left -= fired


@machine_code
def cycles_until(timing: Any, seconds: float, clock: Any, opens: int) -> int:
    """How many cycles of gates that open there have ended by then on the clock, whatever they see."""
    return _fit(timing, seconds, clock, 0, opens, 0, 0)


@machine_code
def shifted_until(timing: Any, seconds: float, clock: Any, shifts: int) -> int:
    """The same of shifted windows."""
    bins = timing.bins
    begins = np.int64(clock[WINDOWS]) % shifts * bins // shifts
    return _fit(timing, seconds, clock, begins, 0, bins // shifts, -(-bins // shifts))


@machine_code
def _fit(timing: Any, seconds: float, clock: Any, phase: int, opens: int, least: int, most: int) -> int:
    bins = timing.bins
    idle = (phase - np.int64(clock[CLOCK])) % bins
    left = floor(seconds / timing.bin_seconds * (1 + 1e-12)) - clock[CLOCK] - idle
    left = left / bins - lost_periods(timing, clock[FIRED] - idle, opens)
    each = 1 + lost_periods(timing, bins - 1.0, opens + least) + most / bins
    return np.int64(floor((left - 1) / each)) + 1 if left >= 1 else 0


@machine_code
def _wait_for(timing: Any, clock: Any, phase: int) -> None:
    idle = (phase - np.int64(clock[CLOCK])) % timing.bins
    clock[CLOCK] += idle
    clock[FIRED] -= idle


@machine_code
def _next_after(sums: Any, bins: int, since: float, draw: float) -> float:
    """When the next photon comes, in bins, to who sees from a moment on, period after period."""
    total = sums[bins]
    if total == 0.0:
        return inf
    whole = floor(since / bins)
    within = since - whole * bins
    cell = min(np.int64(within), bins - 1)
    light = sums[cell] + (within - cell) * (sums[cell + 1] - sums[cell]) + draw
    more = floor(light / total)
    until = min(max(light - more * total, 0.0), np.nextafter(total, 0.0))
    cell = _cell(sums, until, 0, bins)
    part = (until - sums[cell]) / (sums[cell + 1] - sums[cell])
    return max((whole + more) * bins + cell + part, since)


@machine_code
def _tally(bins: int, marks: Any, first: int, end: int) -> int:
    """Mark a run of bins from ``first`` to before ``end``; how many whole rounds it goes over."""
    marks[end % bins] += 1
    marks[first % bins] -= 1
    return end // bins - first // bins


@machine_code
def _count_runs(bins: int, marks: Any, rounds: int, samples: Any) -> None:
    """Add the samples of all runs that were marked: a bin is in those that begin at it or before, and end behind."""
    later = 0
    for i in range(bins - 1, -1, -1):
        samples[i] += rounds + later
        later += marks[i]


@machine_code
def run_freely(
    timing: Any, key: Any, pixel: Any, four: Any, sums: Any, periods: int, clock: Any, marks: Any, samples: Any,
    successes: Any,
) -> None:  # fmt: skip
    """See again a dead time after each photon, wherever that is, for so many periods.

    The next photon is drawn when the one before has come. Where that is later than these periods, it is kept.
    """
    bins = timing.bins
    _wait_for(timing, clock, 0)
    length, rounds = periods * bins, 0
    marks[:] = 0
    fired = clock[FIRED] + 0.5 - bins
    armed = max(fired + timing.bins_dead, 0.0)
    while armed < length:
        if clock[COMES] < 0.0:
            draw = exponential(four, key, pixel, DETECTIONS, np.int64(clock[SEEN]), True)
            clock[COMES] = _next_after(sums, bins, armed, draw)
        came = clock[COMES]
        hit = came < length
        first, end = np.int64(ceil(armed)), np.int64(floor(came)) + 1 if hit else length
        if end > first:
            rounds += _tally(bins, marks, first, end)
            if hit:
                successes[(end - 1) % bins] += 1
        if not hit:
            break
        fired = came
        armed = came + timing.bins_dead
        clock[SEEN] += 1
        clock[COMES] = -1.0
    if clock[COMES] >= 0.0:
        clock[COMES] -= length
    clock[CLOCK] += length
    clock[FIRED] = fired - 0.5 + bins - length
    clock[ARMED] += periods
    _count_runs(bins, marks, rounds, samples)


@machine_code
def open_shifted(
    timing: Any, key: Any, pixel: Any, four: Any, sums: Any, windows: int, shifts: int, clock: Any, marks: Any,
    samples: Any, successes: Any,
) -> None:  # fmt: skip
    """Open windows as long as a period, each a step later in its own than the one before: ``shifts`` to a round."""
    bins, rounds = timing.bins, 0
    marks[:] = 0
    for window in range(windows):
        number = np.int64(clock[WINDOWS])
        begins = number % shifts * bins // shifts
        if window == 0:
            _wait_for(timing, clock, begins)
        lost = lost_periods(timing, clock[FIRED], 0)
        draw = exponential(four, key, pixel, PHOTONS, number, window == 0)
        came = _next_after(sums, bins, np.float64(begins), draw)
        hit = came < begins + bins
        end = np.int64(floor(came)) + 1 if hit else begins + bins
        rounds += _tally(bins, marks, begins, end)
        clock[FIRED] = -inf
        if hit:
            successes[(end - 1) % bins] += 1
            clock[FIRED] = np.float64(end - 1 - begins)
        clock[CLOCK] += (1 + lost) * bins
        clock[WINDOWS] += 1
        clock[ARMED] += 1
        if window + 1 < windows:
            step = ((number + 1) % shifts * bins // shifts - begins) % bins
            clock[CLOCK] += step
            clock[FIRED] -= step
    _count_runs(bins, marks, rounds, samples)
