"""Kernels compiled for a CPU and called by NumPy arrays: what they compute is tested without a GPU."""

from __future__ import annotations

import ctypes
import functools
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest

from linkedbandits.lidar.engines.gpu.tables import KERNELS

HERE = Path(__file__).parent
CANARY = -1234.5

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to compile the kernels with")


@functools.lru_cache(maxsize=64)
def compiled(source: str, macros: tuple[str, ...]) -> ctypes.CDLL:
    """The kernel of that name as a library of this process."""
    folder = Path(tempfile.mkdtemp(prefix="kernels-"))
    try:
        command = ["g++", "-std=c++17", "-O2", "-shared", "-fPIC", "-pthread", "-Wall", "-Werror"]
        command += ["-Wno-unknown-pragmas", "-Wno-unused-function", *macros]
        command += [f"-I{KERNELS}", "-include", str(HERE / "kernels_on_cpu.h")]
        command += ["-x", "c++", str(KERNELS / source), "-o", str(folder / "kernel.so")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return ctypes.CDLL(str(folder / "kernel.so"))  # stays loaded without its file
    finally:
        shutil.rmtree(folder)


def run(
    library: ctypes.CDLL, kernel: str, blocks: int, *arguments: object, shared_bytes: int = 0, threads: int = 1
) -> None:
    """All blocks, one after the other; a block has so many threads. Nothing is written beyond the shared memory."""
    size = shared_bytes // 8
    memory = np.full(size + 64, CANARY)
    function = getattr(library, kernel)
    passed = [_passed(argument) for argument in arguments]

    def one_thread(number: int) -> None:
        for block in range(blocks):
            library.be(block, number)
            function(*passed)
            library.end_block()

    library.begin(threads, _passed(memory))
    if threads == 1:
        one_thread(0)
    else:
        running = [threading.Thread(target=one_thread, args=(number,)) for number in range(threads)]
        for each in running:
            each.start()
        for each in running:
            each.join()
    assert (memory[size:] == CANARY).all()


def _passed(argument: object) -> object:
    match argument:
        case None:
            return ctypes.c_void_p(None)
        case np.ndarray():
            assert argument.flags.c_contiguous
            return argument.ctypes.data_as(ctypes.c_void_p)
        case np.int64():
            return ctypes.c_longlong(int(argument))
        case bool() | int():
            return ctypes.c_int(int(argument))
        case float():
            return ctypes.c_double(argument)
        case _:
            raise TypeError(argument)
