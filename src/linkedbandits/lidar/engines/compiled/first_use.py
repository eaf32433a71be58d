"""What is said while machine code is made: why it takes long, which kind of how many it is, and how long that took."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from time import monotonic

from linkedbandits.lidar.engines.compiled.compiling import is_ready

WHY = (
    "machine code for this processor is made now, and kept: up to a minute for each kind of work, and only the first "
    "time; python -m linkedbandits.lidar.engines.compiled makes all of it in advance"
)

_explained: list[str] = []
"""Has :data:`WHY` if this process has said it, or need not."""


def have_made(kinds: Mapping[str, tuple[Callable[..., object], Callable[[], object]]]) -> None:
    """Call what needs each kind of work, with its function; where machine code has to be made for that, say so."""
    missing = [name for name, (function, _) in kinds.items() if not is_ready(function)]
    if missing:
        _explain()
    for name, (_, call) in kinds.items():
        if name in missing:
            place = f"{missing.index(name) + 1} of {len(missing)}"
            _say(f"machine code for {name} ({place}) ...")
        begun = monotonic()
        call()
        if name in missing:
            _say(f"machine code for {name} took {monotonic() - begun:.0f} s")


def need_not_explain() -> None:
    """For a command that does nothing else."""
    _explained.append(WHY)


def _explain() -> None:
    """Once in a process."""
    if WHY not in _explained:
        _explained.append(WHY)
        _say(WHY)


def _say(text: str) -> None:
    print(f"linkedbandits: {text}", file=sys.stderr, flush=True)
