"""Can a pixel stop with a proof? ``PulseGating._decide``, for one pixel."""

from __future__ import annotations

from math import ceil, floor
from typing import Any

import numpy as np

from linkedbandits.lidar.engines.compiled.certifying import attempt, count_up, fit_at
from linkedbandits.lidar.engines.compiled.compiling import in_place, machine_code
from linkedbandits.lidar.engines.compiled.doubting import gain_of_two
from linkedbandits.lidar.engines.compiled.estimating import estimate, reach_of_estimates
from linkedbandits.lidar.engines.compiled.likelihood import in_double_precision
from linkedbandits.lidar.engines.compiled.memory import ARM, CERTAIN, FRESH, LEVEL, NEXT_TRY, STOPPED
from linkedbandits.lidar.engines.compiled.outlook import largest
from linkedbandits.lidar.pulse_gating import LATEST, PRICE, SOONEST
from linkedbandits.lidar.two_returns import MORE


@in_place
def bins_around(tolerance: float) -> int:
    """How many bins away the depths are that a proof is about."""
    return np.int64(ceil(tolerance)) + 1


@in_place
def _promises(best: Any, of_bin: Any, place: int, top: Any, tolerance: float, needed: float) -> bool:
    """Is every other depth of the coarse grid so much less likely that a proof may succeed? First by bins.

    ``place`` is the first of the likeliest bins.
    """
    phases, bins = best.shape
    around = bins_around(tolerance)
    far = max(largest(of_bin[: max(place - around, 0)]), largest(of_bin[place + around + 1 :]))
    if not np.float64(top) - far >= needed + PRICE:
        return False
    found = 0.0
    for phase in range(phases - 1, -1, -1):
        for i in range(min(place + around, bins - 1), place - 1, -1):  # the first of equals, as phases come first
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
    """Stop where it can be proved; ``top`` is the largest log-weight of all, of the bin that the state has."""
    state = memory.state
    place = state[ARM]
    if cycles < state[NEXT_TRY] or not _promises(memory.best, memory.of_bin, place, top, rules.tolerance, rules.needed):
        return
    bins, around = samples.size, bins_around(rules.tolerance)
    first, last = max(place - around, 0), min(place + around + 1, bins)  # elsewhere no depth comes near,
    if state[FRESH]:  # unless the background is another than the one that was gone by
        first, last = 0, bins
    more = reach_of_estimates(model)
    from_bin, to_bin = max(first - more, 0), min(last + more, bins)
    in_double_precision(model, memory, samples, successes, state[LEVEL], log_prior, from_bin, to_bin)
    depth = estimate(model, memory, first, last)
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
