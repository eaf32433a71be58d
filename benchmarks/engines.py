"""How long engines take for a frame, side by side: the claim is that ``compiled`` takes a fifth of ``numpy``'s time."""

from __future__ import annotations

import time
from dataclasses import replace
from statistics import median

import numba

from benchmarks.lidar import SPEED_TASK, random_scene
from linkedbandits.lidar.acquisitions import Task
from linkedbandits.lidar.frame import capture

CORES = 2
SIDE = 128
ROUNDS = 3
CLAIM = 1 / 5


def main(side: int = SIDE) -> None:
    """128 x 128 pixels of 500 bins on two cores, in turns, with a proof and without."""
    numba.set_num_threads(CORES)
    for delta in (0.05, None):
        task = replace(SPEED_TASK, delta=delta)
        capture(random_scene(8), task, engine="compiled")  # machine code is made once, and kept
        ratios = []
        for _ in range(ROUNDS):
            slow, fast = _seconds(task, side, "numpy"), _seconds(task, side, "compiled")
            ratios.append(fast / slow)
            print(f"  delta={delta}: numpy {slow:.2f} s, compiled {fast:.2f} s, ratio {fast / slow:.3f}", flush=True)
        verdict = "holds" if median(ratios) <= CLAIM else "VIOLATED"
        print(f"  delta={delta}: median ratio {median(ratios):.3f}, claimed at most {CLAIM}: {verdict}", flush=True)


def _seconds(task: Task, side: int, engine: str) -> float:
    begun = time.perf_counter()
    capture(random_scene(side), task, "pulse", engine=engine, workers=CORES)
    return time.perf_counter() - begun
