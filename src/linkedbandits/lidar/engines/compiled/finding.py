"""From counts to what is kept of a pixel: :func:`linkedbandits.lidar.engines.finding.find`, with the estimator map."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from linkedbandits.lidar.engines.compiled.certifying import count_up, fit_at, interval
from linkedbandits.lidar.engines.compiled.choosing import weigh_depths
from linkedbandits.lidar.engines.compiled.compiling import entry
from linkedbandits.lidar.engines.compiled.doubting import gain_of_two
from linkedbandits.lidar.engines.compiled.estimating import estimate, evidence, fitted
from linkedbandits.lidar.engines.compiled.likelihood import in_double_precision, stride_of
from linkedbandits.lidar.engines.compiled.memory import FRESH, LEVEL, make_memory
from linkedbandits.lidar.engines.compiled.weighing import none_better, shares


@entry
def find_depths(
    model: Any, cells: Any, rules: Any, samples: Any, successes: Any, log_prior: Any, level: Any, signal: float,
    background: float, found: Any,
) -> None:  # fmt: skip
    """Rows of ``found``: depth, evidence of a return, how sure the depth is, signal and background.

    With no columns, ``log_prior`` says that the level is still to be found, and that no depth was likelier than others.
    ``signal`` and ``background`` are what was expected of all pixels.
    """
    memory = make_memory(model)
    bins, modelled = model.bins, log_prior.shape[1] > 0
    nothing = np.zeros(bins)
    for pixel in range(len(samples)):
        tried, fired = samples[pixel], successes[pixel]
        if modelled:
            in_double_precision(model, memory, tried, fired, level[pixel], log_prior[pixel], 0, bins)
            depth = estimate(model, memory, 0, bins)
            memory.log_prior[: model.bins] = log_prior[pixel]
            memory.state[LEVEL] = level[pixel]
            memory.state[FRESH] = 1
            top = weigh_depths(model, memory, tried, fired)
            none = none_better(model, tried, fired, level[pixel], depth)
            found[2, pixel], _ = shares(model, memory, stride_of(model), top, none, rules.wide)
            found[1, pixel] = evidence(model, memory, tried, fired, level[pixel], depth)
        else:
            depth, level[pixel] = fitted(model, memory, tried, fired, background, nothing)
            in_double_precision(model, memory, tried, fired, level[pixel], nothing, 0, bins)
            found[1, pixel] = evidence(model, memory, tried, fired, level[pixel], depth) - log(bins)
            found[2, pixel] = 0.0
        found[0, pixel] = depth
        counted = count_up(cells, tried, fired, rules.told, signal, background)
        found[3, pixel], found[4, pixel] = fit_at(cells, counted, bins, depth)


@entry
def locate_pixels(
    model: Any, cells: Any, rules: Any, samples: Any, detections: Any, log_prior: Any, signal: Any, background: Any,
    found: Any,
) -> None:  # fmt: skip
    """Rows of ``found``: depth, evidence, interval from and to, signal, background, probability, gain of two."""
    memory = make_memory(model)
    bins = model.bins
    for pixel in range(len(samples)):
        tried, fired, prior = samples[pixel], detections[pixel], log_prior[pixel]
        depth, level = fitted(model, memory, tried, fired, background[pixel], prior)
        in_double_precision(model, memory, tried, fired, level, prior, 0, bins)
        found[1, pixel] = evidence(model, memory, tried, fired, level, depth)
        counted = count_up(cells, tried, fired, rules.told, signal[pixel], background[pixel])
        found[0, pixel] = depth
        found[2, pixel], found[3, pixel] = interval(
            cells, counted, prior, depth, rules.needed, rules.tolerance, rules.strongest, False
        )
        strength, light = fit_at(cells, counted, bins, depth)
        found[4, pixel], found[5, pixel] = strength, light
        memory.log_prior[: model.bins] = prior
        memory.state[LEVEL] = level
        memory.state[FRESH] = 1
        top = weigh_depths(model, memory, tried, fired)
        none = none_better(model, tried, fired, level, depth)
        found[6, pixel], _ = shares(model, memory, stride_of(model), top, none, rules.wide)
        found[7, pixel] = gain_of_two(cells.pulse, tried, fired, depth, rules.tolerance, strength, light)
