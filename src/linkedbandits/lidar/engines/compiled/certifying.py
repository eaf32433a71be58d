"""When a depth is certain, for one pixel: :mod:`linkedbandits.lidar.certificate`, in double precision throughout."""

from __future__ import annotations

from math import ceil, floor, inf, log, log1p
from typing import Any

import numpy as np

from linkedbandits.lidar.certificate import CELLS, MOST_BACKGROUND, NODES, SPREADS
from linkedbandits.lidar.engines.compiled.arithmetic import exp, firing, logarithm
from linkedbandits.lidar.engines.compiled.cell_fits import Counted, above, box_of, fit, put_values, take_cell, value_at
from linkedbandits.lidar.engines.compiled.compiling import machine_code, summing
from linkedbandits.lidar.sensor import LEAST_BACKGROUND

_FINEST = len(CELLS) - 1
_OF_NODES = len(CELLS)
"""The place of the nodes of M in the tables."""
_MOST_PER_BIN = CELLS[-1]
_NARROW, _WIDE = SPREADS
_LOG_NARROW, _LOG_WIDE, _LOG_TWO = log(2 * _NARROW), log(2 * _WIDE), log(2.0)


@machine_code
def _best(fired: float, missed: float) -> float:
    """The log-likelihood of counts at the rate that fits them best."""
    total = max(fired + missed, 1.0)
    best = 0.0
    if fired > 0:
        best += fired * log(fired / total)
    if missed > 0:
        best += missed * log(missed / total)
    return best


@machine_code
def count_up(
    cells: Any, samples: Any, successes: Any, told: bool, expected_signal: float, expected_background: float
) -> Counted:
    """What all cells of a pixel share."""
    bins, half = samples.size, cells.half
    fired, missed = np.zeros(bins + 4 * half), np.zeros(bins + 4 * half)
    total_fired, total_missed = 0.0, 0.0
    for i in range(bins):
        fired[2 * half + i] = successes[i]
        missed[2 * half + i] = samples[i] - successes[i]
        total_fired += fired[2 * half + i]
        total_missed += missed[2 * half + i]
    best = log1p(total_fired / max(total_missed, 1e-9))
    alone = expected_background if told else min(max(best, LEAST_BACKGROUND), MOST_BACKGROUND)
    none = total_fired * logarithm(firing(alone)) - total_missed * alone
    if best <= MOST_BACKGROUND and not told:
        none = _best(total_fired, total_missed)
    width = cells.share.shape[1]
    return Counted(
        fired, missed, np.zeros(width), np.zeros(width), total_fired, total_missed, alone, none, told,
        expected_signal, expected_background,
    )  # fmt: skip


@machine_code
def _row(cells: Any, division: int, depth: float) -> tuple[int, int]:
    """The bin of a depth, and the row of the tables for its cell."""
    place = np.int64(floor(depth))
    per_bin = cells.per_bin[division]
    return place, cells.first[division] + np.int64(floor((depth - place) * per_bin))


@machine_code
def _is_above(cells: Any, counted: Any, division: int, depth: float, strongest: float, level: float) -> Any:
    place, row = _row(cells, division, depth)
    elsewhere = take_cell(counted, cells.half, place)
    width = 1.0 / cells.per_bin[division]
    return above(counted, elsewhere, cells.share[row], cells.slope[row], cells.curve[row], width, strongest, level)


@machine_code
def _log_add(one: float, other: float) -> float:
    high, low = max(one, other), min(one, other)
    return high if low == -inf else high + logarithm(1.0 + exp(low - high))


@machine_code
def _put_box_weights(out: Any, middle: float, wide: float, log_expected: float) -> None:
    """The logarithms of at least what the law of ``SPREADS`` gives to the two halves of an interval."""
    narrow_before, wide_before = 0.0, 0.0
    for i in range(3):
        end = logarithm(middle + (i - 1.0) * wide)
        distance = abs(end - log_expected)
        narrow_density = -distance / _NARROW - _LOG_NARROW - end
        wide_density = -distance / _WIDE - _LOG_WIDE - end
        if i > 0:
            least = _log_add(min(narrow_density, narrow_before), min(wide_density, wide_before))
            out[i - 1] = least - _LOG_TWO + logarithm(wide)
        narrow_before, wide_before = narrow_density, wide_density


