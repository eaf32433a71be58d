"""Depth from counts that are there already, in machine code: what :func:`linkedbandits.lidar.locating.locate` asks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from math import inf

import numba
import numpy as np

from linkedbandits.lidar.engines.compiled import tables
from linkedbandits.lidar.engines.compiled.engine import blocks, tables_for
from linkedbandits.lidar.engines.compiled.finding import locate_pixels
from linkedbandits.lidar.engines.compiled.first_use import have_made
from linkedbandits.lidar.expected import Expected
from linkedbandits.lidar.returns import ReturnModel
from linkedbandits.lidar.sensor import Sensor
from linkedbandits.model import FloatArray, IntArray


def locate_block(
    samples: IntArray,
    detections: IntArray,
    sensor: Sensor,
    model: ReturnModel,
    expected: Expected,
    *,
    delta: float,
    tolerance: float,
    strongest: float | None,
) -> FloatArray:
    """Rows: depth, evidence, interval from and to, signal, background, probability, gain of two returns."""
    told = tables_for(sensor, model)
    rules = tables.rules(
        growth=0.0,
        tolerance=tolerance,
        told=False,
        model=model,
        bins=sensor.bins,
        delta=delta,
        strongest=inf if strongest is None else strongest,
    )
    tried, fired = (np.array(each, dtype=np.int64, order="C") for each in (samples, detections))
    log_prior, signal, background = (
        np.array(each, dtype=np.float64, order="C")
        for each in (expected.log_prior, expected.signal, expected.background)
    )
    found = np.zeros((len(tried), 8))

    def some(part: slice) -> None:
        rows = np.zeros((8, part.stop - part.start))
        locate_pixels(
            told.model,
            told.cells,
            rules,
            tried[part],
            fired[part],
            log_prior[part],
            signal[part],
            background[part],
            rows,
        )
        found[part] = rows.T

    # Machine code is made, or taken from disk, before threads need it.
    have_made({"depths from photons": (locate_pixels, lambda: some(slice(0, 0)))})
    with ThreadPoolExecutor(numba.get_num_threads()) as threads:
        list(threads.map(some, blocks(len(tried))))
    return found.T
