"""Files of attempts."""

from __future__ import annotations

from pathlib import Path

from linkedbandits.attempts.log import Attempts


def read_attempts(path: str | Path) -> Attempts:
    """Read a log of attempts from a file."""
    raise NotImplementedError
