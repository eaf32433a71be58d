"""The gate that opens once and stays open with the most worth per time: ``gates.Suffixes.best``, for one pixel."""

from __future__ import annotations

from math import exp, log
from typing import Any

import numpy as np

from linkedbandits.lidar.engines.compiled.arithmetic import bits_of
from linkedbandits.lidar.engines.compiled.compiling import in_place

PARTS = 4
_LEAST_SURVIVAL = 1e-250
_TINY = 2.2250738585072014e-308


@in_place
def _divide_by_time(rates: Any, ends: Any, bins: Any, late: Any, base: float, exact: bool) -> None:
    """Worth to worth per time, by the chances that none fires; without ``exact`` only where nothing comes late."""
    if exact:
        for i in range(bins - late):
            rates[i] /= 1.0 + base * (1.0 - ends[i]) + (ends[i] / ends[i + late] - ends[i])
    for i in range(bins - late, bins):
        rates[i] /= 1.0 + base * (1.0 - ends[i])


@in_place
def _put_worth(value: Any, ends: Any, worth: Any, chance: Any) -> None:
    """The worth of all that comes from each bin on, and the chance that none fires.

    Each bin waits for the one behind it. So four parts of the range are gone through side by side, as if nothing came
    behind them, and then what does come is added to each.
    """
    bins = worth.size
    part = bins // PARTS
    value[bins], ends[bins] = 0.0, 1.0
    for i in range(bins - 1, PARTS * part - 1, -1):
        survive = 1.0 - chance[i]
        value[i] = worth[i] + survive * value[i + 1]
        ends[i] = survive * ends[i + 1]
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    left, left_of_second, left_of_third, left_of_fourth = 1.0, 1.0, 1.0, 1.0
    for k in range(part - 1, -1, -1):
        i, j, m, n = np.uint64(k), np.uint64(part + k), np.uint64(2 * part + k), np.uint64(3 * part + k)
        survive = 1.0 - chance[i]
        first = worth[i] + survive * first
        left *= survive
        value[i], ends[i] = first, left
        survive = 1.0 - chance[j]
        second = worth[j] + survive * second
        left_of_second *= survive
        value[j], ends[j] = second, left_of_second
        survive = 1.0 - chance[m]
        third = worth[m] + survive * third
        left_of_third *= survive
        value[m], ends[m] = third, left_of_third
        survive = 1.0 - chance[n]
        fourth = worth[n] + survive * fourth
        left_of_fourth *= survive
        value[n], ends[n] = fourth, left_of_fourth
    for number in range(PARTS - 1, -1, -1):
        begin, end = np.uint64(number * part), np.uint64((number + 1) * part)
        behind, left_behind = value[end], ends[end]
        for i in range(begin, end):
            value[i] += ends[i] * behind
            ends[i] *= left_behind


@in_place
def suffix_rates(timing: Any, worth: Any, chance: Any, rates: Any, ends: Any, logs: Any) -> None:
    """The worth per time of the gates that open at each bin, into ``rates``.

    ``ends`` and ``logs`` are working memory of one more than the bins: the chance that none fires from each bin on,
    and the logarithms of those, where a ratio of two would not be exact.
    """
    bins, rise, late, base = timing.bins, timing.rising.size, timing.late, timing.base
    _put_worth(rates, ends, worth, chance)  # for now the worth of all that comes
    exact = ends[0] > _LEAST_SURVIVAL
    if not exact or rise:
        logs[bins] = 0.0
        for i in range(bins - 1, -1, -1):
            logs[i] = logs[i + 1] + log(max(1.0 - chance[i], _TINY))
    if not rise:
        _divide_by_time(rates, ends, np.uint64(bins), np.uint64(min(late, bins)), base, exact)
        if not exact:
            for i in range(bins - late):
                time = 1.0 + base * (1.0 - ends[i]) + exp(logs[i] - logs[i + late]) - ends[i]
                rates[i] /= time
        return
    for i in range(bins):  # a gate rises through some bins, and from there on is what it is without a rise
        grown, grown_late = 0.0, 0.0
        for after in range(min(rise, bins - i)):
            if after == late:
                grown_late = grown
            grown += timing.rising[after] * (logs[i + after] - logs[i + after + 1])
        risen = exp(grown)
        behind = i + rise
        value = risen * rates[behind] if behind < bins else 0.0
        end = risen * ends[behind] if behind < bins else risen
        time = 1.0 + base * (1.0 - end)
        if i + late < bins:
            at_late = exp(grown_late) if late < rise else risen * exp(logs[behind] - logs[i + late])
            time += at_late - end
        rates[i] = value / time


@in_place
def best_suffix(timing: Any, rates: Any) -> int:
    """The allowed bin to open at with the highest of these rates; the first of equals."""
    bins, allowed = timing.bins, timing.allowed
    top, found = np.int64(-1), np.int32(bins)
    for i in range(np.uint64(bins)):  # rates are not negative, so their bits have the same order
        top = max(top, bits_of(rates[i]) if allowed[i] else np.int64(-1))
    for i in range(np.uint64(bins)):
        found = min(found, np.int32(i) if allowed[i] and bits_of(rates[i]) == top else np.int32(bins))
    return np.int64(found)
