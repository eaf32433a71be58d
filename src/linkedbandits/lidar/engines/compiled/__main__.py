"""``python -m linkedbandits.lidar.engines.compiled``: make the machine code now, rather than at the first frame.

Two processes share it out: what the one takes longest for, and all the rest, which has much in common.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

import numpy as np

from linkedbandits.errors import LinkedBanditError
from linkedbandits.lidar import Scene, Sensor, Task, capture, locate

_SENSOR = Sensor(bins=20, reach=1.0, fwhm=1.5)


def _frame(acquisition: str, estimator: str) -> None:
    scene = Scene("a pixel", np.full((1, 1), 0.5), np.ones((1, 1)))
    capture(scene, Task(_SENSOR, signal=1.0, cycles=3, delta=0.1), acquisition, estimator, engine="compiled")


def _located() -> None:
    counts = np.full((1, _SENSOR.bins), 3)
    locate(counts, 0 * counts, _SENSOR, engine="compiled")


PARTS: dict[str, Callable[[], None]] = {
    "pulse": partial(_frame, "pulse", "histogram"),
    "locate": _located,
    "map": partial(_frame, "synchronous", "map"),
    "thompson": partial(_frame, "thompson", "histogram"),
    "even": partial(_frame, "even", "histogram"),
}
"""What is compiled, and a call that needs it."""
_MOST_SECONDS = 1800
SHARED_OUT = (("pulse",), ("locate", "map", "thompson", "even"))


def main(names: list[str]) -> int:
    """Have these parts compiled in this process; without names all of them, in processes of their own."""
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        print(f"linkedbandits: no part {unknown[0]!r}; choose from {', '.join(PARTS)}", file=sys.stderr)
        return 1
    try:
        if names:
            _without_advice()
        for name in names:
            PARTS[name]()
    except LinkedBanditError as error:
        print(f"linkedbandits: {error}", file=sys.stderr)
        return 1
    if names:
        return 0
    begun = time.perf_counter()
    with ThreadPoolExecutor(len(SHARED_OUT)) as processes:
        ended = list(processes.map(_in_a_process, SHARED_OUT))
    if any(ended):
        return 1
    print(f"Machine code is ready ({time.perf_counter() - begun:.0f} s).")
    return 0


def _without_advice() -> None:
    """Who makes machine code in advance need not be told that one can."""
    with suppress(ModuleNotFoundError):  # numba: the first part says what to install
        from linkedbandits.lidar.engines.compiled.first_use import need_not_explain

        need_not_explain()


def _in_a_process(parts: tuple[str, ...]) -> int:
    return subprocess.run([sys.executable, "-m", __package__, *parts], check=False, timeout=_MOST_SECONDS).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
