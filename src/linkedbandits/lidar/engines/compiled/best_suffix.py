"""The gate that opens once and stays open with the most worth per time: ``gates.Suffixes.best``, for one pixel."""

from __future__ import annotations

from math import exp, log
from typing import Any

import numpy as np

from linkedbandits.lidar.engines.compiled.compiling import machine_code

_LEAST_SURVIVAL = 1e-250
_TINY = 2.2250738585072014e-308


@machine_code
def _divide_by_time(rates: Any, ends: Any, bins: Any, late: Any, base: float, exact: bool) -> None:
    """Worth to worth per time, by the chances that none fires; without ``exact`` only where nothing comes late."""
    if exact:
        for i in range(bins - late):
            rates[i] /= 1.0 + base * (1.0 - ends[i]) + (ends[i] / ends[i + late] - ends[i])
    for i in range(bins - late, bins):
        rates[i] /= 1.0 + base * (1.0 - ends[i])


@machine_code
def suffix_rates(timing: Any, worth: Any, chance: Any, rates: Any, ends: Any, logs: Any) -> None:
    """The worth per time of the gates that open at each bin, into ``rates``.

    ``ends`` and ``logs`` are working memory of one more than the bins: the chance that none fires from each bin on,
    and the logarithms of those, where a ratio of two would not be exact.
    """
    bins, rise, late, base = timing.bins, timing.rising.size, timing.late, timing.base
    value, end = 0.0, 1.0
    ends[bins] = 1.0
    rates[bins] = 0.0
    for i in range(bins - 1, -1, -1):
        survive = 1.0 - chance[i]
        value = worth[i] + survive * value
        end *= survive
        rates[i] = value  # for now the worth of all that comes
        ends[i] = end
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


@machine_code
def best_suffix(timing: Any, rates: Any) -> int:
    """The allowed bin to open at with the highest of these rates; the first of equals."""
    found, top = 0, -1.0
    for i in range(timing.bins):
        if timing.allowed[i] and rates[i] > top:
            found, top = i, rates[i]
    return found
