"""One depth cell of the certificate: what fits best there, and the line that bounds it.

Of :mod:`linkedbandits.lidar.certificate`, cell by cell and in double precision. A cell's counts are copied into
``fired`` and ``missed``, with zeros up to the width of the tables; those of all other bins are taken together.
"""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np

from linkedbandits.lidar.certificate import BOX, FALLS, MOST_BACKGROUND, SETTLED, STEPS, STRONGER
from linkedbandits.lidar.engines.compiled.arithmetic import firing, logarithm
from linkedbandits.lidar.engines.compiled.compiling import machine_code, summing
from linkedbandits.lidar.sensor import LEAST_BACKGROUND

_TINY = 2.2250738585072014e-308


class Counted(NamedTuple):
    """The counts of a pixel, with room for a return from outside of the range on both sides; and their totals."""

    fired: Any
    missed: Any
    near_fired: Any
    near_missed: Any
    """Those around a cell."""
    total_fired: float
    total_missed: float
    alone: float
    """The background that fits best if nothing comes back,"""
    none: float
    """the log-likelihood then,"""
    told: bool
    expected_signal: float
    expected_background: float


class Elsewhere(NamedTuple):
    """The counts of all bins that a cell does not reach, together."""

    fired: float
    missed: float


@machine_code
def take_cell(counted: Any, half: int, place: int) -> Elsewhere:
    """Copy the counts around a cell of the bin ``place``."""
    fired, missed = 0.0, 0.0
    for k in range(2 * half + 1):
        counted.near_fired[k] = counted.fired[place + half + k]
        counted.near_missed[k] = counted.missed[place + half + k]
        fired += counted.near_fired[k]
        missed += counted.near_missed[k]
    return Elsewhere(counted.total_fired - fired, counted.total_missed - missed)


@summing
def _pulls(fired: Any, missed: Any, share: Any, signal: float, background: float) -> Any:
    """Sums over the bins of a cell.

    Of w_i and of w_i g_i, which say how the log-likelihood grows with background and signal; and of how both bend:
    with the background, with the signal, and with one as the other grows.
    """
    weights, along, bends, signal_bend, both = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(share.size):
        inverse = 1.0 / firing(signal * share[k] + background)
        pull = fired[k] * (inverse - 1.0)
        bend = pull * inverse
        weight = pull - missed[k]
        weights += weight
        along += weight * share[k]
        bends += bend
        signal_bend += bend * share[k] * share[k]
        both += bend * share[k]
    return weights, along, bends, signal_bend, both


@summing
def _value_near(fired: Any, missed: Any, share: Any, signal: float, background: float) -> float:
    total = 0.0
    for k in range(share.size):
        rate = signal * share[k] + background
        total += fired[k] * logarithm(firing(rate)) - missed[k] * rate
    return total


@summing
def _three_values(
    fired: Any, missed: Any, share: Any, low: float, middle: float, high: float, background: float
) -> tuple[float, float, float]:
    """The same of three signals."""
    one, two, three = 0.0, 0.0, 0.0
    for k in range(share.size):
        lower, mid, upper = low * share[k] + background, middle * share[k] + background, high * share[k] + background
        one += fired[k] * logarithm(firing(lower)) - missed[k] * lower
        two += fired[k] * logarithm(firing(mid)) - missed[k] * mid
        three += fired[k] * logarithm(firing(upper)) - missed[k] * upper
    return one, two, three


@summing
def _slopes(fired: Any, missed: Any, share: Any, slope: Any, curve: Any, signal: float, background: float) -> Any:
    """Sums of w_i g_i', and of |w_i| times the most that g_i bends."""
    along, curved = 0.0, 0.0
    for k in range(share.size):
        weight = fired[k] * (1.0 / firing(signal * share[k] + background) - 1.0) - missed[k]
        along += weight * slope[k]
        curved += abs(weight) * curve[k]
    return along, curved


@machine_code
def _clip(number: float, low: float, high: float) -> float:
    return min(max(number, low), high)


@machine_code
def value_at(counted: Any, elsewhere: Any, share: Any, signal: float, background: float) -> float:
    """The log-likelihood in the middle of a cell."""
    near = _value_near(counted.near_fired, counted.near_missed, share, signal, background)
    alone = elsewhere.fired * logarithm(firing(background)) - elsewhere.missed * background
    return near + alone


@machine_code
def put_values(
    counted: Any, elsewhere: Any, share: Any, signal: float, wide: float, background: float, values: Any
) -> None:
    """The log-likelihoods in the middle of a cell of a signal and of those ``wide`` less and more, into ``values``."""
    low, middle, high = _three_values(
        counted.near_fired, counted.near_missed, share, signal - wide, signal, signal + wide, background
    )
    alone = elsewhere.fired * logarithm(firing(background)) - elsewhere.missed * background
    values[0], values[1], values[2] = low + alone, middle + alone, high + alone


