"""Engines: who computes a frame. ``numpy`` is the reference, and what the others have to agree with.

======== ==============================================================================================================
name     what it is
======== ==============================================================================================================
numpy    arrays of pixels, on as many processes as there are workers
compiled one pixel after the other on all cores, in machine code (numba: ``pip install linkedbandits[compiled]``)
gpu      a block of threads a pixel, on one or more graphics cards (CuPy: ``pip install linkedbandits[gpu]``)
======== ==============================================================================================================
"""

from __future__ import annotations

from linkedbandits.errors import UnknownName
from linkedbandits.extras import need_numba
from linkedbandits.lidar.engines.engine import Engine, Found, Light, Pixels
from linkedbandits.lidar.engines.reference import NumpyEngine

__all__ = ["ENGINES", "Engine", "Found", "Light", "Pixels", "find_engine"]

ENGINES = ("numpy", "compiled", "gpu")


def find_engine(name: str, workers: int = 1) -> Engine:
    """The engine of that name, with so many worker processes where it has any."""
    if name == "numpy":
        return NumpyEngine(workers)
    if name == "compiled":
        need_numba()
        from linkedbandits.lidar.engines.compiled.engine import CompiledEngine

        return CompiledEngine()
    if name == "gpu":
        from linkedbandits.lidar.engines.gpu.engine import GpuEngine

        return GpuEngine()
    raise UnknownName(f"unknown engine {name!r}; choose one of {', '.join(ENGINES)}")
