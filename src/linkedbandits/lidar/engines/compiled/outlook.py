"""What a sample of each bin is worth, and its chance to fire: :mod:`linkedbandits.lidar.gating`, for one pixel.

Blocks of bins that have next to no weight are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkedbandits.lidar.engines.compiled.arithmetic import exp_single, short_logarithm
from linkedbandits.lidar.engines.compiled.compiling import machine_code, rough, summing
from linkedbandits.lidar.engines.compiled.tables import BLOCK, FOUR
from linkedbandits.lidar.gating import STEP, TEMPER

LEAST_WORTH = 1e-12
_NEGLIGIBLE = -16.0
"""The logarithm of a weight that is left out, where the largest weight is 1."""
_STEP, _TEMPER = np.float32(STEP), np.float32(TEMPER)
_LEAST_STEP = np.float32(1e-6)
_FAINT = np.float32(-60.0)
"""With less, products would be too small for numbers of full precision, which take processors very long."""
_VERY_LOW = np.float32(-3e38)


@rough
def _raise_to(best: Any, others: Any) -> None:
    for i in range(best.size):
        best[i] = max(best[i], others[i])


@rough
def _raise_to_row(best: Any, fire: Any, at: Any, missed: Any, signal: Any) -> None:
    for i in range(np.uint64(best.size)):
        best[i] = max(best[i], fire[at + i] - signal * missed[i])


@rough
def find_best(model: Any, fire: Any, stride: int, missed: Any, best: Any, of_bin: Any) -> None:
    """The largest log-likelihood of every phase and bin, over signals, and of every bin."""
    phases = best.shape[0]
    best[:] = _VERY_LOW
    of_bin[:] = _VERY_LOW
    for phase in range(phases):
        for number in range(model.rough_signals.size):
            at = np.uint64((number * phases + phase) * stride + model.half)
            _raise_to_row(best[phase], fire, at, missed[phase], model.rough_signals[number])
        _raise_to(of_bin, best[phase])


@rough
def largest(numbers: Any) -> Any:
    """The largest of some numbers."""
    top = _VERY_LOW
    for i in range(numbers.size):
        top = max(top, numbers[i])
    return top


@machine_code
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
    weight: Any, fire: Any, at: Any, missed: Any, first: Any, length: Any, signal: Any, top: Any, power: Any
) -> Any:
    """Weights from likelihoods; and their sum."""
    total = np.float32(0.0)
    for i in range(length):
        here = exp_single(max((fire[at + i] - signal * missed[first + i] - top) * power, _FAINT))
        weight[at + i] = here
        total += here
    return total


@rough
def _clear(numbers: Any, at: Any, length: Any) -> None:
    for i in range(length):
        numbers[at + i] = np.float32(0.0)


@rough
def _add_both(
    chance: Any, entropy: Any, at: Any, length: Any, weight: Any, first: Any, one: Any, two: Any, three: Any, four: Any,
    five: Any, six: Any, seven: Any, eight: Any,
) -> None:  # fmt: skip
    second, third, fourth = first + np.uint64(1), first + np.uint64(2), first + np.uint64(3)
    for i in range(length):
        a, b, c, d = weight[first + i], weight[second + i], weight[third + i], weight[fourth + i]
        chance[at + i] += one * a + two * b + three * c + four * d
        entropy[at + i] += five * a + six * b + seven * c + eight * d


@summing
def _judge(
    worth: Any, chance: Any, more: Any, known: Any, at: int, end: int, total: float, alone: float, entropy: float
) -> None:
    """From sums to worth and chance, in double precision: small differences of entropies."""
    per_total = 1.0 / total
    for i in range(np.uint64(at), np.uint64(end)):
        p = alone + more[i] * per_total
        never = max(1.0 - p, 1e-300)
        gain = -p * short_logarithm(p) - never * short_logarithm(never) - entropy - known[i] * per_total
        chance[i] = p
        worth[i] = max(gain, LEAST_WORTH)


@machine_code
def _add_run(model: Any, level: int, memory: Any, stride: int, start: int, stop: int, top: Any, power: Any) -> float:
    """Turn a run of blocks into weights, row by row, and add what they bring to all bins they reach; their sum.

    In the run are blocks without weight; and what lies within reach of its bins is cleared.
    """
    bins, half, phases = model.bins, model.half, model.share.shape[0]
    weight, has_weight = memory.weight, memory.has_weight
    begin, end = start * BLOCK, min(stop * BLOCK, bins)
    first, last = max(begin - half, 0), min(end + half, bins)
    before, behind = min(2 * half, begin + half), min(2 * half + FOUR, stride - half - end)
    chances, entropies = model.chance[level], model.entropy[level]
    total = 0.0
    for row in range(chances.shape[0]):
        phase, signal = row % phases, model.rough_signals[row // phases]
        origin = row * stride + half
        _clear(weight, np.uint64(origin + begin - before), np.uint64(before))
        _clear(weight, np.uint64(origin + end), np.uint64(behind))
        block = start
        while block < stop:
            since = block
            while block < stop and has_weight[block] == has_weight[since]:
                block += 1
            at = np.uint64(origin + since * BLOCK)
            length = np.uint64(min(block * BLOCK, bins) - since * BLOCK)
            if has_weight[since]:
                total += _weigh(
                    weight, memory.fire, at, memory.missed[phase], np.uint64(since * BLOCK), length, signal, top, power
                )
            else:
                _clear(weight, at, length)
        for column in range(0, chances.shape[1], FOUR):
            _add_both(
                memory.more, memory.known, np.uint64(first), np.uint64(last - first), weight,
                np.uint64(row * stride + first + model.skip[row] + column),
                chances[row, column], chances[row, column + 1], chances[row, column + 2], chances[row, column + 3],
                entropies[row, column], entropies[row, column + 1], entropies[row, column + 2],
                entropies[row, column + 3],
            )  # fmt: skip
    return total


@machine_code
def look_out(model: Any, level: int, memory: Any, stride: int, place: int, top: Any) -> None:
    """Worth and chance of every bin.

    ``place`` is the likeliest bin and ``top`` the largest likelihood. Runs of blocks are taken that have some weight;
    two runs are one where there are bins that both of them reach.
    """
    bins, half = model.bins, model.half
    step = max(top - second_best(memory.best, place, top), _LEAST_STEP)
    power = min(_TEMPER, _STEP / step)
    least = top + np.float32(_NEGLIGIBLE) / power
    blocks = (bins + BLOCK - 1) // BLOCK
    reach = (half + BLOCK - 1) // BLOCK
    has_weight, reached = memory.has_weight, memory.reached
    for block in range(blocks):
        has_weight[block] = largest(memory.of_bin[block * BLOCK : min((block + 1) * BLOCK, bins)]) > least
    memory.more[:] = np.float32(0.0)
    memory.known[:] = np.float32(0.0)
    reached[:] = False
    total = 0.0
    block = 0
    while block < blocks:
        if not has_weight[block]:
            block += 1
            continue
        start, stop = block, block + 1
        while block < min(stop + 2 * reach + 1, blocks):
            if has_weight[block]:
                stop = block + 1
            block += 1
        total += _add_run(model, level, memory, stride, start, stop, top, power)
        reached[max(start - reach, 0) : stop + reach] = True
    alone, entropy = model.alone[level], model.alone_entropy[level]
    worth, chance = memory.worth, memory.chance
    block = 0
    while block < blocks:
        start = block
        while block < blocks and reached[block] == reached[start]:
            block += 1
        begin, end = start * BLOCK, min(block * BLOCK, bins)
        if reached[start]:
            _judge(worth, chance, memory.more, memory.known, begin, end, total, alone, entropy)
        else:
            worth[begin:end] = LEAST_WORTH
            chance[begin:end] = alone
