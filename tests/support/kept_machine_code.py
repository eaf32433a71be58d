"""Machine code that tests have made for themselves, kept from one run of them to the next: making it takes long."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

from linkedbandits.lidar.engines.compiled.compiling import FINGERPRINT

Function = TypeVar("Function", bound=Callable[..., object])


def kept(function: Function) -> Function:
    """A function as machine code, made anew when its own file has changed, or one of those of the compiled engine.

    It must call nothing else: numba itself goes by the function's own file alone.
    """
    try:
        compiled: Any = numba.njit(error_model="numpy", cache=True)(function)
        compiled._cache._cache_file._source_stamp = FINGERPRINT + _digest(Path(inspect.getfile(function)))
    except (RuntimeError, AttributeError):  # no folder that can be written to; or numba keeps it in another way
        compiled = numba.njit(error_model="numpy")(function)
    return cast(Function, compiled)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
