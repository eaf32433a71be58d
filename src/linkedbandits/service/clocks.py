"""Two clocks: one that people read, which may jump, and one that never does, for use within a process."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clocks:
    """``wall`` is Unix time, what goes on record; ``steady`` counts seconds from any moment on, and never jumps."""

    wall: Callable[[], float] = time.time
    steady: Callable[[], float] = time.monotonic


CLOCKS = Clocks()
"""Those of this machine."""
