"""Can a pixel stop with a proof? ``PulseGating._decide``, for one pixel."""

from __future__ import annotations

from math import ceil, floor
from typing import Any

import numpy as np

from linkedbandits.lidar.engines.compiled.certifying import attempt, count_up, fit_at
from linkedbandits.lidar.engines.compiled.compiling import machine_code
from linkedbandits.lidar.engines.compiled.doubting import gain_of_two
from linkedbandits.lidar.engines.compiled.estimating import estimate
from linkedbandits.lidar.engines.compiled.likelihood import in_double_precision
from linkedbandits.lidar.engines.compiled.memory import ARM, CERTAIN, LEVEL, NEXT_TRY, STOPPED
from linkedbandits.lidar.pulse_gating import LATEST, PRICE, SOONEST
from linkedbandits.lidar.two_returns import MORE

_VERY_LOW = np.float32(-3e38)


@machine_code
def _promises(best: Any, of_bin: Any, top: Any, tolerance: float, needed: float) -> bool:
    """Is every other depth of the coarse grid so much less likely that a proof may succeed? First by bins."""
    phases, bins = best.shape
    place = 0
    while place < bins - 1 and of_bin[place] != top:
        place += 1
    around = np.int64(ceil(tolerance)) + 1
    far = _VERY_LOW
    for i in range(bins):
        if abs(i - place) > around:
            far = max(far, of_bin[i])
    if not np.float64(top) - far >= needed + PRICE:
        return False
    found = 0.0
    for phase in range(phases - 1, -1, -1):
        for i in range(place, -1, -1):  # the first of equals, as phases come first
            if best[phase, i] == top:
                found = i + (phase + 0.5) / phases
    step = 1.0 / phases
    least = max(tolerance - step / 2, step)
    for phase in range(phases):
        for i in range(max(place - around - 1, 0), min(place + around + 2, bins)):
            if abs(i + (phase + 0.5) / phases - found) > least:
                far = max(far, best[phase, i])
    return np.float64(top) - far >= needed + PRICE


@machine_code
def decide(
    model: Any, cells: Any, rules: Any, memory: Any, samples: Any, successes: Any, cycles: int, log_prior: Any,
    signal: float, background: float, top: Any,
) -> None:  # fmt: skip
    """Stop where it can be proved; ``top`` is the largest log-weight of all."""
    state = memory.state
    if cycles < state[NEXT_TRY] or not _promises(memory.best, memory.of_bin, top, rules.tolerance, rules.needed):
        return
    bins = samples.size
    in_double_precision(model, memory, samples, successes, state[LEVEL], log_prior)
    depth = estimate(model, memory)
    state[ARM] = min(max(np.int64(floor(depth)), 0), bins - 1)
    counted = count_up(cells, samples, successes, rules.told, signal, background)
    certain, times, _ = attempt(cells, counted, log_prior, depth, rules.needed, rules.tolerance, rules.strongest, True)
    if certain:
        strength, level = fit_at(cells, counted, bins, depth)
        two = gain_of_two(cells.pulse, samples, successes, depth, rules.tolerance, strength, level)
        certain = two <= MORE
    state[CERTAIN] = 1 if certain else 0
    if certain:
        state[STOPPED] = 1
    wait = min(max(times, SOONEST), LATEST)
    state[NEXT_TRY] = np.int64(ceil(wait * cycles))
