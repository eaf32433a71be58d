"""Where the return is, from counts alone: a stand-in with a known background, until the real one takes its place.

It gives the depth of the estimator ``map``, an interval of a bin to each side that is proved by nothing, and so is sure
of nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from linkedbandits.lidar.estimators import corrected_rates, maximum_a_posteriori, model_of
from linkedbandits.lidar.returns import few_at_a_time
from linkedbandits.lidar.sensor import Sensor
from linkedbandits.model import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Located:
    """One row a pixel: depths and their limits in bins, photons a cycle, photons a bin and cycle."""

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
    delta: float = 0.05,
    tolerance: float = 1.0,
    progress: Callable[[int], None] | None = None,
) -> Located:
    """The likeliest depth of each pixel; see the module's text for what this stand-in does not do."""
    model = model_of(sensor, signal)
    depth = maximum_a_posteriori(samples, detections, model=model)
    for some in few_at_a_time(depth.size, model.fire.shape[0] * samples.shape[1]):
        present = model.evidence(samples[some], detections[some]) > 0
        depth[some] = np.where(present, depth[some], np.nan)
        if progress is not None:
            progress(present.size)
    rates = corrected_rates(samples, detections)
    background = np.median(rates, axis=1)
    near = np.abs(np.arange(samples.shape[1]) + 0.5 - depth[:, np.newaxis]) <= np.ceil(sensor.fwhm)
    return Located(
        depth=depth,
        low=depth - tolerance,
        high=depth + tolerance,
        signal=np.maximum((near * (rates - background[:, np.newaxis])).sum(axis=1), 0.0),
        background=background,
        confident=np.zeros(depth.size, dtype=np.bool_),
    )
