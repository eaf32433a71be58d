"""Files that processes share: whole under their name, kept through a power cut, and locked while one writes."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from linkedbandits.errors import CannotWrite

_ON_WINDOWS = os.name == "nt"


def put_in_place(written: Path, target: Path) -> None:
    """Rename a file to another name in the same folder, in one step that a power cut cannot undo.

    Its content is on the disk before it has the name, and the name is on the disk when this returns: a rename that is
    not followed by an fsync of the folder may be undone.
    """
    _sync(written)
    written.replace(target)
    if not _ON_WINDOWS:  # where folders cannot be opened
        with suppress(PermissionError):  # a folder that may be written into and not be read
            _sync(target.parent)


def _sync(place: Path) -> None:
    handle = os.open(place, os.O_RDWR if _ON_WINDOWS else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _if_there(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except ImportError:
        return None


# Type checkers look at one system, and do not know which of the two modules there is.
_unix: Any = _if_there("fcntl")
_windows: Any = _if_there("msvcrt")


def has_flock() -> bool:
    """True where a locked file can still be read, replaced or removed by others; not so on Windows."""
    return _unix is not None


def try_lock(file: int) -> bool:
    """Lock an open file unless another process has; closing it, or the end of the process, gives the lock back.

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
