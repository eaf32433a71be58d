"""The best gate of windows, or of any bins, for one pixel: the search of :mod:`linkedbandits.lidar.gates`.

As there, intervals of first bins are searched with a bound, dropped where that is not above the best gate so far, or
split; all intervals of a round by the best gate of the round before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkedbandits.lidar.engines.compiled.compiling import machine_code
from linkedbandits.lidar.engines.compiled.tables import SUBSET
from linkedbandits.lidar.gates import CLOSE


@machine_code
def worth_per_time(timing: Any, gate: Any, worth: Any, chance: Any) -> float:
    """The expected worth of a cycle with this gate for every period that it costs."""
    rise, since, first = timing.rising.size, 0, -1
    value, time, reached = 0.0, 1.0, 1.0
    for i in range(gate.size):
        if not gate[i]:
            continue
        if first < 0:
            first = i
        since = 0 if i == 0 or not gate[i - 1] else since + 1
        survive = 1.0 - chance[i]
        if since < rise:
            survive = survive ** timing.rising[since]
        else:
            value += reached * worth[i]
        time += reached * (1.0 - survive) * (timing.base + (i - first >= timing.late))
        reached *= survive
    return value / time


@machine_code
def _best_for_nothing(worth: Any, chance: Any, gate: Any) -> None:
    """The bins that are worth most where a detection costs no time: all, where nothing is worth anything."""
    behind = 0.0
    for i in range(worth.size - 1, -1, -1):
        gain = worth[i] - chance[i] * behind
        gate[i] = gain > 0
        behind += max(gain, 0.0)
    if behind == 0.0:
        gate[:] = True


@machine_code
def _subset_pass(value: Any, survive: Any, first: Any, shut: Any) -> None:
    bins = value.size
    shut[bins] = np.float32(0.0)
    for i in range(bins - 1, -1, -1):
        first[i] = survive[i] * shut[i + 1] + value[i]
        shut[i] = max(first[i], shut[i + 1])


@machine_code
def _window_pass(
    timing: Any, value: Any, survive: Any, cost: Any, block: int, first: Any, stays: Any, shut: Any, opened: Any
) -> None:
    bins, rise, gap = value.size, timing.rising.size, timing.gap
    shut[bins:] = np.float32(0.0)
    opened[bins:] = np.float32(0.0)
    for i in range(bins - 1, -1, -1):
        worth, left = np.float32(0.0), np.float32(1.0)  # of the bins that are open once the first of them is
        for k in range(min(block, bins - i)):
            if k < rise:
                part = survive[i + k] ** np.float32(timing.rising[k])
                worth += left * (part - np.float32(1.0)) * cost[i + k]
                left *= part
            else:
                worth += left * value[i + k]
                left *= survive[i + k]
        first[i] = left * opened[i + block] + worth
        stays[i] = survive[i] * opened[i + 1] + value[i]
        opened[i] = max(stays[i], shut[i + gap])
        shut[i] = max(first[i], shut[i + 1])


@machine_code
def _put_subset(gate: Any, opens: int, first: Any, shut: Any) -> None:
    for i in range(gate.size):
        gate[i] = i >= opens and first[i] > shut[i + 1]
    gate[opens] = True


@machine_code
def _put_windows(gate: Any, opens: int, first: Any, stays: Any, shut: Any, block: int, gap: int) -> None:
    bins = gate.size
    gate[:] = False
    while opens < bins:
        ends = min(opens + block, bins)
        while ends < bins and not shut[ends + gap] > stays[ends]:
            ends += 1
        gate[opens:ends] = True
        opens = min(ends + gap, bins)
        while opens < bins and not first[opens] > shut[opens + 1]:
            opens += 1


@machine_code
def _put_values(timing: Any, worth: Any, survive: Any, high: int, price: Any, cost: Any, value: Any) -> None:
    """What samples are worth less the time they cost, if the extra period begins late enough for gates up to here."""
    for i in range(value.size):
        late = np.float32(1.0) if i >= high + timing.late else np.float32(0.0)
        cost[i] = (np.float32(timing.base) + late) * price
        value[i] = np.float32(worth[i]) - cost[i] * (np.float32(1.0) - survive[i])


@machine_code
def _first_largest(numbers: Any, low: int, high: int) -> int:
    found = low
    for i in range(low, high + 1):
        if numbers[i] > numbers[found]:
            found = i
    return found


@machine_code
def _split(timing: Any, low: Any, high: Any, firsts: Any, reached: float, better: bool) -> tuple[Any, Any]:
    """The intervals that may still hold a better gate, in two pieces each; ``better``: this round found one."""
    never_late = timing.bins - timing.late  # gates from here on are open for so short that nothing comes late
    next_low, next_high = np.empty(2 * low.size, np.int64), np.empty(2 * low.size, np.int64)
    count = 0
    for k in range(low.size):
        exact = low[k] == high[k] or low[k] >= never_late
        if exact and not better:
            continue  # rounding is all that is left
        start, stop = -1, -1
        for i in range(low[k], high[k] + 1):
            if firsts[k, i] > reached * (1 + CLOSE):
                start = i if start < 0 else start
                stop = i
        if start < 0:
            continue
        splits = start < stop and start < never_late
        middle = stop
        if splits:
            middle = (start + stop) // 2 if stop < never_late else never_late - 1
        next_low[count], next_high[count] = start, middle
        count += 1
        if splits:
            next_low[count], next_high[count] = middle + 1, stop
            count += 1
    return next_low[:count].copy(), next_high[:count].copy()


@machine_code
def search(timing: Any, worth: Any, chance: Any, suffixes: Any, gate: Any) -> None:
    """The gate with the most worth per time but for the share ``CLOSE``; ``suffixes`` has what suffixes reach."""
    bins, rise = timing.bins, timing.rising.size
    free = rise == 0 and timing.shortest == 1 and timing.gap == 1
    if free and timing.kind == SUBSET and timing.base == 0 and timing.late == bins:
        _best_for_nothing(worth, chance, gate)
        return
    block = min(max(timing.shortest, rise), bins)
    opens = _first_largest(suffixes, 0, bins - 1)
    gate[:opens] = False
    gate[opens:] = True
    reached = suffixes[opens]
    value, cost, stays = np.empty(bins, np.float32), np.empty(bins, np.float32), np.zeros(bins, np.float32)
    shut, opened = np.empty(bins + timing.gap + 1, np.float32), np.empty(bins + block + 1, np.float32)
    survive, trial = (1.0 - chance).astype(np.float32), np.empty(bins, np.bool_)
    low, high = np.zeros(1, np.int64), np.full(1, bins - 1)
    while low.size:
        before = reached
        firsts = np.empty((low.size, bins), np.float32)
        for k in range(low.size):
            _put_values(timing, worth, survive, high[k], np.float32(before), cost, value)
            if free:
                _subset_pass(value, survive, firsts[k], shut)
            else:
                _window_pass(timing, value, survive, cost, block, firsts[k], stays, shut, opened)
            opens = _first_largest(firsts[k], low[k], high[k])
            if not firsts[k, opens] > before:
                continue
            if free:
                _put_subset(trial, opens, firsts[k], shut)
            else:
                _put_windows(trial, opens, firsts[k], stays, shut, block, timing.gap)
            rate = worth_per_time(timing, trial, worth, chance)
            if rate > reached:
                reached = rate
                gate[:] = trial
        low, high = _split(timing, low, high, firsts, reached, reached > before)
