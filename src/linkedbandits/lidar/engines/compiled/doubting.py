"""Do the counts look like two returns close to each other? :mod:`linkedbandits.lidar.two_returns`, for one pixel."""

from __future__ import annotations

from math import ceil, erfc, floor, inf, sqrt
from typing import Any

import numpy as np

from linkedbandits.lidar.engines.compiled.arithmetic import firing, logarithm
from linkedbandits.lidar.engines.compiled.compiling import machine_code, summing
from linkedbandits.lidar.two_returns import SIDES, SINGLE, STEPS

_ROOT = sqrt(0.5)


@machine_code
def cumulative(pulse: Any, time: float) -> float:
    """The share of the pulse that comes before ``time``."""
    if pulse.sigma > 0:
        z = min(max(time / pulse.sigma, -pulse.cut), pulse.cut)
        return (0.5 * erfc(-z * _ROOT) - pulse.before_cut - pulse.at_cut * (z + pulse.cut)) / pulse.whole
    times = pulse.times
    within = min(max(time, times[0]), times[-1])
    piece = min(np.searchsorted(times, within, side="right") - 1, times.size - 2)
    since = within - times[piece]
    return pulse.before[piece] + since * (pulse.heights[piece] + since * pulse.slopes[piece] / 2)


@machine_code
def _put_shares(out: Any, pulse: Any, first: float) -> None:
    """The shares of a pulse in bins that begin ``first``, ``first + 1``... after it."""
    before = cumulative(pulse, first)
    for k in range(out.size):
        upto = cumulative(pulse, first + k + 1)
        out[k] = upto - before
        before = upto


@summing
def _sums(fired: Any, missed: Any, one: Any, other: Any, first: float, second: float, background: float) -> Any:
    along, bent, along_other, bent_other, both = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(fired.size):
        chance = firing(first * one[k] + second * other[k] + background)
        pull = fired[k] * (1.0 / chance - 1.0)
        bend, weight = pull / chance, pull - missed[k]
        along += weight * one[k]
        bent += bend * one[k] * one[k]
        along_other += weight * other[k]
        bent_other += bend * other[k] * other[k]
        both += bend * one[k] * other[k]
    return along, bent + 1e-12, along_other, bent_other + 1e-12, both


@summing
def _value(fired: Any, missed: Any, one: Any, other: Any, first: float, second: float, background: float) -> float:
    total = 0.0
    for k in range(fired.size):
        rate = first * one[k] + second * other[k] + background
        total += fired[k] * logarithm(firing(rate)) - missed[k] * rate
    return total


@machine_code
def _best(fired: Any, missed: Any, one: Any, other: Any, two: bool, signal: float, background: float) -> float:
    """The largest log-likelihood over all signals of a return with these shares, or of two."""
    first = signal / 2 + 1e-6
    second = first if two else 0.0
    for _ in range(STEPS):
        along, bent, along_other, bent_other, both = _sums(fired, missed, one, other, first, second, background)
        if not two:
            first = min(max(first + along / bent, first / 5), 5 * first)
            continue
        area = max(bent * bent_other - both * both, 1e-6 * bent * bent_other)
        step = (bent_other * along - both * along_other) / area
        step_other = (bent * along_other - both * along) / area
        first = min(max(first + step, first / 5), 5 * first)
        second = min(max(second + step_other, second / 5), 5 * second)
    return _value(fired, missed, one, other, first, second, background)


@machine_code
def gain_of_two(
    pulse: Any, samples: Any, successes: Any, centre: float, tolerance: float, signal: float, background: float
) -> float:
    """By how many nats two returns around ``centre`` explain the counts better than one at it."""
    reach = pulse.half + np.int64(ceil(SIDES[-1] * tolerance)) + 1
    size = 2 * reach + 1
    fired, missed = np.zeros(size), np.zeros(size)
    place = np.int64(floor(centre)) - reach
    for k in range(size):
        if 0 <= place + k < samples.size:
            fired[k] = successes[place + k]
            missed[k] = samples[place + k] - successes[place + k]
    edge = place - centre
    left, right = np.zeros((len(SIDES), size)), np.zeros((len(SIDES), size))
    nothing = np.zeros(size)
    one = -inf
    for away in SINGLE:
        _put_shares(left[0], pulse, edge - tolerance * away)
        one = max(one, _best(fired, missed, left[0], nothing, False, signal, background))
    for side in range(len(SIDES)):
        _put_shares(left[side], pulse, edge + tolerance * SIDES[side])
        _put_shares(right[side], pulse, edge - tolerance * SIDES[side])
    two = -inf
    for i in range(len(SIDES)):
        for j in range(len(SIDES)):
            two = max(two, _best(fired, missed, left[i], right[j], True, signal, background))
    return two - one
