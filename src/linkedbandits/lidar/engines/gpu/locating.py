"""Counts that are there already, located on a device: the kernel ``locate``, tile by tile."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np

from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar.borrowing import Around
from linkedbandits.lidar.engines.gpu.device import Shape, devices, import_cupy, on_card, on_host, program
from linkedbandits.lidar.engines.gpu.priors import spread_prior
from linkedbandits.lidar.engines.gpu.tables import make_tables
from linkedbandits.lidar.expected import Expected
from linkedbandits.lidar.pulse import PulseShape
from linkedbandits.lidar.returns import ReturnModel
from linkedbandits.model import FloatArray, IntArray

NUMBERS = 7
"""What is found of a pixel: depth, low, high, signal, background, how probable, the gain of two returns."""
MOST_COUNTS = 2**31 - 1
"""A card counts in 32 bits."""
_THREADS = 128
_PIXELS_AT_ONCE = 2**14


def locate_counts(
    samples: IntArray,
    detections: IntArray,
    pulse: PulseShape,
    model: ReturnModel,
    expected: Expected | Around,
    *,
    needed: float,
    tolerance: float,
    strongest: float,
    progress: Callable[[int], None] | None = None,
) -> FloatArray:
    """What counts say of every pixel: (7, pixels). The first card that can be used does it.

    What is expected from pixels around is spread over the bins there, and takes no memory of the host.
    """
    if samples.size and samples.max() > MOST_COUNTS:
        raise InvalidParameter(
            f'{samples.max():,} looks at a bin are more than the {MOST_COUNTS:,} of engine="gpu"; use engine="compiled"'
        )
    cupy = import_cupy()
    pixels, bins = samples.shape
    found = np.full((NUMBERS, pixels), np.nan)
    tables = make_tables(pulse, model)
    card = devices()[0]
    with on_card(card):
        shape = Shape(bins, model.pulse.half, model.signals.size, model.phases.size, 1, likely=False, certain=False)
        shared = tables.shared_bytes(tolerance, bins)
        kernels = program(card, shape)
        kernel = kernels.kernel("locate.cu", "locate", shared)
        on_device = [
            cupy.asarray(each)
            for each in (tables.fire, tables.share, tables.signals, tables.backgrounds, tables.between, tables.cells)
        ]
        cumulative = cupy.asarray(tables.cumulative)
        for first in range(0, pixels, _PIXELS_AT_ONCE):
            some = slice(first, min(first + _PIXELS_AT_ONCE, pixels))
            count = some.stop - some.start
            marks = np.diff(samples[some], axis=1, prepend=0).astype(np.int32)
            these = expected.take(some)
            if isinstance(these, Around):
                prior, light = spread_prior(kernels, these, bins), these.light
            else:
                # Rounded down: then weights add up to no more than one, which a guarantee rests on.
                down = np.nextafter(these.log_prior.astype(np.float32), np.float32(-inf))
                prior, light = cupy.asarray(down), (these.signal, these.background)
            result = cupy.empty((NUMBERS, count))
            arguments = (
                cupy.arange(count, dtype=cupy.int32),
                cupy.asarray(marks),
                cupy.asarray(detections[some].astype(np.int32)),
                prior,
                *(cupy.asarray(each, dtype=cupy.float64) for each in light),
                result,
                np.int64(count),
                *on_device,
                cumulative,
                np.int32(tables.levels),
                np.int32(tables.knots),
                np.int32(tables.window(tolerance, bins)),
                np.float64(tolerance),
                np.float64(strongest),
                np.float64(needed),
                np.int32(tables.room(tolerance, bins)),
            )
            kernel((count,), (_THREADS,), arguments, shared_mem=shared)
            found[:, some] = on_host(result)
            if progress is not None:
                progress(count)
    return found
