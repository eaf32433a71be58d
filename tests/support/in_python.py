"""Functions of machine code as plain Python, with all that they call: nothing has to be compiled for a test then."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic

from linkedbandits.lidar.engines.compiled import arithmetic
from linkedbandits.lidar.engines.compiled.memory import make_memory

_ARITHMETIC = {
    arithmetic.exp: math.exp,
    arithmetic.exp_single: lambda x: np.exp(np.float32(x)),
    arithmetic.exp2_single: lambda x: np.exp2(np.float32(x)),
    arithmetic.firing: lambda rate: -math.expm1(-rate),
    arithmetic.in_order: lambda x: x,
    arithmetic.out_of_order: lambda x: x,
    arithmetic.bits_of: lambda x: x,
    arithmetic.logarithm: math.log,
    arithmetic.log_of_more: lambda x: np.log1p(np.float32(x)),
}
"""Bits of numbers are nothing for Python; these are held against NumPy in a test of their own."""


def in_python(function: Any, **instead: object) -> Callable[..., Any]:
    """The same function, interpreted; ``instead`` of names of its module it may be given something else."""
    return _plain(function, instead, {})


def _plain(function: Any, instead: dict[str, object], done: dict[Any, Callable[..., Any]]) -> Callable[..., Any]:
    if function in _ARITHMETIC:
        return _ARITHMETIC[function]
    if function not in done:
        source = function.py_func
        names = dict(source.__globals__)
        done[function] = FunctionType(source.__code__, names, source.__name__, source.__defaults__)
        for name in source.__code__.co_names:
            if isinstance(names.get(name), Dispatcher | _Intrinsic):
                names[name] = _plain(names[name], instead, done)
        names.update(instead)
    return done[function]


def memory_of(model: Any) -> SimpleNamespace:
    """Working memory for pixels of this model, with the names and arrays that machine code has."""
    return in_python(make_memory, structref=SimpleNamespace(new=lambda kind: SimpleNamespace()))(model)
