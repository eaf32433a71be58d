"""What a pixel may expect from the pixels around it that were measured before: where to look first.

Neighbouring pixels mostly lie on one surface. So a coarse subgrid of the frame is measured first, then the pixels
between, in passes of half the spacing each; and a pixel of a later pass begins with a prior from those of the passes
before.

The proof of :mod:`linkedbandits.lidar.certificate` holds for any weights that were fixed before the pixel's own
photons. That is so here: a pixel's prior is made from pixels of earlier passes alone, and theirs from earlier passes
still. No pixel is measured twice, and no counts are pooled, so no prior descends from the pixel's own photons. Given
the scene, photons of different pixels are independent, and the martingale of the proof is one given all that came
before.

At an edge, what lies around may be far from the pixel's own depth. Part of the weight is therefore spread evenly over
all depths, so wrong weights cost ``log(1 / ANYWHERE)`` nats of evidence at most; and as M has wide laws, a signal and a
background that are nine times as bright as those around cost about two nats each.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot

import numpy as np

from linkedbandits.lidar.expected import LEAST_SIGNAL, Expected
from linkedbandits.lidar.sensor import LEAST_BACKGROUND
from linkedbandits.model import FloatArray, IntArray

COARSEST = 4
"""The first pass takes every fourth pixel of every fourth row."""
ANYWHERE = 0.2
"""This share of a prior's weight is spread evenly over all depths."""
NEAR, FAR = 1.5, 10.0
"""A surface goes on within a bin or two, mostly; or within some ten, where it is slanted or rough:"""
SHARE_FAR = 0.4
"""so much of the trust in a neighbour is that it is not farther than the second."""
_TINY = 1e-9


@dataclass(frozen=True)
class Pass:
    """Pixels that are measured side by side: their numbers in the image, row by row, and the spacing of the pass."""

    spacing: int
    pixels: IntArray


def passes(shape: tuple[int, int], coarsest: int = COARSEST) -> list[Pass]:
    """All pixels of an image, each in one pass.

    >>> [each.pixels.tolist() for each in passes((2, 3), coarsest=2)]
    [[0, 2], [1, 3, 4, 5]]
    """
    row, column = np.indices(shape)
    left = np.ones(shape, dtype=np.bool_)
    found = []
    spacing = coarsest
    while spacing >= 1:
        now = left & (row % spacing == 0) & (column % spacing == 0)
        left &= ~now
        if now.any():
            found.append(Pass(spacing, np.flatnonzero(now)))
        spacing //= 2
    return found


@dataclass(frozen=True)
class Known:
    """What was found of every pixel of an image so far, row by row; ``sure`` is 0 where nothing was."""

    shape: tuple[int, int]
    depth: FloatArray
    sure: FloatArray
    signal: FloatArray
    background: FloatArray

    @classmethod
    def nothing(cls, shape: tuple[int, int]) -> Known:
        """Of no pixel anything."""
        rows, columns = shape
        return cls(shape, *(np.zeros(rows * columns) for _ in range(4)))


@dataclass(frozen=True)
class Around:
    """What pixels may expect from those around them, in a few numbers: a row for each pixel.

    ``depth`` has the depths found around, and half way between two that face each other, in bins; ``trust`` how far to
    trust each, which adds up to one, or to nothing where nothing was found. The share ``anywhere`` is spread over all
    depths. ``signal`` is in photons a cycle, ``background`` in photons a bin and cycle.
    """

    depth: FloatArray
    trust: FloatArray
    signal: FloatArray
    background: FloatArray
    anywhere: float = ANYWHERE

    def take(self, pixels: IntArray | slice) -> Around:
        """Of these pixels alone."""
        return Around(
            self.depth[pixels], self.trust[pixels], self.signal[pixels], self.background[pixels], self.anywhere
        )

    @property
    def light(self) -> tuple[FloatArray, FloatArray]:
        """Signal and background; nothing is expected to be quite dark."""
        return np.maximum(self.signal, LEAST_SIGNAL), np.maximum(self.background, LEAST_BACKGROUND)

    def expected(self, bins: int) -> Expected:
        """The weights of all bins, and the rest."""
        weight = np.zeros((len(self.depth), bins))
        for place in range(self.depth.shape[1]):
            _add_around(weight, self.depth[:, place], self.trust[:, place])
        found = self.trust.sum(axis=1, keepdims=True) > 0
        weight = self.anywhere / bins + (1 - self.anywhere) * np.where(found, weight, 1 / bins)
        weight /= weight.sum(axis=1, keepdims=True)
        return Expected(np.log(weight), self.signal, self.background)


def around(known: Known, some: Pass, signal: float, background: float) -> Around:
    """Of the pixels of a pass, by those measured before; signal and background as given, where there are none."""
    depths, trusts = [], []
    logarithms, trusted_alone = np.zeros((2, some.pixels.size)), np.zeros(some.pixels.size)
    for down, right in _steps(some.spacing):
        nearness = (some.spacing / hypot(down, right)) ** 2
        one, sure = _at(known, some.pixels, down, right)
        trust = sure**2 * nearness
        depths.append(known.depth[one])
        trusts.append(trust)
        logarithms += trust * np.log([known.signal[one] + _TINY, known.background[one] + _TINY])
        trusted_alone += trust
        if (down, right) > (0, 0):  # half way between two that face each other, as on a slant
            other, other_sure = _at(known, some.pixels, -down, -right)
            depths.append((known.depth[one] + known.depth[other]) / 2)
            trusts.append(2 * sure * other_sure * nearness)
    found = trusted_alone > 0
    trusted = np.array(trusts)
    means = np.exp(logarithms / np.where(found, trusted_alone, 1.0))
    return Around(
        depth=np.stack(depths, axis=1),
        trust=np.ascontiguousarray((trusted / np.where(found, trusted.sum(axis=0), 1.0)).T),
        signal=np.where(found, means[0], signal),
        background=np.where(found, means[1], background),
    )


def _steps(spacing: int) -> list[tuple[int, int]]:
    steps = (-spacing, 0, spacing)
    return [(down, right) for down in steps for right in steps if (down, right) != (0, 0)]


def _at(known: Known, pixels: IntArray, down: int, right: int) -> tuple[IntArray, FloatArray]:
    """The pixels that are so far from these, and how sure each is; not at all, where there is none."""
    rows, columns = known.shape
    row, column = pixels // columns + down, pixels % columns + right
    inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
    there = np.where(inside, row * columns + column, 0)
    return there, np.where(inside, known.sure[there], 0.0)


def _add_around(weight: FloatArray, depth: FloatArray, trust: FloatArray) -> None:
    """Add to each row the trust in a depth, spread over the bins around it."""
    rows = np.flatnonzero(trust > 0)
    middle = np.arange(weight.shape[1]) + 0.5
    away = np.abs(middle - depth[rows, np.newaxis])
    spread = (1 - SHARE_FAR) * np.exp(-away / NEAR) / (2 * NEAR) + SHARE_FAR * np.exp(-away / FAR) / (2 * FAR)
    weight[rows] += trust[rows, np.newaxis] * spread