@machine_code
def fit(counted: Any, elsewhere: Any, share: Any) -> tuple[float, float]:
    """The signal and the background that fit best in a cell's middle, nearly: a bound may be drawn anywhere."""
    fired, missed, told = counted.near_fired, counted.near_missed, counted.told
    background = counted.alone
    _, along, _, bend, _ = _pulls(fired, missed, share, 0.0, background)
    signal = _clip(along / max(bend, 1e-12), 1e-3, 1e3)
    for _ in range(STEPS):
        weights, along, bends, signal_bend, both = _pulls(fired, missed, share, signal, background)
        signal_bend = max(signal_bend, 1e-12)
        chance = firing(background)
        pull = elsewhere.fired * (1.0 / chance - 1.0)
        along_background = weights + pull - elsewhere.missed
        changed = 0.0
        if not told:
            background_bend = bends + pull / chance
            area = signal_bend * background_bend
            area = max(area - both * both, 1e-9 * area + 1e-300)
            change = (signal_bend * along_background - both * along) / area
            changed = _clip(background + change, background / 3, 3 * background)
            changed = _clip(changed, LEAST_BACKGROUND, MOST_BACKGROUND) - background
        step = (along - both * changed) / signal_bend
        moved = _clip(signal + step, signal / 5, 5 * signal) - signal
        signal += moved
        background += changed
        if not abs(along * moved + along_background * changed) > SETTLED:
            break
    return signal, background


@machine_code
def box_of(counted: Any, elsewhere: Any, share: Any, signal: float, background: float) -> tuple[float, float]:
    """How far the boxes of M reach from what fits best."""
    _, _, bends, signal_bend, _ = _pulls(counted.near_fired, counted.near_missed, share, signal, background)
    chance = firing(background)
    bends += elsewhere.fired * (1.0 / chance - 1.0) / chance
    wide_signal, wide_background = BOX / np.sqrt(max(signal_bend, 1e-12)), BOX / np.sqrt(max(bends, 1e-12))
    return min(wide_signal, 0.9 * signal), min(wide_background, 0.9 * background)


@machine_code
def _line(
    counted: Any, elsewhere: Any, share: Any, slope: Any, curve: Any, width: float, signal: float, background: float
) -> Any:
    """The log-likelihood with this signal and the background that fits best; the start of its line, its slope, and
    about how much more signal it takes until such a line falls."""
    fired, missed = counted.near_fired, counted.near_missed
    weights, tangent, bends, signal_bend, _ = _pulls(fired, missed, share, signal, background)
    along = 0.0
    for step in range(STEPS):
        chance = firing(background)
        pull = elsewhere.fired * (1.0 / chance - 1.0)
        along = 0.0 if counted.told else weights + pull - elsewhere.missed
        bend = bends + pull / chance
        moved = _clip(background + along / max(bend, 1e-300), background / 3, 3 * background)
        moved = _clip(moved, LEAST_BACKGROUND, MOST_BACKGROUND)
        if step == STEPS - 1 or not abs(moved - background) > 1e-9 * background:
            break  # a tangent takes its value and its slopes from the same background
        background = moved
        weights, tangent, bends, signal_bend, _ = _pulls(fired, missed, share, signal, background)
    value = value_at(counted, elsewhere, share, signal, background)
    sloped, curved = _slopes(fired, missed, share, slope, curve, signal, background)
    most = tangent + abs(sloped) * (width / 2) + curved * (width * width / 8)
    other = max(along * (MOST_BACKGROUND - background), -along * background)
    return value, value - signal * tangent + other, most, FALLS * most / max(signal_bend, 1e-12)


@machine_code
def above(
    counted: Any, elsewhere: Any, share: Any, slope: Any, curve: Any, width: float, strongest: float, level: float
) -> tuple[bool, bool]:
    """Is the bound over a cell above the level, and is the likelihood in its middle?"""
    signal, background = fit(counted, elsewhere, share)
    signal = min(signal, strongest)
    value, start, rises, falls_after = _line(counted, elsewhere, share, slope, curve, width, signal, background)
    stronger = max(STRONGER * signal + 0.01 * counted.expected_signal, signal + falls_after)
    stronger = min(stronger, strongest)
    _, start_falling, falls, _ = _line(counted, elsewhere, share, slope, curve, width, stronger, background)
    meet = strongest
    if falls < 0:
        meet = min(max(start_falling - start, 0.0) / max(rises - falls, _TINY), strongest)
    rise = rises * meet if rises > 0 else 0.0
    if np.isnan(rise):  # lines as good as parallel meet nowhere
        rise = inf
    return start + rise > level, value > level
