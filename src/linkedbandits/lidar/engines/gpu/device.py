"""The graphics cards of this machine, through CuPy; and kernels, compiled for a sensor.

Kernels are C++, in the folder ``kernels``. They are compiled for the sensor's numbers of bins, signals and phases when
they are first used, which takes some seconds; CuPy keeps the result on disk.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from linkedbandits.errors import InvalidParameter, MissingExtra
from linkedbandits.lidar.engines.gpu.tables import KERNELS

_REMEDY = "pip install 'linkedbandits[gpu]' (CUDA 13), or 'linkedbandits[gpu-cuda12]'"
_LEAST_CAPABILITY = (8, 0)
"""Matrix products of 16 x 16 by 16 x 8 in half precision, and atomic additions, are there from here on."""


def import_cupy() -> Any:
    """CuPy, or an error that says what to install."""
    try:
        import cupy

        if not hasattr(cupy, "cuda"):
            raise ImportError("what has that name is no package")
    except ImportError as error:
        raise MissingExtra(
            f'engine="gpu" needs CuPy, and it cannot be imported ({error}); with an NVIDIA card, {_REMEDY}; '
            'without one, use engine="compiled" (--engine compiled)'
        ) from error
    return cupy


@contextmanager
def on_card(number: int) -> Iterator[None]:
    """Kernels and arrays of this context are on that card; an error names the remedy where its memory is too small."""
    cupy = import_cupy()
    with cupy.cuda.Device(number):
        try:
            yield
        except cupy.cuda.memory.OutOfMemoryError as error:
            raise InvalidParameter(
                f'engine="gpu": the memory of card {number} is used up ({_first_line(error)}); end what else runs '
                'there, or use engine="compiled"'
            ) from error


def on_host(array: Any) -> Any:
    """An array of a device as one of NumPy's; waits for the kernels that write it."""
    return import_cupy().asnumpy(array)


def devices() -> list[int]:
    """The numbers of the cards that can be used; an error that names the remedy where there is none."""
    cupy = import_cupy()
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise InvalidParameter(
            f'engine="gpu" finds no card that it can use ({_first_line(error)}); look whether nvidia-smi shows one '
            "and a driver as new as CuPy's CUDA version ('linkedbandits[gpu-cuda12]' is for drivers of CUDA 12), "
            'or use engine="compiled" or "numpy"'
        ) from error
    usable = [number for number in range(count) if _capability(cupy, number) >= _LEAST_CAPABILITY]
    if not usable:
        raise InvalidParameter(
            'engine="gpu" needs a card of compute capability 8.0 or higher (NVIDIA, from 2020 on), and there is none; '
            'use engine="compiled" or "numpy"'
        )
    return usable


def _capability(cupy: Any, number: int) -> tuple[int, int]:
    text = cupy.cuda.Device(number).compute_capability
    return int(text[:-1]), int(text[-1])


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


