"""What an engine does: light in, what was found of every pixel out.

An engine has the arithmetic of a frame, and none of its rules. It is asked for one pass after the other, and what the
pixels of a pass may expect from those before (:mod:`linkedbandits.lidar.borrowing`) is told to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from linkedbandits.lidar.acquisitions import Task
from linkedbandits.lidar.borrowing import Around
from linkedbandits.model import FloatArray, IntArray

Progress = Callable[[int], None]


class Light(NamedTuple):
    """What comes to some pixels: depth in bins (nan where nothing comes back), signal, background a bin."""

    depth: FloatArray
    signal: FloatArray
    background: FloatArray

    def take(self, pixels: IntArray | slice) -> Light:
        """That of these pixels."""
        return Light(*(each[pixels] for each in self))


class Found(NamedTuple):
    """What is kept of every pixel: depth in bins, and numbers that say yes or no as 1 or 0."""

    depth: FloatArray
    cycles: FloatArray
    seconds: FloatArray
    confident: FloatArray
    proved: FloatArray
    bin: FloatArray
    signal: FloatArray
    background: FloatArray
    sure: FloatArray
    """How much of the posterior is around the depth; 0 without a model of the return."""

    @classmethod
    def nothing(cls, pixels: int) -> Found:
        """Of no pixel anything."""
        return cls(*np.full((len(cls._fields), pixels), np.nan))

    def put(self, pixels: IntArray | slice, found: Found) -> None:
        """Write down what was found of some."""
        for mine, its in zip(self, found, strict=True):
            mine[pixels] = its


class Pixels(NamedTuple):
    """A pass: what is measured side by side, and how.

    ``numbers`` are those of the pixels in the image, ``seed`` is the frame's, ``number`` that of the pass.
    """

    task: Task
    acquisition: str
    estimator: str
    numbers: IntArray
    light: Light
    around: Around | None
    seed: int
    number: int

    def take(self, some: slice) -> Pixels:
        """These of them."""
        return self._replace(
            numbers=self.numbers[some],
            light=self.light.take(some),
            around=None if self.around is None else self.around.take(some),
        )


class Engine(Protocol):
    """A way to compute frames."""

    def refuse(self, acquisition: str, task: Task) -> None:
        """An error that names the remedy, where it does not simulate that; :meth:`measure` has it too."""

    def measure(self, pixels: Pixels, progress: Progress) -> Found:
        """Acquire these pixels and find their depths; ``progress`` is told how many have just finished.

        The same seed gives the same, however the engine shares out its work.
        """
