"""Files that appear whole under their name, and survive a power cut."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_ON_WINDOWS = os.name == "nt"


def put_in_place(written: Path, target: Path) -> None:
    """Give a file that was written under another name in the same folder its own one, in one step.

    Its content is on the disk before it has the name, and the name is on the disk when this returns: a rename that is
    not followed by an fsync of the folder may be undone by a power cut.
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
