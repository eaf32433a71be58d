"""How long the library takes to import, beside the NumPy and SciPy that it needs.

    make bench SECTION=import-time

Every import is that of a new process. All kinds take turns, and each is held against the NumPy and SciPy of its own
round: what else the machine does changes both. The figure is the median of the differences.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import median

ROUNDS = 25
ALLOWED = 0.050
"""Seconds more than NumPy and SciPy alone."""
SECONDS_FOR_AN_IMPORT = 120.0
BESIDE = "import numpy, scipy"
KINDS = (
    "import linkedbandits",
    "import linkedbandits as lb; lb.simulate; lb.Experiment",
)
TIMED = "import time; began = time.perf_counter(); {}; print(time.perf_counter() - began)"
SOURCE = Path(__file__).parents[1] / "src"


def main() -> None:
    """Print a table of medians, with a verdict for each."""
    for kind in (BESIDE, *KINDS):
        seconds_of(kind)  # compiled and in the memory of the system, as for everybody but the first
    rounds = [one_round(number) for number in range(ROUNDS)]
    print(f"milliseconds, median of {ROUNDS} new processes each, in turn; allowed: {1000 * ALLOWED:.0f} more")
    print(f"  {BESIDE:56} {1000 * median(times[BESIDE] for times in rounds):6.0f}")
    for kind in KINDS:
        taken = 1000 * median(times[kind] for times in rounds)
        more = median(times[kind] - times[BESIDE] for times in rounds)
        print(f"  {kind:56} {taken:6.0f}   {1000 * more:+5.0f}   {verdict(more)}", flush=True)


def one_round(number: int) -> Mapping[str, float]:
    """Each kind once; which one is first changes from round to round."""
    kinds = (BESIDE, *KINDS)
    first = number % len(kinds)
    return {kind: seconds_of(kind) for kind in kinds[first:] + kinds[:first]}


def seconds_of(statements: str) -> float:
    """How long they take in a new process, whose own start does not count."""
    asked = [sys.executable, "-c", TIMED.format(statements)]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = {**kept, "PYTHONPATH": str(SOURCE), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        asked, capture_output=True, text=True, timeout=SECONDS_FOR_AN_IMPORT, check=True, env=environment
    )
    return float(done.stdout)


def verdict(more: float) -> str:
    """In words."""
    limit = f"{1000 * ALLOWED:.0f} ms"
    return f"not above by more than {limit}" if more <= ALLOWED else f"above by more than {limit}"
