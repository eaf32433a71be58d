"""Depth from counts that are there already: the likeliest, what it may be, and where that is certain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log

import numpy as np

from linkedbandits.checks import check_delta, check_positive
from linkedbandits.lidar.certificate import Certificate, Expected
from linkedbandits.lidar.estimators import model_of
from linkedbandits.lidar.returns import few_at_a_time
from linkedbandits.lidar.sensor import Sensor
from linkedbandits.model import BoolArray, FloatArray, IntArray

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Located:
    """What counts say of some pixels: a row each, depths in bins.

    ``depth`` is nan where nothing speaks for a return. No depth outside of ``low`` to ``high`` is possible, but for a
    probability of delta: they are 0 and the number of bins where nothing is certain. ``signal`` (photons a cycle) and
    ``background`` (photons a bin and cycle) fit best with the depth. ``confident`` says where all that is possible is
    within the tolerance of the depth.
    """

    depth: FloatArray
    low: FloatArray
    high: FloatArray
    signal: FloatArray
    background: FloatArray
    confident: BoolArray


def locate(
    samples: IntArray,
    detections: IntArray,
    sensor: Sensor,
    *,
    signal: float = 0.5,
    strongest: float | None = None,
    delta: float = 0.05,
    tolerance: float = 1.0,
    progress: Progress | None = None,
) -> Located:
    """The depth of every pixel whose bins were sampled and fired so often, (pixels, bins) each.

    ``sensor`` has the pulse and about what background to expect; ``signal`` is about what comes back. Neither has to
    be right: they are where the search begins, and the guarantee does not rest on them. It rests on the pulse, on one
    return at most, and on bins that fire independently of each other.
    """
    check_delta(delta)
    check_positive("tolerance", tolerance)
    pixels, bins = samples.shape
    model = model_of(sensor, signal, strongest)
    certificate = Certificate(sensor.pulse, tolerance, inf if strongest is None else strongest)
    found = np.full((5, pixels), np.nan)
    for some in few_at_a_time(pixels, model.cells_per_bin * bins):
        tried, fired = samples[some], detections[some]
        lanes = len(tried)
        expected = Expected.alike(lanes, bins, signal, model.expected_background)
        depth, level = model.fitted(tried, fired, expected.background)
        seen = model.evidence(tried, fired, level) > 0
        low, high = certificate.interval(tried, fired, depth, log(1 / delta), expected)
        strength, background = certificate.fit_at(tried, fired, depth, expected)
        found[:, some] = np.where(seen, depth, np.nan), low, high, np.where(seen, strength, 0.0), background
        if progress is not None:
            progress(lanes)
    depth, low, high, strength, background = found
    confident = (low >= depth - tolerance) & (high <= depth + tolerance)
    return Located(depth, low, high, strength, background, confident)
