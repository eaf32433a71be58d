"""The processes that a process has begun, as the system knows them."""

from __future__ import annotations

from pathlib import Path


def parent_of(process: int) -> int | None:
    """The process that began another one, or None if that is gone or only waits to be counted as gone."""
    try:
        # The name of the program stands in brackets and may have any character in it.
        state, parent = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if state == "Z" else int(parent)


def descendants(ancestor: int) -> list[int]:
    """Every living process that it began, and those that these began."""
    all_names = [path.name for path in Path("/proc").iterdir()]
    parents = {int(name): parent_of(int(name)) for name in all_names if name.isdigit()}
    found, generation = [], {ancestor}
    while generation:
        generation = {process for process, parent in parents.items() if parent in generation}
        found += sorted(generation)
    return found


def catches(process: int, signal_number: int) -> bool:
    """Has the process a handler of its own for a signal?"""
    status = Path(f"/proc/{process}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (signal_number - 1) & 1)
