"""Kernels compiled for a CPU and called by NumPy arrays: what they compute is tested without a GPU."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from linkedbandits.lidar.engines.gpu.device import source_text
from tools.waiting import SECONDS

HERE = Path(__file__).parent
KEPT = HERE / "__pycache__" if os.access(HERE, os.W_OK) else Path(tempfile.mkdtemp(prefix="kernels-"))
"""Where libraries are kept from one run of the tests to the next, and from one worker to the others."""
CANARY = -1234.5
_SECONDS_UNUSED = 30 * 86_400
_ONE_AT_A_TIME = threading.Lock()
_KERNEL = re.compile(r'extern "C" __global__ void\s+(?:__launch_bounds__\([^)]*\)\s+)?(\w+)\(')

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to compile the kernels with")


def compiled(source: str, macros: tuple[str, ...]) -> ctypes.CDLL:
    """The kernels of that source as a library of this process."""
    return compiled_text(source_text(source), macros)


@functools.lru_cache(maxsize=64)
def compiled_text(text: str, macros: tuple[str, ...]) -> ctypes.CDLL:
    """The kernels of a text that is a whole source."""
    launchers = "".join(f"\nKERNEL_ON_CPU({name})" for name in _KERNEL.findall(text))
    whole = f'#include "kernels_on_cpu.h"\n{text}{launchers}\n'
    # Switching between stacks by longjmp is what a fortified one refuses; kernels read words of two halves.
    command = ["g++", "-std=c++17", "-O1", "-shared", "-fPIC", "-Wall", "-Werror", "-U_FORTIFY_SOURCE"]
    command += ["-fno-strict-aliasing", "-Wno-unknown-pragmas", "-Wno-unused-function", *macros, f"-I{HERE}"]
    made_from = hashlib.sha256("\0".join([_compiler_and_headers(), *command, whole]).encode())
    kept = KEPT / f"kernels-{made_from.hexdigest()}.so"
    if not kept.exists():
        _compile(whole, command, kept)
    os.utime(kept)
    return ctypes.CDLL(str(kept))


def _compile(whole: str, command: list[str], kept: Path) -> None:
    """Other processes may do the same at this time: the library comes to its place all at once."""
    KEPT.mkdir(exist_ok=True)
    for old in KEPT.glob("kernels-*.so"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - old.stat().st_mtime > _SECONDS_UNUSED:
                old.unlink()
    with tempfile.TemporaryDirectory(prefix="kernels-", dir=KEPT) as folder:
        source, library = Path(folder) / "kernel.cc", Path(folder) / "kernel.so"
        source.write_text(whole)
        command = [*command, str(source), "-o", str(library)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        assert done.returncode == 0, done.stderr
        library.replace(kept)


@functools.cache
def _compiler_and_headers() -> str:
    """What a library is made from besides its source."""
    said = subprocess.run(["g++", "--version"], capture_output=True, text=True, timeout=SECONDS, check=True).stdout
    return "\0".join([said, *(path.read_text() for path in sorted(HERE.glob("*.h")))])


def number(library: ctypes.CDLL, name: str) -> int:
    """A number that the compiler knows, such as the size of a structure."""
    return ctypes.c_int.in_dll(library, name).value


def run(
    library: ctypes.CDLL, kernel: str, blocks: int, *arguments: object, shared_bytes: int = 0, threads: int = 1
) -> None:
    """All blocks, one after the other; a block has so many threads. Nothing is written beyond the shared memory.

    Arguments must have the types of the kernel's parameters: arrays those that it points to. Where nothing but its kind
    is known of a number (``int`` or ``float``), the parameter says the rest.
    """
    signature = getattr(library, f"signature_of_{kernel}")
    signature.restype = ctypes.c_char_p
    with _ONE_AT_A_TIME:  # it is written into the same place by every thread
        types = signature().decode().split()
    assert len(types) == len(arguments), f"{kernel} takes {len(types)} arguments, and got {len(arguments)}"
    passed = [_passed(argument, type_) for argument, type_ in zip(arguments, types, strict=True)]
    pointers = (ctypes.c_void_p * len(passed))(*(each.ctypes.data for each in passed))
    launch = getattr(library, f"launch_{kernel}")
    launch.restype = ctypes.c_char_p
    with _ONE_AT_A_TIME:
        wrong = launch(ctypes.c_uint(blocks), ctypes.c_uint(threads), ctypes.c_ulong(shared_bytes), pointers)
    assert wrong is None, f"{kernel}: {wrong.decode()}"


def _passed(argument: object, type_: str) -> np.ndarray:
    """The bytes that the kernel gets."""
    if type_.startswith("*"):
        match argument:
            case None:
                return np.zeros(1, dtype=np.uint64)
            case np.ndarray():
                assert argument.flags.c_contiguous
                assert argument.dtype.str[1:] == type_[1:], f"{argument.dtype} where the kernel reads {type_[1:]}"
                return np.array([argument.ctypes.data], dtype=np.uint64)
            case np.uint64() if argument == 0:
                return np.zeros(1, dtype=np.uint64)
    elif isinstance(argument, np.generic):
        assert argument.dtype.str[1:] == type_, f"{argument.dtype} where the kernel reads {type_}"
        return np.array([argument])
    elif isinstance(argument, int | float) and isinstance(argument, float) == type_.startswith("f"):
        return np.array([argument], dtype=type_)
    raise TypeError(f"{argument!r} where the kernel reads {type_}")
