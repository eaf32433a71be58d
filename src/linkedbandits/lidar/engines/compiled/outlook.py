"""What a sample of each bin is worth, and its chance to fire: :mod:`linkedbandits.lidar.gating`, for one pixel.

Blocks of bins that have next to no weight are left out. The worth of a bin is split in two: what knowing depth and
signal would tell of it if its chance to fire were that of the background alone (``gain``: Kullback and Leibler's
divergence, which adds up over weights), less the divergence of the chance that it has. So nothing is lost where both
entropies are nearly the same, and single precision is enough.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from linkedbandits.lidar.engines.compiled.arithmetic import (
    exp,
    exp2_single,
    firing,
    in_order,
    log_of_more,
    out_of_order,
)
from linkedbandits.lidar.engines.compiled.compiling import in_place, rough
from linkedbandits.lidar.engines.compiled.tables import BLOCK, FOUR
from linkedbandits.lidar.gating import STEP, TEMPER

LEAST_WORTH = 1e-12
_MOST_BACKGROUND = 60.0
"""With more, a bin has fired as good as always, and its chance not to is no number of single precision any more."""
_LEAST_WORTH = np.float32(LEAST_WORTH)
_ALWAYS = np.float32(-0.9999999)
"""By which share the chance not to fire falls at most, as far as logarithms are concerned."""
_NEGLIGIBLE = -16.0
"""The logarithm of a weight that is left out, where the largest weight is 1."""
_STEP, _TEMPER = np.float32(STEP), np.float32(TEMPER)
_LEAST_STEP = np.float32(1e-6)
_LOG2E = np.float32(1 / log(2))
_FAINT = np.float32(-80.0)
"""With a smaller power of 2, products would be too small for numbers of full precision, and take processors long."""
_VERY_LOW = np.float32(-3e38)


@rough
def find_best(model: Any, fire: Any, stride: int, missed: Any, best: Any, of_bin: Any) -> None:
    """The largest log-likelihood of every phase and bin, over signals, and of every bin."""
    phases, signals = best.shape[0], model.rough_signals
    last, step, bins = signals.size - 1, np.uint64(phases * stride), np.uint64(of_bin.size)
    for phase in range(phases):
        row = np.uint64(phase * stride + model.margin)
        for i in range(bins):
            best[phase, i] = _VERY_LOW
        for one in range(0, signals.size, FOUR):
            two, three, four = min(one + 1, last), min(one + 2, last), min(one + 3, last)
            first, second = row + np.uint64(one) * step, row + np.uint64(two) * step
            third, fourth = row + np.uint64(three) * step, row + np.uint64(four) * step
            faint, dim, bright, glaring = signals[one], signals[two], signals[three], signals[four]
            for i in range(bins):
                here = missed[phase, i]
                low = max(fire[first + i] - faint * here, fire[second + i] - dim * here)
                high = max(fire[third + i] - bright * here, fire[fourth + i] - glaring * here)
                best[phase, i] = max(best[phase, i], low, high)
    for i in range(bins):
        of_bin[i] = best[0, i]
    for phase in range(1, phases):
        for i in range(bins):
            of_bin[i] = max(of_bin[i], best[phase, i])


@in_place
def largest(numbers: Any) -> Any:
    """The largest of some numbers; a very low one of none."""
    top = in_order(_VERY_LOW)
    for i in range(numbers.size):
        top = max(top, in_order(numbers[i]))
    return out_of_order(top)


@in_place
def second_best(best: Any, place: int, top: Any) -> Any:
    """The largest of all phases and bins but the best one, which is in the bin ``place``."""
    for phase in range(best.shape[0]):
        if best[phase, place] == top:
            best[phase, place] = _VERY_LOW
            second = _VERY_LOW
            for row in range(best.shape[0]):
                second = max(second, largest(best[row]))
            best[phase, place] = top
            return second
    return top


@rough
def _weigh(
    weight: Any, fire: Any, missed: Any, signals: Any, at: Any, stride: Any, begin: Any, length: Any, power: Any,
    level: Any,
) -> Any:  # fmt: skip
    """Weights of some bins: 2 to the power of ``power`` times the likelihood, less ``level``; and their sum."""
    total = np.float32(0.0)
    for number in range(signals.size):
        signal = signals[number]
        for phase in range(missed.shape[0]):
            for i in range(length):
                here = exp2_single(max((fire[at + i] - signal * missed[phase, begin + i]) * power - level, _FAINT))
                weight[at + i] = here
                total += here
            at += stride
    return total


@rough
def _clear(weight: Any, at: Any, length: Any, stride: Any, rows: int) -> None:
    """Zeros in all rows."""
    for _ in range(rows):
        for i in range(length):
            weight[at + i] = np.float32(0.0)
        at += stride


@rough
def _spread(
    more: Any, gained: Any, first: Any, length: Any, weight: Any, stride: Any, skip: Any, chances: Any, gains: Any
) -> None:
    """Add what weights bring to the bins within reach, four columns of the tables at a time."""
    rows, columns = chances.shape
    row = first
    for number in range(rows):
        at = row + np.uint64(skip[number])
        for column in range(0, columns, FOUR):
            one, two = chances[number, column], chances[number, column + 1]
            three, four = chances[number, column + 2], chances[number, column + 3]
            five, six = gains[number, column], gains[number, column + 1]
            seven, eight = gains[number, column + 2], gains[number, column + 3]
            second, third, fourth = at + np.uint64(1), at + np.uint64(2), at + np.uint64(3)
            for i in range(length):
                a, b, c, d = weight[at + i], weight[second + i], weight[third + i], weight[fourth + i]
                more[first + i] += one * a + two * b + three * c + four * d
                gained[first + i] += five * a + six * b + seven * c + eight * d
            at += np.uint64(FOUR)
        row += stride


@rough
def _judge(
    worth: Any, chance: Any, more: Any, gained: Any, at: int, end: int, total: float, background: float
) -> None:  # fmt: skip
    """From sums to worth and chance."""
    per_total = np.float32(1.0 / total)
    background = min(background, _MOST_BACKGROUND)
    alone, never = np.float32(firing(background)), np.float32(exp(-background))
    per_alone, per_never = np.float32(1.0 / firing(background)), np.float32(exp(background))
    one, nothing = np.float32(1.0), np.float32(0.0)
    for i in range(np.uint64(at), np.uint64(end)):
        shift = more[i] * per_total
        fires, not_fires = min(alone + shift, one), max(never - shift, nothing)  # but for rounding
        apart = fires * log_of_more(shift * per_alone) + not_fires * log_of_more(max(-shift * per_never, _ALWAYS))
        chance[i] = fires
        worth[i] = max(gained[i] * per_total - apart, _LEAST_WORTH)


@in_place
def _add_run(model: Any, memory: Any, level: int, wide: int, begin: int, end: int, power: Any, top: Any) -> float:
    """Add what a run of bins brings to all bins within reach; the sum of its weights."""
    margin, stride, rows = model.margin, np.uint64(wide), model.fire.shape[1]
    weight, at, length = memory.weight, np.uint64(margin + begin), np.uint64(end - begin)
    total = _weigh(
        weight, memory.fire, memory.missed, model.rough_signals, at, stride, np.uint64(begin), length, power,
        top * power,
    )  # fmt: skip
    before, behind = min(2 * margin, begin + margin), min(2 * margin + FOUR, wide - margin - end)
    _clear(weight, at - np.uint64(before), np.uint64(before), stride, rows)
    _clear(weight, at + length, np.uint64(behind), stride, rows)
    first, last = np.uint64(max(begin - margin, 0)), np.uint64(min(end + margin, model.room))
    _spread(
        memory.more, memory.gained, first, last - first, weight, stride, model.skip, model.chance[level],
        model.gain[level],
    )  # fmt: skip
    return total


@in_place
def look_out(model: Any, level: int, memory: Any, stride: int, place: int, top: Any) -> None:
    """Worth and chance of every bin; ``place`` is the likeliest bin and ``top`` the largest likelihood."""
    bins, blocks = model.bins, model.room // BLOCK
    step = max(top - second_best(memory.best, place, top), _LEAST_STEP)
    power = min(_TEMPER, _STEP / step)
    least = top + np.float32(_NEGLIGIBLE) / power
    power *= _LOG2E
    reach = (model.margin + BLOCK - 1) // BLOCK
    has_weight, reached = memory.has_weight, memory.reached
    for block in range(blocks):
        has_weight[block] = largest(memory.of_bin[block * BLOCK : (block + 1) * BLOCK]) > least
    memory.more[:] = np.float32(0.0)
    memory.gained[:] = np.float32(0.0)
    reached[:] = False
    total = 0.0
    block = 0
    while block < blocks:
        start = block
        while block < blocks and has_weight[block]:
            block += 1
        if block > start:
            begin, end = start * BLOCK, block * BLOCK
            total += _add_run(model, memory, level, stride, begin, end, power, top)
            reached[max(start - reach, 0) : block + reach] = True
        block += 1
    worth, chance = memory.worth, memory.chance
    block = 0
    while block < blocks:
        start = block
        while block < blocks and reached[block] == reached[start]:
            block += 1
        begin, end = start * BLOCK, min(block * BLOCK, bins)
        if reached[start]:
            _judge(worth, chance, memory.more, memory.gained, begin, end, total, model.backgrounds[level])
        else:
            worth[begin:end] = LEAST_WORTH
            chance[begin:end] = model.alone[level]
