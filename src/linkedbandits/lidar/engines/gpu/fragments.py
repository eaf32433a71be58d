"""Tables of the likelihood in the order in which tensor cores take them.

In a product of 16 x 16 by 16 x 8 numbers in half precision, lane ``4 g + q`` of a warp gives column g of the second
matrix, of its rows 2 q, 2 q + 1, 2 q + 8 and 2 q + 9: two pairs, each in a word. That is a *fragment*. Kernels read
fragments as they lie here; what each product is for, ``kernels/likelihood.cuh`` and ``kernels/weigh.cu`` say.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from linkedbandits.lidar.returns import ReturnModel

Words = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.floating]

BASE = 2048
"""Whole numbers up to this are exact in half precision: the base of the digits that counts are split into."""
MOST_CYCLES = BASE**2
"""Two digits have no more."""
MOST_IN_HALF = 65_000.0
"""Half precision has no larger numbers."""
_LANE = np.arange(32)
_COLUMN, _QUARTER = _LANE // 4, _LANE % 4
_ROWS = 2 * _QUARTER[:, np.newaxis] + np.array([0, 1, 8, 9])


def fragments(matrices: Floats) -> Words:
    """Of matrices of 16 x 8, (..., 16, 8): (..., 32 lanes, 2 words).

    >>> fragments(np.eye(16, 8)).shape
    (32, 2)
    """
    of_lane = matrices[..., _ROWS, _COLUMN[:, np.newaxis]].astype(np.float16)
    return np.ascontiguousarray(of_lane).view(np.uint32)


def digits_needed(cycles: int) -> int:
    """How many digits to the base counts of so many cycles have: one or two."""
    return 1 if cycles <= BASE else 2


def likelihood_fragments(model: ReturnModel) -> Words:
    """By level: what photons and samples without one add to the log-likelihood, (levels, fragments, 32, 2).

    Rows of the table by sixteens, photons or samples without one, steps along the window, rows by eights, and two
    halves that add up to a number.
    """
    levels, rows, window = model.fire.shape
    steps, tiles = -(-window // 16), -(-rows // 16)
    kinds = np.zeros((levels, 2, steps * 16, tiles * 16))
    kinds[:, 0, :window, :rows] = model.fire.swapaxes(1, 2)
    kinds[:, 1, :window, :rows] = -model.miss.T
    products = kinds.reshape(levels, 2, steps, 16, tiles, 2, 8).transpose(0, 4, 1, 2, 5, 3, 6)
    coarse = products.astype(np.float16).astype(np.float64)
    halves = np.stack([coarse, products - coarse], axis=5)
    return fragments(halves).reshape(levels, -1, 32, 2)


def outlook_fragments(model: ReturnModel) -> Words:
    """By level: what weights of depths add to chance and entropy of four neighbouring bins, (levels, fragments, 32, 2).

    Position p of the sum is the depth that many bins after the first that reaches the first of the four.
    """
    levels, rows, window = model.chance.shape
    tiles = -(-rows // 16)
    table = np.zeros((levels, window + 3, tiles * 16, 8))
    for position in range(window + 3):
        for bin_of_four in range(4):
            place = bin_of_four + window - 1 - position
            if 0 <= place < window:
                table[:, position, :rows, 2 * bin_of_four] = model.chance[:, :, place]
                table[:, position, :rows, 2 * bin_of_four + 1] = model.entropy[:, :, place]
    by_rows = table.reshape(levels, window + 3, tiles, 16, 8).swapaxes(1, 2)
    return fragments(by_rows).reshape(levels, -1, 32, 2)


def phase_fragments(model: ReturnModel) -> Words:
    """What adds up the weights of all signals at a depth, (fragments, 32, 2)."""
    rows, phases = model.cells_per_bin, model.phases.size
    tiles, eights = -(-rows // 16), -(-phases // 8)
    table = np.zeros((eights * 8, tiles * 16))
    row = np.arange(rows)
    table[row % phases, row] = 1.0
    blocks = table.reshape(eights, 8, tiles, 16).transpose(0, 2, 3, 1)
    return fragments(blocks).reshape(-1, 32, 2)
