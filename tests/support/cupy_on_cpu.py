"""As much of CuPy as the engine asks for, made of NumPy; kernels are compiled for the CPU.

So the engine ``gpu`` runs where there is no card: which kernel comes after which, and with what, is tested there. The
types of all arguments are held against the kernels' parameters, which CuPy itself does not do.
"""

from __future__ import annotations

import threading
import types
from contextlib import AbstractContextManager
from functools import partial

import numpy as np

from tests.support import kernels_on_cpu

SHARED_BYTES = 227 * 1024
STATIC_BYTES = 7_200
"""What a kernel declares of them itself, as those that prove do."""
MEMORY = 2**30


class Array(np.ndarray):
    """An array of a card that is none."""


def _array(make):
    return lambda *arguments, **options: np.asarray(make(*arguments, **options)).view(Array)


class _Kernel:
    shared_size_bytes = STATIC_BYTES
    max_dynamic_shared_size_bytes = 48 * 1024 - STATIC_BYTES

    def __init__(self, library, name):
        self._library, self._name = library, name

    def __call__(self, grid, block, arguments, *, shared_mem=0):
        assert shared_mem <= self.max_dynamic_shared_size_bytes
        (blocks,), (threads,) = grid, block
        options = {"shared_bytes": shared_mem, "threads": threads}
        _streams()[-1].launch(partial(kernels_on_cpu.run, self._library, self._name, blocks, *arguments, **options))


class RawModule:
    """A source, compiled."""

    def __init__(self, *, code, options, backend):
        assert backend == "nvrtc"
        macros = tuple(option for option in options if option.startswith("-D"))
        self._library = kernels_on_cpu.compiled_text(code, macros)
        self._kernels = {}

    def get_function(self, name):
        return self._kernels.setdefault(name, _Kernel(self._library, name))

    def get_global(self, name):
        return kernels_on_cpu.number(self._library, name)


class OutOfMemoryError(MemoryError):
    """What CuPy raises where a card has no more memory."""


class _Device(AbstractContextManager):
    compute_capability = "90"

    def __init__(self, number=0):
        self.id = number
        self.attributes = {"MaxSharedMemoryPerBlockOptin": SHARED_BYTES, "MultiProcessorCount": 2}

    def __exit__(self, *_):
        return None


class _Stream(AbstractContextManager):
    """Kernels that were launched in a second stream run when the first one waits for them, and not before."""

    def __init__(self):
        self._launched = []
        self._waited = False

    def __enter__(self):
        assert self._waited, "it begins before what was launched before is done"
        self._waited = False
        _CURRENT.streams = [*_streams(), self]
        return self

    def __exit__(self, *_):
        _CURRENT.streams = _streams()[:-1]

    def record(self):
        return self

    def wait_event(self, stream):
        self._waited = True
        while stream._launched:
            stream._launched.pop(0)()

    def launch(self, kernel):
        if self is _streams()[0]:
            kernel()
        else:
            self._launched.append(kernel)


_CURRENT = threading.local()


def _streams():
    if not hasattr(_CURRENT, "streams"):
        _CURRENT.streams = [_Stream()]
    return _CURRENT.streams


def fake_cupy(cards: int = 1, free_bytes: int = MEMORY) -> types.ModuleType:
    """A module to be imported in CuPy's place."""
    cupy = types.ModuleType("cupy")
    made = ("asarray", "ascontiguousarray", "empty", "empty_like", "zeros", "full", "arange", "broadcast_to", "where")
    for name in made:
        setattr(cupy, name, _array(getattr(np, name)))
    for name in ("minimum", "maximum", "floor", "ceil", "int32", "int64", "uint8", "uint32"):
        setattr(cupy, name, getattr(np, name))
    cupy.float32, cupy.float64 = np.float32, np.float64
    cupy.ndarray = lambda shape, dtype, memptr: np.full(shape, memptr, dtype=dtype).view(Array)
    cupy.asnumpy = np.array
    cupy.RawModule = RawModule
    runtime = types.SimpleNamespace(
        getDeviceCount=lambda: cards,
        memGetInfo=lambda: (free_bytes, 2 * free_bytes),
        CUDARuntimeError=type("CUDARuntimeError", (Exception,), {}),
    )
    compiler = types.SimpleNamespace(CompileException=type("CompileException", (Exception,), {}))
    cupy.cuda = types.SimpleNamespace(
        Device=_Device,
        runtime=runtime,
        compiler=compiler,
        memory=types.SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
        Stream=lambda non_blocking: _Stream(),
        get_current_stream=lambda: _streams()[-1],
    )
    cupy.get_default_memory_pool = lambda: types.SimpleNamespace(free_bytes=lambda: 0)
    return cupy