@machine_code
def _mean_at(counted: Any, elsewhere: Any, share: Any, values: Any, weights: Any, others: Any) -> float:
    """A lower bound of what the boxes around the best fit of a node bring to log M; ``values`` gets their corners.

    They have a row for each background, and a column for each signal; where the background is known, only the second.
    """
    signal, background = fit(counted, elsewhere, share)
    wide_signal, wide_background = box_of(counted, elsewhere, share, signal, background)
    _put_box_weights(weights, signal, wide_signal, logarithm(counted.expected_signal))
    if counted.told:
        put_values(counted, elsewhere, share, signal, wide_signal, background, values[1])
        return _log_add((values[1, 0] + values[1, 1]) / 2 + weights[0], (values[1, 1] + values[1, 2]) / 2 + weights[1])
    _put_box_weights(others, background, wide_background, logarithm(counted.expected_background))
    for j in range(3):
        put_values(counted, elsewhere, share, signal, wide_signal, background + (j - 1.0) * wide_background, values[j])
    total = -inf
    for i in range(2):
        for j in range(2):
            corners = values[j, i] + values[j, i + 1] + values[j + 1, i] + values[j + 1, i + 1]
            total = _log_add(total, corners / 4 + weights[i] + others[j])
    return total


@machine_code
def mean(cells: Any, counted: Any, log_prior: Any, centre: float, reach: float) -> tuple[float, float]:
    """The best log-likelihood around the centre, and a lower bound of log M."""
    bins = log_prior.size
    span = np.int64(ceil(NODES * max(reach, 1.0)))
    middle = np.int64(floor(centre * NODES))
    best, total = -inf, -inf
    values, weights, others = np.empty((3, 3)), np.empty(2), np.empty(2)
    for node in range(max(middle - span, 0), min(middle + span + 1, bins * NODES)):
        place, row = _row(cells, _OF_NODES, (node + 0.5) / NODES)
        elsewhere = take_cell(counted, cells.half, place)
        term = _mean_at(counted, elsewhere, cells.share[row], values, weights, others)
        best = max(best, values[1, 1])
        total = _log_add(total, term + log_prior[node // NODES] - log(NODES))
    return best, total


@machine_code
def _at_edges(cells: Any, counted: Any, bins: int, centre: float, tolerance: float, within_range: bool) -> float:
    """The log-likelihood just outside of the window, on the side that is likelier: where most proofs fail."""
    beyond = 0 if within_range else cells.half
    found = -inf
    for side in range(2):
        outside = centre - tolerance if side == 0 else centre + tolerance
        middle = (floor(outside * _MOST_PER_BIN) + (-0.5 if side == 0 else 1.5)) / _MOST_PER_BIN
        if -beyond < middle < bins + beyond:
            place, row = _row(cells, _FINEST, middle)
            elsewhere = take_cell(counted, cells.half, place)
            share = cells.share[row]
            signal, background = fit(counted, elsewhere, share)
            found = max(found, value_at(counted, elsewhere, share, signal, background))
    return found


@machine_code
def _add_around(out: Any, numbers: Any, half: int) -> None:
    """The sums of the numbers from ``half`` before every place to ``half`` after it."""
    out[:] = 0.0
    size = np.uint64(out.size)
    for k in range(np.uint64(2 * half + 1)):
        for i in range(size):
            out[i] += numbers[i + k]


@machine_code
def _saturate(out: Any, fired: Any, missed: Any, total_fired: float, total_missed: float) -> None:
    """Add what counts elsewhere reach at most; ``fired`` and ``missed`` are those around every place."""
    for i in range(out.size):
        one, other = max(total_fired - fired[i], 0.0), max(total_missed - missed[i], 0.0)
        total = max(one + other, 1.0)
        best = one * logarithm(max(one / total, 1e-300)) + other * logarithm(max(other / total, 1e-300))
        out[i] += best


@summing
def _most(weight: Any, first: int, share: Any, slope: Any, curve: Any, length: int, width: float) -> float:
    along, sloped, curved = 0.0, 0.0, 0.0
    start = np.uint64(first)
    for k in range(np.uint64(length)):
        here = weight[start + k]
        along += here * share[k]
        sloped += here * slope[k]
        curved += abs(here) * curve[k]
    return along + abs(sloped) * (width / 2) + curved * (width * width / 8)


@machine_code
def _first_suspects(cells: Any, counted: Any, bins: int, level: float, within_range: bool, depths: Any) -> int:
    """The cells that are not refuted at first sight, into ``depths``; how many."""
    half, size = cells.half, bins + 2 * cells.half
    single = np.zeros(counted.fired.size)
    weight = np.empty(counted.fired.size)
    odds = 1.0 / np.expm1(counted.alone)
    for i in range(single.size):
        if counted.fired[i] > 0:
            single[i] = _best(counted.fired[i], counted.missed[i])
        weight[i] = counted.fired[i] * odds - counted.missed[i]
    saturated, fired, missed = np.empty(size), np.empty(size), np.empty(size)
    _add_around(saturated, single, half)
    _add_around(fired, counted.fired, half)
    _add_around(missed, counted.missed, half)
    if counted.told:
        lit = logarithm(firing(counted.alone))
        for i in range(size):
            saturated[i] += (counted.total_fired - fired[i]) * lit - (counted.total_missed - missed[i]) * counted.alone
    else:
        _saturate(saturated, fired, missed, counted.total_fired, counted.total_missed)
    count = 0
    per_bin = cells.per_bin[0]
    for place in range(size):
        if not saturated[place] > level:
            continue
        for phase in range(per_bin):
            row = cells.first[0] + phase
            most = _most(
                weight, place, cells.share[row], cells.slope[row], cells.curve[row], 2 * half + 1, 1.0 / per_bin
            )
            depth = place - half + (phase + 0.5) / per_bin
            if most > 0 and (not within_range or 0 < depth < bins):
                depths[count] = depth
                count += 1
    return count


@machine_code
def _divided(depths: Any, count: int, division: int, cells: Any) -> Any:
    """What cells consist of at the next division."""
    per_bin, finer = cells.per_bin[division], cells.per_bin[division + 1]
    pieces = finer // per_bin
    parts = np.empty(count * pieces)
    for i in range(count):
        for piece in range(pieces):
            parts[i * pieces + piece] = depths[i] + ((piece + 0.5) / finer - 0.5 / per_bin)
    return parts


@machine_code
def attempt(
    cells: Any, counted: Any, log_prior: Any, centre: float, needed: float, tolerance: float, strongest: float,
    within_range: bool,
) -> Any:  # fmt: skip
    """Whether the depth is certainly near the centre; about how many times the samples it may take; and log M."""
    bins = log_prior.size
    best, below = mean(cells, counted, log_prior, centre, tolerance)
    level = below - needed
    rival = max(counted.none, _at_edges(cells, counted, bins, centre, tolerance, within_range))
    times = 1 + max(rival - level, 0.0) / max(best - rival, 1e-3)
    if not level >= rival:
        return False, times, below
    depths = np.empty((bins + 2 * cells.half) * CELLS[0])
    count = _first_suspects(cells, counted, bins, level, within_range, depths)
    for division in range(_FINEST + 1):
        half_width = 0.5 / cells.per_bin[division]
        kept = 0
        for i in range(count):
            depth = depths[i]
            away = abs(depth - centre)
            if not away + half_width > tolerance:
                continue
            possible, likely = _is_above(cells, counted, division, depth, strongest, level)
            if likely and away > tolerance:
                return False, times, below  # dividing the cell would not help: its middle is possible
            if possible:
                if division == _FINEST:
                    return False, times, below
                depths[kept] = depth
                kept += 1
        count = kept
        if count == 0:
            break
        if division < _FINEST:
            depths = _divided(depths, count, division, cells)
            count = depths.size
    return True, times, below


@machine_code
def interval(
    cells: Any, counted: Any, log_prior: Any, centre: float, needed: float, tolerance: float, strongest: float,
    within_range: bool,
) -> tuple[float, float]:  # fmt: skip
    """From which to which depth anything is possible."""
    bins = log_prior.size
    _, below = mean(cells, counted, log_prior, centre, tolerance)
    level = below - needed
    if not level >= counted.none:
        return 0.0, np.float64(bins)
    low, high = inf, -inf
    depths = np.empty((bins + 2 * cells.half) * CELLS[0])
    count = _first_suspects(cells, counted, bins, level, within_range, depths)
    for division in range(_FINEST + 1):
        half_width = 0.5 / cells.per_bin[division]
        kept = 0
        for i in range(count):
            depth = depths[i]
            if depth - half_width >= low and depth + half_width <= high:
                continue  # inside of what is known to be possible
            possible, likely = _is_above(cells, counted, division, depth, strongest, level)
            if likely:
                low, high = min(low, depth), max(high, depth)
            if possible:
                if division == _FINEST:
                    low, high = min(low, depth - half_width), max(high, depth + half_width)
                depths[kept] = depth
                kept += 1
        count = kept
        if count == 0:
            break
        if division < _FINEST:
            depths = _divided(depths, count, division, cells)
            count = depths.size
    if low > high:  # refuted everywhere: the counts fit no depth, so none is claimed
        low, high = 0.0, np.float64(bins)
    if within_range:
        low, high = min(max(low, 0.0), bins), min(max(high, 0.0), bins)
    return low, high


@machine_code
def fit_at(cells: Any, counted: Any, bins: int, depth: float) -> tuple[float, float]:
    """The signal and the background that fit best with a depth."""
    middle = (floor(min(max(depth, 0.0), bins - 1e-6) * _MOST_PER_BIN) + 0.5) / _MOST_PER_BIN
    place, row = _row(cells, _FINEST, middle)
    elsewhere = take_cell(counted, cells.half, place)
    return fit(counted, elsewhere, cells.share[row])
