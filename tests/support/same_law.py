"""Do two engines draw frames from the same law? Cell by cell: pixels of one depth and one brightness are a cell.

Two frames are compared in every cell by what can be seen of them: how often depths are right, the depths, the cycles
and the time that they took, signal and background. The smallest p-value of all, times their number, is what is judged
(Bonferroni): where the laws are the same it is below a level with at most that probability.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from linkedbandits.lidar import Scene, Sensor, Task, capture

LEVEL = 1e-4
"""The false-alarm probability of a comparison. Seeds are fixed: a test that passes once passes always."""
DEPTHS = (0.9, 2.3, 3.14, 5.2)
BRIGHTNESS = (0.15, 0.4, 1.0)
SENSOR = Sensor(bins=100, reach=6.0, ambient=5.0)
TASK = Task(SENSOR, signal=1.0, cycles=80, borrow=False)


def cells(pixels: int) -> Scene:
    """A row of pixels for each cell; every third pixel has three times the background of the others."""
    depth = np.repeat(np.tile(DEPTHS, len(BRIGHTNESS)), pixels).reshape(-1, pixels)
    brightness = np.repeat(np.repeat(BRIGHTNESS, len(DEPTHS)), pixels).reshape(-1, pixels)
    light = np.where(np.arange(pixels) % 3 == 0, 3.0, 1.0) * np.ones_like(depth)
    return Scene("cells", depth, brightness, light / light.mean())


@dataclass(frozen=True)
class Comparison:
    """The p-values of all cells, by what was compared."""

    values: dict[str, np.ndarray]

    @property
    def judged(self) -> float:
        """The smallest, times how many there are."""
        every = np.concatenate(list(self.values.values()))
        return float(every.min() * every.size)

    def __str__(self) -> str:
        return ", ".join(f"{name}: {each.min():.1e}" for name, each in self.values.items())


def compare(one, other) -> Comparison:
    """Two frames of :func:`cells`."""
    within = one.task.tolerance * one.task.sensor.bin_depth
    right = [np.nan_to_num(np.abs(each.error), nan=np.inf) <= within for each in (one, other)]
    seen = {
        "depth": (one.depth, other.depth),
        "cycles": (one.cycles, other.cycles),
        "seconds": (one.seconds, other.seconds),
        "signal": (one.signal, other.signal),
        "background": (one.background, other.background),
        "bin": (one.bin, other.bin),
    }
    values = {"right": _by_row(_shares, *right), "confident": _by_row(_shares, one.confident, other.confident)}
    values |= {name: _by_row(_samples, *pair) for name, pair in seen.items()}
    return Comparison(values)


def _by_row(test, one, other) -> np.ndarray:
    return np.array([test(a, b) for a, b in zip(one, other, strict=True)])


def _shares(one, other) -> float:
    table = [[one.sum(), other.sum()], [(~one).sum(), (~other).sum()]]
    return float(stats.fisher_exact(table).pvalue)


def _samples(one, other) -> float:
    """Kolmogorov and Smirnov's test; what was not found counts as a depth of its own."""
    one, other = np.nan_to_num(one, nan=-1.0), np.nan_to_num(other, nan=-1.0)
    if np.array_equal(np.unique(one), np.unique(other)) and np.unique(one).size == 1:
        return 1.0
    # What differs by rounding alone is the same: a signal of exactly one value, say, that engines round differently.
    return float(stats.ks_2samp(np.round(one, 9), np.round(other, 9), method="asymp").pvalue)


def frames(task: Task, method: str, engine: str, *, pixels: int = 300, seed: int = 1, estimator: str = "map"):
    """A frame of all cells from an engine, and one of the reference with another seed."""
    scene = cells(pixels)
    if task.told:  # then every pixel has the sensor's background
        scene = replace(scene, light=None)
    reference = capture(scene, task, method, estimator, seed=1000 + seed)
    return reference, capture(scene, task, method, estimator, seed=seed, engine=engine)
