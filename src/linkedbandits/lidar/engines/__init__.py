"""Engines: who computes a frame. ``numpy`` is the reference, and what the others have to agree with.

======== ==============================================================================================================
name     what it is
======== ==============================================================================================================
numpy    arrays of pixels, on as many processes as there are workers
compiled one pixel after the other in machine code, on all cores, or on as many threads as there are workers (numba:
         ``pip install linkedbandits[compiled]``)
gpu      a block of threads a pixel, on one or more graphics cards (CuPy: ``pip install linkedbandits[gpu]``)
======== ==============================================================================================================
"""

from __future__ import annotations

from linkedbandits.errors import InvalidParameter, UnknownName
from linkedbandits.extras import need_numba
from linkedbandits.lidar.engines.engine import Engine, Found, Light, Pixels
from linkedbandits.lidar.engines.reference import NumpyEngine

__all__ = ["ENGINES", "Engine", "Found", "Light", "Pixels", "find_engine"]

ENGINES = ("numpy", "compiled", "gpu")


def find_engine(name: str, workers: int | None = None) -> Engine:
    """The engine of that name, with so many workers: processes of ``numpy``, threads of ``compiled``."""
    if name == "numpy":
        return NumpyEngine(1 if workers is None else workers)
    if name == "compiled":
        need_numba()
        from linkedbandits.lidar.engines.compiled.engine import CompiledEngine

        return CompiledEngine(workers)
    if name == "gpu":
        if workers is not None:
            raise InvalidParameter(
                f'workers={workers!r}: engine="gpu" takes all cards of the machine and has none; leave them out'
            )
        from linkedbandits.lidar.engines.gpu.engine import GpuEngine

        return GpuEngine()
    raise UnknownName(f"unknown engine {name!r}; choose one of {', '.join(ENGINES)}")
