"""What pixels expect from those around them, spread over all bins on a device."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkedbandits.lidar.borrowing import Around
from linkedbandits.lidar.engines.gpu.device import Program, import_cupy

_WARPS = 4
"""Warps of a block; each has a pixel."""


def spread_prior(kernels: Program, around: Around, bins: int) -> Any:
    """The logarithms of the weights of all bins, (pixels, bins), in single precision and rounded down."""
    cupy = import_cupy()
    pixels, columns = around.depth.shape
    log_prior = cupy.empty((pixels, bins), dtype=cupy.float32)
    arguments = (
        np.int32(pixels),
        np.int32(columns),
        np.int32(around.widths.size),
        *(
            cupy.asarray(np.ascontiguousarray(each))
            for each in (around.depth, around.trust, around.group, around.shares, around.widths)
        ),
        log_prior,
    )
    kernels.kernel("prior.cu", "spread_prior")((-(-pixels // _WARPS),), (32 * _WARPS,), arguments, shared_mem=0)
    return log_prior
