"""What a sample of each bin is worth, and its chance to fire: :func:`linkedbandits.lidar.gating.outlook`, for one pixel.

Bins in blocks of sixteen that have next to no weight are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkedbandits.lidar.engines.compiled.arithmetic import exp_single, logarithm
from linkedbandits.lidar.engines.compiled.compiling import machine_code, rough, summing
from linkedbandits.lidar.engines.compiled.tables import BLOCK
from linkedbandits.lidar.gating import STEP, TEMPER

LEAST_WORTH = 1e-12
_NEGLIGIBLE = -20.0
"""The logarithm of a weight that is left out, where the largest weight is 1."""
_STEP, _TEMPER = np.float32(STEP), np.float32(TEMPER)
_LEAST_STEP = np.float32(1e-6)
_VERY_LOW = np.float32(-3e38)


@rough
def _raise_to(best: Any, likelihood: Any, at: Any) -> None:
    for i in range(np.uint64(best.size)):
        best[i] = max(best[i], likelihood[at + i])


@rough
def find_best(likelihood: Any, stride: int, half: int, signals: int, best: Any, of_bin: Any) -> None:
    """The largest of every phase and bin, over signals, and of every bin."""
    phases = best.shape[0]
    best[:] = _VERY_LOW
    of_bin[:] = _VERY_LOW
    for phase in range(phases):
        row = best[phase]
        for signal in range(signals):
            _raise_to(row, likelihood, np.uint64((signal * phases + phase) * stride + half))
        _raise_to(of_bin, row, np.uint64(0))


@rough
def largest(numbers: Any) -> Any:
    """The largest of some numbers."""
    top = _VERY_LOW
    for i in range(numbers.size):
        top = max(top, numbers[i])
    return top


@machine_code
def second_best(best: Any, of_bin: Any, place: int, top: Any) -> Any:
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
def _weigh(likelihood: Any, at: Any, length: Any, top: Any, power: Any) -> Any:
    """Likelihoods to weights, in place; and their sum."""
    total = np.float32(0.0)
    for i in range(length):
        weight = exp_single((likelihood[at + i] - top) * power)
        likelihood[at + i] = weight
        total += weight
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
def _judge(worth: Any, chance: Any, more: Any, known: Any, at: int, end: int, total: float, alone: float, entropy: float) -> None:
    """From sums to worth and chance, in double precision: small differences of entropies."""
    for i in range(np.uint64(at), np.uint64(end)):
        p = alone + more[i] / total
        never = max(1.0 - p, 1e-300)
        gain = -p * logarithm(p) - never * logarithm(never) - entropy - known[i] / total
        chance[i] = p
        worth[i] = max(gain, LEAST_WORTH)


@machine_code
def look_out(
    model: Any, level: int, likelihood: Any, stride: int, best: Any, of_bin: Any, place: int, top: Any, more: Any,
    known: Any, has_weight: Any, worth: Any, chance: Any,
) -> None:  # fmt: skip
    """Worth and chance of every bin; the likelihood is turned into weights in place.

    ``place`` is the likeliest bin and ``top`` the largest likelihood.
    """
    bins, half = model.bins, model.half
    rows = model.chance.shape[1]
    step = max(top - second_best(best, of_bin, place, top), _LEAST_STEP)
    power = min(_TEMPER, _STEP / step)
    least = top + np.float32(_NEGLIGIBLE) / power
    blocks = (bins + BLOCK - 1) // BLOCK
    for block in range(blocks):
        has_weight[block] = largest(of_bin[block * BLOCK : min((block + 1) * BLOCK, bins)]) > least
    total = 0.0
    for row in range(rows):
        block = 0
        while block < blocks:
            start = block
            while block < blocks and has_weight[block] == has_weight[start]:
                block += 1
            at = row * stride + half + start * BLOCK
            length = min(block * BLOCK, bins) - start * BLOCK
            if has_weight[start]:
                total += _weigh(likelihood, np.uint64(at), np.uint64(length), top, power)
            else:
                _clear(likelihood, np.uint64(at), np.uint64(length))
    alone, alone_entropy = model.alone[level], model.alone_entropy[level]
    reach = (half + BLOCK - 1) // BLOCK
    chances, entropies = model.chance[level], model.entropy[level]
    done = 0
    block = 0
    while block < blocks:
        if not has_weight[block]:
            block += 1
            continue
        first = max(block - reach, 0)
        while block < blocks:  # to the end of a run whose bins reach no further block with weight
            gap = block
            while gap < blocks and not has_weight[gap]:
                gap += 1
            if gap == blocks or gap - reach > block + reach:
                break
            block = gap + 1
        begin, end = max(first * BLOCK, done), min((block + reach) * BLOCK, bins)
        worth[done:begin] = LEAST_WORTH
        chance[done:begin] = alone
        at, length = np.uint64(begin), np.uint64(end - begin)
        _clear(more, at, length)
        _clear(known, at, length)
        for row in range(rows):
            for column in range(0, chances.shape[1], 4):
                _add_both(
                    more, known, at, length, likelihood, np.uint64(row * stride + begin + column),
                    chances[row, column], chances[row, column + 1], chances[row, column + 2], chances[row, column + 3],
                    entropies[row, column], entropies[row, column + 1], entropies[row, column + 2],
                    entropies[row, column + 3],
                )  # fmt: skip
        _judge(worth, chance, more, known, begin, end, total, alone, alone_entropy)
        done = end
    worth[done:] = LEAST_WORTH
    chance[done:] = alone
