"""Backgrounds, levels and shares of the posterior, for one pixel: :mod:`linkedbandits.lidar.returns`."""

from __future__ import annotations

from math import exp, expm1, floor, log, log1p
from typing import Any

import numpy as np

from linkedbandits.lidar.engines.compiled.arithmetic import exp_single, firing, logarithm
from linkedbandits.lidar.engines.compiled.compiling import in_place, machine_code, rough
from linkedbandits.lidar.returns import LEVEL_RATIO, PHOTONS_BEFORE
from linkedbandits.lidar.sensor import LEAST_BACKGROUND

_LEVEL_STEP = log(LEVEL_RATIO)


@in_place
def level_of(model: Any, background: float) -> int:
    """The level nearest to a background."""
    if model.told:
        return 0
    step = logarithm(background / model.backgrounds[0]) / _LEVEL_STEP
    return min(max(np.int64(floor(step + 0.5)), 0), model.backgrounds.size - 1)


@in_place
def _elsewhere(model: Any, counts: Any, depth: float) -> tuple[int, int]:
    """The sum of the counts that a return at ``depth`` does not reach, and that of all."""
    total = 0
    for i in range(model.bins):
        total += counts[i]
    place = np.int64(floor(depth))
    near = 0
    for i in range(max(place - model.half, 0), min(place + model.half + 1, model.bins)):
        near += counts[i]
    return total - near, total


@in_place
def background_elsewhere(model: Any, samples: Any, successes: Any, depth: float, expected: float) -> float:
    """Photons a bin in the bins that a return at ``depth`` does not reach, with a few as ``expected`` added."""
    if model.told:
        return model.backgrounds[0]
    fired, _ = _elsewhere(model, successes, depth)
    tried, _ = _elsewhere(model, samples, depth)
    share = (fired + PHOTONS_BEFORE) / (tried + PHOTONS_BEFORE / firing(expected))
    return -logarithm(1.0 - min(share, 1 - 1e-9))


@machine_code
def _gained(fired: float, tried: float, background: float) -> float:
    """How much likelier counts of background alone are with the one that fits them best than with this one."""
    missed = tried - fired
    best = max(log1p(fired / max(missed, 0.5)), LEAST_BACKGROUND)
    return max(fired * log(expm1(-best) / expm1(-background)) - missed * (best - background), 0.0)


@machine_code
def none_better(model: Any, samples: Any, successes: Any, level: int, depth: float) -> float:
    """How much likelier "no return" is, against one at ``depth``, than both are with the level's background."""
    if model.told:
        return 0.0
    background = model.backgrounds[level]
    fired, all_fired = _elsewhere(model, successes, depth)
    tried, all_tried = _elsewhere(model, samples, depth)
    without = _gained(np.float64(all_fired), np.float64(all_tried), background)
    return without - _gained(np.float64(fired), np.float64(tried), background)


@rough
def _add_weights(mass: Any, fire: Any, at: Any, missed: Any, signal: Any, top: Any) -> None:
    for i in range(np.uint64(mass.size)):
        mass[i] += exp_single(fire[at + i] - signal * missed[i] - top)


@machine_code
def shares(model: Any, memory: Any, stride: int, top: Any, none: float, wide: int) -> tuple[float, float]:
    """How probable are the best ``wide`` neighbouring depths of the grid together, and how probable no return at all?

    ``top`` is the largest log-likelihood of those in ``memory``, and ``none`` that of no return.
    """
    mass, upto, signals = memory.mass, memory.upto, model.rough_signals
    phases, bins = mass.shape
    mass[:] = np.float32(0.0)
    for phase in range(phases):
        for signal in range(signals.size):
            at = np.uint64((signal * phases + phase) * stride + model.margin)
            _add_weights(mass[phase], memory.fire, at, memory.missed[phase], signals[signal], top)
    total = 0.0
    upto[0] = 0.0
    for i in range(bins):
        for phase in range(phases):
            total += mass[phase, i]
            upto[i * phases + phase + 1] = total
    most = 0.0
    for i in range(bins * phases + 1 - wide):
        most = max(most, upto[i + wide] - upto[i])
    of_none = signals.size * phases * exp(min(none - top, 50.0))
    return most / (total + of_none), of_none / (total + of_none)
