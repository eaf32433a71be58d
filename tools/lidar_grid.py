"""The grid of sensors that depth acquisitions are measured over: its cells, and the file with what was measured.

``benchmarks.lidar_grid`` measures and appends to the file; the page is held against it by a test.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from linkedbandits.lidar import AnySubset, Sensor, Task, acquisition_name
from linkedbandits.model import FloatArray

FILE = Path(__file__).resolve().parent.parent / "benchmarks" / "lidar-grid.jsonl"
MOST_CYCLES = 30_000
METHODS = ("synchronous", "even", "free", "shifted", "elimination", "halving", "thompson", "pulse")
"""Ways to spend cycles that the grid has; free-running spends time."""
NON_ADAPTIVE = ("synchronous", "even", "free", "shifted")


@dataclass(frozen=True)
class Cell:
    """A sensor, a return's strength, and the pixels to try them on."""

    bins: int
    fwhm: float
    ambient: float
    signal: float
    pixels: int = 500
    seed: int = 1

    @property
    def task(self) -> Task:
        """What an acquisition is told: the background, too. Any bins may be opened, and cycles are what counts."""
        sensor = Sensor(bins=self.bins, fwhm=self.fwhm, ambient=self.ambient, dead_time=0.0, gates=AnySubset())
        return Task(sensor, self.signal, cycles=MOST_CYCLES, told=True, borrow=False)

    def depths(self) -> FloatArray:
        """Uniform over the depths at least a pulse's width from both ends of the range."""
        return np.random.default_rng(self.seed).uniform(self.fwhm, self.bins - self.fwhm, self.pixels)

    def chances(self) -> FloatArray:
        """Of a detection, by pixel and bin."""
        return self.task.sensor.chances(self.depths(), np.full(self.pixels, self.signal))


Measured = dict[Cell, dict[str, dict[str, float]]]
"""Cycles by cell, acquisition and estimator; infinite where 95 % was not reached."""

GRID = [
    Cell(bins, fwhm, ambient, signal)
    for bins, fwhm, ambient, signal in product((200, 500, 1000), (3.0, 4.24, 10.0), (1, 5, 10, 20), (0.2, 0.5, 1.0))
]


def read() -> Measured:
    """What is in the file."""
    done: Measured = {}
    for line in FILE.read_text(encoding="utf-8").splitlines() if FILE.exists() else []:
        piece = json.loads(line)
        cycles = {key: np.inf if value is None else value for key, value in piece["cycles"].items()}
        done.setdefault(Cell(**piece["cell"]), {})[acquisition_name(piece["acquisition"])] = cycles
    return done


def whole(done: Measured) -> Measured:
    """The cells of which every acquisition is measured, in the grid's order."""
    return {cell: done[cell] for cell in GRID if len(done.get(cell, {})) == len(METHODS)}
