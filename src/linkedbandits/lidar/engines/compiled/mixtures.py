"""What a depth and a signal tell about the bins around, in fewer numbers: tables for :mod:`.outlook`.

A table has for every signal what it adds to the chance of each bin to fire, and what knowing of it would tell about that
bin. From signal to signal both change so regularly that a few mixtures of signals have all of it but two thousandths, and
the ends of a pulse, which bring less than a hundredth of it, are left out. It is about where to look next, where so much
changes nothing; no depth and no proof rests on it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkedbandits.lidar.returns import Floats, ReturnModel
from linkedbandits.model import FloatArray, IntArray

WITHIN = 0.002
"""How far a number of a table may be from the right one, in parts of the largest of its row. Where a depth is nearly
known, worth is a tenth of the two numbers that it is the difference of."""
ENDS = 0.01
"""The part of a row's sum that may be left out at its ends."""
_WEIGHT_OF_GAIN = 8.0
"""Gains count this much more than chances where mixtures are chosen: they differ more from signal to signal."""


class Mixtures(NamedTuple):
    """Of every level and phase: how signals are mixed, (..., mixtures, signals), and what mixtures bring."""

    factors: FloatArray
    chance: FloatArray
    """In what columns are left, (..., mixtures, columns);"""
    gain: FloatArray
    """likewise."""
    skip: IntArray
    """By phase, how many columns are left out at first."""


def find_mixtures(model: ReturnModel, multiple: int) -> Mixtures:
    """As few mixtures, and columns of which there are a multiple of so many, as are enough."""
    chance, gain = _by_phase(model, model.chance), _by_phase(model, _gain(model))
    skip, width = _columns_that_matter(chance, gain)
    width += -width % multiple
    chance, gain = _cut(chance, skip, width), _cut(gain, skip, width)
    scale = _WEIGHT_OF_GAIN * _largest(chance, (1, 2, 3)) / _largest(gain, (1, 2, 3))
    both = np.concatenate([chance, scale * gain], axis=-1)
    length = np.linalg.norm(both, axis=-1, keepdims=True)
    left, strength, right = np.linalg.svd(both / length, full_matrices=False)
    left = left * strength[:, :, np.newaxis] * length
    for count in range(1, left.shape[-1] + 1):
        factors, columns = left[..., :count], right[..., :count, :]
        chances, gains = columns[..., :width], columns[..., width:] / scale
        if max(_off(factors @ chances, chance), _off(factors @ gains, gain)) <= WITHIN:
            break
    return Mixtures(factors.swapaxes(-1, -2), chances, gains, skip)


def _gain(model: ReturnModel) -> FloatArray:
    """How much of a bin's entropy goes away with depth and signal, beside what its chance alone would change of it."""
    slope = -np.log(np.expm1(model.backgrounds))[:, np.newaxis, np.newaxis]
    return np.asarray(slope * model.chance - model.entropy)


def _by_phase(model: ReturnModel, table: Floats) -> FloatArray:
    """From (levels, signals * phases, window) to (levels, phases, signals, window), the last bin of the window first."""
    split = table.reshape(len(table), model.signals.size, model.phases.size, -1)
    return np.asarray(split.swapaxes(1, 2)[..., ::-1], dtype=np.float64)


def _largest(table: FloatArray, axes: int | tuple[int, ...]) -> FloatArray:
    return np.maximum(np.abs(table).max(axis=axes, keepdims=True), np.finfo(np.float64).tiny)


def _off(found: FloatArray, right: FloatArray) -> float:
    return float((np.abs(found - right) / _largest(right, -1)).max())


def _columns_that_matter(chance: FloatArray, gain: FloatArray) -> tuple[IntArray, int]:
    """From which column on, by phase, and how many: the ends go, the slighter one first."""
    starts, widths = [], []
    for phase in range(chance.shape[1]):
        tables = (chance[:, phase], gain[:, phase])
        shares = np.concatenate(
            [table / np.maximum(table.sum(axis=-1, keepdims=True), np.finfo(np.float64).tiny) for table in tables]
        ).reshape(-1, chance.shape[-1])
        first, last = 0, shares.shape[1] - 1
        lost = np.zeros(len(shares))
        while first < last:
            end = first if shares[:, first].max() <= shares[:, last].max() else last
            lost += shares[:, end]
            if lost.max() > ENDS:
                break
            first, last = (first + 1, last) if end == first else (first, last - 1)
        starts.append(first)
        widths.append(last + 1 - first)
    return np.array(starts, dtype=np.int64), max(widths)


def _cut(table: FloatArray, skip: IntArray, width: int) -> FloatArray:
    """The columns that are left, and zeros where there are no more."""
    wider = np.concatenate([table, np.zeros((*table.shape[:-1], width))], axis=-1)
    return np.stack([wider[:, phase, :, first : first + width] for phase, first in enumerate(skip)], axis=1)
