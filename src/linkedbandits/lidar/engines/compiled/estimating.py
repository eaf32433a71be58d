"""The depth that fits best, for one pixel: ``ReturnModel.estimate``, ``evidence`` and ``fitted``."""

from __future__ import annotations

from math import exp, inf, log
from typing import Any

import numpy as np

from linkedbandits.lidar.engines.compiled.arithmetic import exp as fast_exp
from linkedbandits.lidar.engines.compiled.compiling import machine_code, rough, summing
from linkedbandits.lidar.engines.compiled.likelihood import in_double_precision, stride_of
from linkedbandits.lidar.engines.compiled.weighing import background_elsewhere, level_of, none_better
from linkedbandits.lidar.returns import ROUNDS


@rough
def _raise_to(best: Any, likelihood: Any, at: Any) -> None:
    for i in range(np.uint64(best.size)):
        best[i] = max(best[i], likelihood[at + i])


@machine_code
def _likeliest(model: Any, memory: Any, first: int, last: int) -> int:
    """The likeliest depth of the grid from one bin to before another, by its number: bin times phases, plus phase."""
    best, stride = memory.fine_best, stride_of(model)
    phases = best.shape[0]
    best[:, first:last] = -1e300
    for row in range(model.fire.shape[1]):
        _raise_to(best[row % phases, first:last], memory.fine, np.uint64(row * stride + model.margin + first))
    found, top = 0, -inf
    for i in range(first, last):
        for phase in range(phases):
            if best[phase, i] > top:
                found, top = i * phases + phase, best[phase, i]
    return found


@machine_code
def reach_of_estimates(model: Any) -> int:
    """How many bins from the likeliest depth those are that an estimate goes by."""
    return model.between.shape[0] // 2 // model.share.shape[0] + 1


@machine_code
def estimate(model: Any, memory: Any, first: int, last: int) -> float:
    """The mean over depths near the likeliest of the grid, and between them; ``memory.fine`` has the likelihood.

    The likeliest is looked for from the bin ``first`` to before ``last``.
    """
    bins, stride = model.bins, stride_of(model)
    phases, signals = model.share.shape[0], model.signals.size
    likeliest = _likeliest(model, memory, first, last)
    places, fine = model.between.shape
    reach = places // 2
    near = np.empty(places)
    for k in range(places):
        number = min(max(likeliest + k - reach, 0), bins * phases - 1)
        place, phase = number // phases, number % phases
        top, total = -inf, 0.0
        for signal in range(signals):
            top = max(top, memory.fine[(signal * phases + phase) * stride + model.margin + place])
        for signal in range(signals):
            total += exp(memory.fine[(signal * phases + phase) * stride + model.margin + place] - top)
        near[k] = top + log(total)
    curve = np.zeros(fine)
    for k in range(places):
        for i in range(fine):
            curve[i] += near[k] * model.between[k, i]
    top = curve.max()
    total, mean = 0.0, 0.0
    for i in range(fine):
        depth = (likeliest - reach + i * (2.0 * reach / (fine - 1)) + 0.5) / phases
        if 0 <= depth <= bins:
            weight = exp(curve[i] - top)
            total += weight
            mean += weight * depth
    return mean / total


@summing
def _sum_of_exponentials(numbers: Any, top: float) -> float:
    total = 0.0
    for i in range(numbers.size):
        total += fast_exp(numbers[i] - top)
    return total


@machine_code
def evidence(model: Any, memory: Any, samples: Any, successes: Any, level: int, depth: float) -> float:
    """How much likelier the counts are with a return, about at ``depth``, than without: the ratio's logarithm.

    ``memory.fine`` has the likelihood with this level, plus the logarithms of weights of bins.
    """
    stride, rows, phases = stride_of(model), model.fire.shape[1], model.share.shape[0]
    likeliest = _likeliest(model, memory, 0, model.bins)
    top = memory.fine_best[likeliest % phases, likeliest // phases]
    total = 0.0
    for row in range(rows):
        begin = row * stride + model.margin
        total += _sum_of_exponentials(memory.fine[begin : begin + model.bins], top)
    return top + log(total) - log(rows) - none_better(model, samples, successes, level, depth)


@machine_code
def fitted(model: Any, memory: Any, samples: Any, successes: Any, expected: float, log_prior: Any) -> tuple[float, int]:
    """The depth that fits best, and the level of the background that goes with it."""
    level = level_of(model, background_elsewhere(model, samples, successes, -1e6, expected))
    depth = 0.0
    for _ in range(1 if model.told else ROUNDS):
        in_double_precision(model, memory, samples, successes, level, log_prior, 0, model.bins)
        depth = estimate(model, memory, 0, model.bins)
        found = level_of(model, background_elsewhere(model, samples, successes, depth, expected))
        if found == level:
            break
        level = found
    return depth, level
