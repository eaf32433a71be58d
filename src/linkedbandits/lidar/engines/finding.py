"""From what was acquired of pixels to what is kept of them: depth, light, and how sure that is."""

from __future__ import annotations

import numpy as np

from linkedbandits.lidar.acquiring import Acquired
from linkedbandits.lidar.acquisitions import Acquisition, Task
from linkedbandits.lidar.certificate import Certificate
from linkedbandits.lidar.engines.engine import Found
from linkedbandits.lidar.estimators import find_estimator, model_of
from linkedbandits.lidar.expected import Expected
from linkedbandits.lidar.returns import LEAST_EVIDENCE, few_at_a_time, shares
from linkedbandits.model import IntArray

_AT_ONCE = 64
"""Pixels that an estimator gets at a time: their arrays stay in a core's cache."""


def find(made: Acquisition, task: Task, estimator: str, acquired: Acquired) -> Found:
    """What the counts of every pixel say."""
    pixels, bins = acquired.samples.shape
    model = model_of(task.sensor, task.signal, task.strongest, task.told)
    depth, level = np.empty(pixels), acquired.level
    signal, background, sure, seen = np.zeros((4, pixels))
    alike = Expected.alike(pixels, bins, task.signal, model.expected_background)
    certificate = Certificate(task.sensor.pulse, task.tolerance, told=task.told)
    for some in few_at_a_time(pixels, model.cells_per_bin * bins):
        samples, successes = acquired.samples[some], acquired.successes[some]
        log_prior = None if made.gates is None else acquired.log_prior[some]
        if log_prior is None:
            depth[some], level[some] = model.fitted(samples, successes, alike.background[some])
        else:
            depth[some] = model.estimate(samples, successes, level[some], log_prior)
            likelihood = model.log_likelihood(samples, successes, level[some], rough=True)
            none = model.none_better(samples, successes, level[some], depth[some])
            sure[some], _ = shares(likelihood + log_prior[:, np.newaxis, np.newaxis], none, task.tolerance)
        seen[some] = model.evidence(samples, successes, level[some], depth[some], log_prior) > LEAST_EVIDENCE
        signal[some], background[some] = certificate.fit_at(samples, successes, depth[some], alike.take(some))
    depth = np.where(((seen > 0) | task.present) & acquired.successes.any(axis=1), depth, np.nan)
    confident = acquired.proved & np.isfinite(depth) & (made.sure_of == "map")
    found = Found(
        depth=depth,
        cycles=acquired.cycles,
        seconds=acquired.seconds,
        confident=confident.astype(np.float64),
        proved=acquired.proved.astype(np.float64),
        bin=acquired.bin.astype(np.float64),
        signal=np.where(seen > 0, signal, 0.0),
        background=background,
        sure=sure * (seen > 0),
    )
    return (
        found if estimator == "map" else by_another(estimator, made, task, acquired.samples, acquired.successes, found)
    )


def by_another(
    estimator: str, made: Acquisition, task: Task, samples: IntArray, successes: IntArray, found: Found
) -> Found:
    """What ``map`` found, with the depths of another estimator; it has no model that could speak against a return."""
    estimate = find_estimator(estimator, task.sensor, task.signal, task.strongest, task.told)
    answer = found.bin.astype(np.int64)
    parts = [slice(first, first + _AT_ONCE) for first in range(0, len(samples), _AT_ONCE)]
    depth = np.concatenate([np.zeros(0), *(estimate(samples[some], successes[some], answer[some]) for some in parts)])
    confident = (found.proved > 0) & np.isfinite(depth) & (estimator == made.sure_of)
    return found._replace(depth=depth, confident=confident.astype(np.float64))
