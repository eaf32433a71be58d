"""Kernels that weigh depths by matrix products, compiled for a model and run on a CPU."""

from __future__ import annotations

import ctypes

import numpy as np

from linkedbandits.lidar.engines.gpu.device import Shape
from linkedbandits.lidar.engines.gpu.fragments import likelihood_fragments, outlook_fragments, phase_fragments
from linkedbandits.lidar.returns import ReturnModel
from tests.support.kernels_on_cpu import compiled


def library_of(
    source: str,
    model: ReturnModel,
    bins: int,
    *,
    digits: int = 1,
    likely: bool = False,
    certain: bool = False,
    warps: int | None = None,
) -> tuple[ctypes.CDLL, int]:
    """The kernels of a source, and with how many warps a block they are to be run."""
    shape = Shape(bins, model.pulse.half, model.signals.size, model.phases.size, digits, likely, certain)
    options = [each for each in shape.options if each.startswith("-D") and not each.startswith("-DWARPS")]
    warps = shape.warps if warps is None else warps
    return compiled(source, (*options, f"-DWARPS={warps}")), warps


def fragments_of(model: ReturnModel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The tables of likelihood, outlook and phases."""
    return likelihood_fragments(model), outlook_fragments(model), phase_fragments(model)
