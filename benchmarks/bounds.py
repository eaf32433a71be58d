"""What the characteristic time of a thousand and of a million arms costs."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from statistics import median
from time import perf_counter

import numpy as np

from linkedbandits import scenarios
from linkedbandits.bounds import characteristic_time
from linkedbandits.linkage import LINKAGES

FEW, MANY = 1_000, 1_000_000

INSTANCES: dict[str, Callable[[int], np.ndarray]] = {
    "uniform means": lambda n: np.random.default_rng(1).random(n),
    "one-sparse, best last": lambda n: scenarios.one_sparse(n, best=n - 1),
    "increasing": scenarios.increasing,
}


def seconds(means: np.ndarray, linkage: str, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = perf_counter()
        characteristic_time(means, linkage)
        times.append(perf_counter() - start)
    return median(times)


def peak_megabytes(means: np.ndarray, linkage: str) -> float:
    """What numpy and Python allocate beside the means themselves."""
    tracemalloc.start()
    characteristic_time(means, linkage)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 2**20


def main() -> None:
    print("characteristic_time: 1,000 arms (claim: 20 ms), 1,000,000 arms (claims: 15 s and 1 GB);")
    print("growth: the million over a thousand times the thousand (claim: at most 1.3)")
    print(f"  {'instance':24} {'linkage':8} {'thousand':>9} {'million':>9} {'growth':>7} {'memory':>8}")
    for name, make in INSTANCES.items():
        few, many = make(FEW), make(MANY)
        for linkage in LINKAGES:
            short, long = seconds(few, linkage, repeats=21), seconds(many, linkage, repeats=1)
            growth, memory = long / short / (MANY / FEW), peak_megabytes(many, linkage)
            print(
                f"  {name:24} {linkage:8} {1e3 * short:6.1f} ms {long:7.2f} s {growth:7.2f} {memory:5.0f} MB",
                flush=True,
            )
