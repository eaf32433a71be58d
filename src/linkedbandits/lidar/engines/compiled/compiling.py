"""How functions become machine code, and what of it is kept from one process to the next.

Only what is called from Python is kept on disk (:func:`entry`), with all that it calls in it. numba goes by the file of
a function alone; here a fingerprint of all files of this package, and of those that rules come from, tells whether what
was kept is of these sources.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])

_HERE = Path(__file__).parent


def _fingerprint() -> str:
    """Of everything that machine code is made from."""
    rules = sorted(_HERE.parent.parent.glob("*.py"))
    digest = hashlib.sha256()
    for path in [*sorted(_HERE.glob("*.py")), *rules, _HERE.parent / "counter.py"]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


FINGERPRINT = _fingerprint()


def machine_code(function: Function) -> Function:
    """Exact to the letter, but that a product and a sum may be rounded once instead of twice."""
    return cast(Function, numba.njit(fastmath={"contract"}, error_model="numpy", nogil=True)(function))


def in_place(function: Function) -> Function:
    """The same, written out wherever it is called: tables are tuples of many arrays, and a call would copy them all."""
    return cast(
        Function, numba.njit(fastmath={"contract"}, error_model="numpy", nogil=True, forceinline=True)(function)
    )


def summing(function: Function) -> Function:
    """The same, and sums may be added up in another order, the same one every time: for sums over bins."""
    return cast(Function, numba.njit(fastmath={"contract", "reassoc"}, error_model="numpy", nogil=True)(function))


def rough(function: Function) -> Function:
    """As fast as it gets, for finite numbers: nothing here that a guarantee rests on."""
    return cast(
        Function,
        numba.njit(fastmath={"contract", "reassoc", "nnan", "ninf", "nsz", "arcp"}, error_model="numpy", nogil=True)(
            function
        ),
    )


def entry(function: Function) -> Function:
    """What Python calls: it lets other threads run meanwhile, and is kept on disk, where there is a place for it."""
    options: dict[str, Any] = {"fastmath": {"contract"}, "error_model": "numpy", "nogil": True}
    try:
        compiled: Any = numba.njit(cache=True, **options)(function)
        compiled._cache._cache_file._source_stamp = FINGERPRINT
    except (RuntimeError, AttributeError):  # no folder that can be written to; or numba keeps it in another way
        compiled = numba.njit(**options)(function)
    return cast(Function, compiled)


def is_ready(compiled: Callable[..., object]) -> bool:
    """Is there machine code of an :func:`entry` already, in this process or on disk?"""
    dispatcher: Any = compiled
    kept = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    return bool(dispatcher.signatures) or (kept is not None and bool(kept._load_index()))
