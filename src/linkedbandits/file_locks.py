"""Locks on open files, by which processes keep out of each other's way; the system lets go when a process ends."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from linkedbandits.errors import CannotWrite


def _if_there(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except ImportError:
        return None


# What a system has of them is not known to type checkers, which look at one system.
_unix: Any = _if_there("fcntl")
_windows: Any = _if_there("msvcrt")


def has_flock() -> bool:
    """Has this system locks that do not keep others from reading, replacing or removing the file? Windows has not."""
    return _unix is not None


def try_lock(file: int) -> bool:
    """Lock an open file, if nobody else has; closing it gives the lock back.

    On Windows the lock is on the byte at which the file stands, so all who ask have to stand at the same.
    """
    if _unix is not None:
        try:
            _unix.flock(file, _unix.LOCK_EX | _unix.LOCK_NB)
        except BlockingIOError:
            return False
        return True
    if _windows is not None:
        try:
            _windows.locking(file, _windows.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True
    raise CannotWrite("files cannot be locked on this system; run this on Linux, macOS or Windows")