@dataclass(frozen=True)
class Shape:
    """The numbers that kernels are compiled for."""

    bins: int
    half: int
    signals: int
    phases: int
    digits: int
    likely: bool
    certain: bool

    @property
    def warps(self) -> int:
        """Groups of 32 threads that work on a pixel: each has some tiles of 16 bins."""
        tiles = -(-self.bins // 16)
        return min(max(2, -(-tiles // _TILES_A_WARP)), 16)

    @property
    def _blocks(self) -> int:
        """Blocks that a multiprocessor has room for: two, where a wide pulse or many cycles take more registers."""
        return _BLOCKS if self.digits * -(-(2 * self.half + 1) // 16) <= 1 else 2

    @property
    def options(self) -> tuple[str, ...]:
        """What the compiler is told."""
        numbers = {
            "BINS": self.bins,
            "HALF": self.half,
            "SIGNALS": self.signals,
            "PHASES": self.phases,
            "DIGITS": self.digits,
            "LIKELY": int(self.likely),
            "CERTAIN": int(self.certain),
            "BLOCKS": self._blocks,
            "WARPS": self.warps,
        }
        return ("-std=c++17", *(f"-D{name}={value}" for name, value in numbers.items()))


_TILES_A_WARP = 8
_BLOCKS = 4
"""Measured on an H200 with 1000 bins and 500 cycles, seconds a megapixel: 1.93 so; 2.12 with twice the tiles a warp;
2.19 where threads keep their log-likelihoods from the first look to the second, which leaves room for two blocks."""


class Program:
    """The kernels of one device, compiled for a shape."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._modules: dict[str, Any] = {}
        self._kernels: dict[tuple[str, str, int], Any] = {}
        self._numbers: dict[tuple[str, str], int] = {}

    def kernel(self, source: str, name: str, shared_bytes: int = 0) -> Any:
        """A kernel by its source and its name; ``shared_bytes`` is the shared memory that it is launched with."""
        if (source, name, shared_bytes) not in self._kernels:
            self._kernels[source, name, shared_bytes] = self._prepared(source, name, shared_bytes)
        return self._kernels[source, name, shared_bytes]

    def _prepared(self, source: str, name: str, shared_bytes: int) -> Any:
        cupy = import_cupy()
        try:
            found = self._module(source).get_function(name)
            static = found.shared_size_bytes
        except (cupy.cuda.compiler.CompileException, OSError, RuntimeError, ImportError) as error:
            raise InvalidParameter(
                f'engine="gpu" could not compile its kernels ({_first_line(error)}); CuPy needs CUDA\'s compiler and '
                f'headers: {_REMEDY}, which bring them, or use engine="compiled" (--engine compiled)'
            ) from error
        most = cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]
        if shared_bytes + static > most:
            raise InvalidParameter(
                f"{self._shape.bins} bins take {shared_bytes + static:,} bytes of a multiprocessor's memory, and this "
                f'card has {most:,}; merge bins, or use engine="compiled" (--engine compiled)'
            )
        if shared_bytes + static > _SHARED_WITHOUT_ASKING:  # for this launch and all others of the kernel
            found.max_dynamic_shared_size_bytes = most - static
        return found

    def number(self, source: str, name: str) -> int:
        """A number that the compiler knows, such as the size of a structure."""
        if (source, name) not in self._numbers:  # to ask the device means to wait for it
            cupy = import_cupy()
            pointer = self._module(source).get_global(name)
            self._numbers[source, name] = int(on_host(cupy.ndarray((1,), dtype=cupy.int32, memptr=pointer))[0])
        return self._numbers[source, name]

    def _module(self, source: str) -> Any:
        if source not in self._modules:
            self._modules[source] = import_cupy().RawModule(
                code=source_text(source), options=self._shape.options, backend="nvrtc"
            )
        return self._modules[source]


_SHARED_WITHOUT_ASKING = 48 * 1024
"""Bytes, those that the kernel itself declares included."""


@contextmanager
def side_by_side(device: int, others: Callable[[], None]) -> Iterator[None]:
    """The kernels of this context run beside those that ``others`` launches; what comes after waits for both.

    Both wait for what was launched before. The device is the current one.
    """
    first, second = import_cupy().cuda.get_current_stream(), second_stream(device)
    second.wait_event(first.record())
    try:
        with second:
            others()
        yield
    finally:
        first.wait_event(second.record())


@cache
def second_stream(device: int) -> Any:
    """CuPy keeps memory for each stream; this one stays."""
    return import_cupy().cuda.Stream(non_blocking=True)


@cache
def program(device: int, shape: Shape) -> Program:
    """The kernels of a device, compiled once. It is the current one."""
    return Program(shape)


@cache
def source_text(name: str) -> str:
    """A source with all that it includes from here in its place, each once.

    CuPy keeps what it has compiled by the text that it was given: what a text includes must be part of it, or a newer
    version of the library would run kernels of an older one.
    """
    seen: set[str] = set()

    def expanded(which: str) -> str:
        if which in seen:
            return ""
        seen.add(which)
        text = (KERNELS / which).read_text().replace("#pragma once\n", "")
        return _INCLUDE.sub(lambda match: expanded(match.group(1)), text)

    return expanded(name)


_INCLUDE = re.compile(r'^#include "(.+)"$', re.MULTILINE)
