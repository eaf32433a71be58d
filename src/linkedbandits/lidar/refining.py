"""The likeliest depth, signal and background, near a depth that was found on a grid of signals and backgrounds.

Where photons pile up, a signal of the grid that is not quite the true one moves the depth, with enough photons by more
than its interval is wide. The interval is about all signals and backgrounds
(:mod:`linkedbandits.lidar.certificate`), so the depth within it has to be the likeliest over all of them, too.
"""

from __future__ import annotations

from math import ceil, inf, log
from typing import NamedTuple

import numpy as np

from linkedbandits.lidar.borrowing import Around
from linkedbandits.lidar.certificate import MOST_BACKGROUND
from linkedbandits.lidar.expected import LEAST_SIGNAL, Expected
from linkedbandits.lidar.pulse import PulseShape
from linkedbandits.lidar.sensor import LEAST_BACKGROUND
from linkedbandits.model import BoolArray, FloatArray, IntArray

_STEPS = 50
_SETTLED = 1e-8
"""Nats: a pixel is done where the next step promises less."""
_LONGEST = np.array([inf, log(5.0), log(5.0)])
"""The longest step in depth, and in the logarithms of signal and background."""


def refine(
    pulse: PulseShape,
    samples: IntArray,
    successes: IntArray,
    expected: Expected | Around,
    fit: FloatArray,
    strongest: float = inf,
) -> FloatArray:
    """Depth, signal and background that explain the counts best around those of ``fit``, (3, pixels) both.

    Pixels without a depth stay as they are. What is expected counts for the depth alone, by a parabola through the
    weights of the three bins around it. Depths stay within the range, and within a bin of where they were, or a
    standard deviation of the pulse if that is more. Fisher scoring with Levenberg's damping: what is maximised rises
    with every step that is taken.
    """
    lanes = np.flatnonzero(np.isfinite(fit[0]))
    row, start, bins = lanes[:, np.newaxis], fit[:, lanes], samples.shape[1]
    reach = max(1.0, pulse.sigma)
    around = pulse.half + ceil(reach)
    middle = np.floor(start[0]).astype(np.int64)[:, np.newaxis]
    place = middle + np.arange(-around, around + 1)
    inside, nearest = (place >= 0) & (place < bins), np.clip(place, 0, bins - 1)
    tried, fired = (np.where(inside, each[row, nearest], 0) for each in (samples, successes))
    # One more column for all the bins that no pulse reaches from here.
    tried, fired = (
        np.column_stack([near, each.sum(axis=1)[lanes] - near.sum(axis=1)]).astype(np.float64)
        for near, each in ((tried, samples), (fired, successes))
    )
    below, at_it, above = expected.log_weights(lanes, np.clip(middle + np.arange(-1, 2), 0, bins - 1), bins).T
    ones = np.ones(len(lanes))
    given = _Given(
        edges=np.column_stack([place, place[:, -1] + 1]).astype(np.float64),
        tried=tried,
        fired=fired,
        prior=np.stack([middle[:, 0] + 0.5, (above - below) / 2, np.maximum(2 * at_it - above - below, 0.0)], axis=1),
        low=np.stack([np.maximum(start[0] - reach, 0.0), log(LEAST_SIGNAL) * ones, log(LEAST_BACKGROUND) * ones], 1),
        high=np.stack([np.minimum(start[0] + reach, bins), log(strongest) * ones, log(MOST_BACKGROUND) * ones], 1),
    )
    at = np.stack([start[0], *np.log(np.maximum(start[1:], LEAST_SIGNAL))], axis=1)
    at, damping, found = np.clip(at, given.low, given.high), 1e-3 * ones, fit.copy()
    here = _look(pulse, given, at)
    for _ in range(_STEPS):
        stuck = ((at <= given.low) & (here.slope < 0)) | ((at >= given.high) & (here.slope > 0))
        step = _step(here, damping, stuck)
        moving = (step * here.slope).sum(axis=1) > _SETTLED
        found[:, lanes] = at[:, 0], *np.exp(at[:, 1:].T)
        if not moving.any():
            break
        given, here = given.take(moving), here.take(moving)
        lanes, at, step, damping = (each[moving] for each in (lanes, at, step, damping))
        to = np.clip(at + step, given.low, given.high)
        there = _look(pulse, given, to)
        better = there.value > here.value
        at, here = np.where(better[:, np.newaxis], to, at), there.where(better, here)
        damping = np.where(better, damping / 10, np.maximum(10 * damping, 1e-3))
    else:  # what still moves after the last step has it, too
        found[:, lanes] = at[:, 0], *np.exp(at[:, 1:].T)
    return found


class _Given(NamedTuple):
    """Of each pixel: edges of the bins around its depth, what was counted there, what was expected, and the limits."""

    edges: FloatArray
    tried: FloatArray
    fired: FloatArray
    prior: FloatArray
    """The middle of the depth's bin, and slope and bend there of the logarithm of what was expected."""
    low: FloatArray
    high: FloatArray

    def take(self, some: BoolArray) -> _Given:
        return _Given(*(each[some] for each in self))


class _Look(NamedTuple):
    """The logarithm of what is maximised, its slope along depth and the logarithms of the light, and its bend."""

    value: FloatArray
    slope: FloatArray
    bend: FloatArray

    def take(self, some: BoolArray) -> _Look:
        return _Look(*(each[some] for each in self))

    def where(self, some: BoolArray, other: _Look) -> _Look:
        """This in some of the pixels, and the other elsewhere."""
        rows = some[:, np.newaxis]
        return _Look(
            np.where(some, self.value, other.value),
            np.where(rows, self.slope, other.slope),
            np.where(rows[..., np.newaxis], self.bend, other.bend),
        )


def _look(pulse: PulseShape, given: _Given, at: FloatArray) -> _Look:
    tried, fired = given.tried, given.fired
    signal, background = np.exp(at[:, 1:2]), np.exp(at[:, 2:])
    edges = given.edges - at[:, :1]
    along = np.zeros((len(at), 3, fired.shape[1]))  # how rates change; in the last column with the background alone
    along[:, 0, :-1] = -signal * np.diff(pulse.density(edges), axis=1)
    along[:, 1, :-1] = signal * np.diff(pulse.cumulative(edges), axis=1)
    along[:, 2] = background
    rate = along[:, 1] + background
    firing = -np.expm1(-rate)
    middle, steep, curved = given.prior.T
    away = at[:, 0] - middle
    value = (fired * np.log(firing) - (tried - fired) * rate).sum(axis=1) + away * (steep - away * curved / 2)
    slope = (along @ (fired / firing - tried)[..., np.newaxis])[..., 0]
    bend = (along * (tried * (1 / firing - 1))[:, np.newaxis]) @ along.swapaxes(1, 2)
    slope[:, 0] += steep - away * curved
    bend[:, 0, 0] += curved
    return _Look(value, slope, bend)


def _step(here: _Look, damping: FloatArray, stuck: BoolArray) -> FloatArray:
    """To where the slope would be 0; less far with more damping, and not along what is at its limit."""
    scale = np.sqrt(np.maximum(np.einsum("lkk->lk", here.bend), 1e-30))
    along = np.where(stuck, 0.0, 1 / scale)
    matrix = here.bend * along[:, :, np.newaxis] * along[:, np.newaxis]
    matrix += (damping[:, np.newaxis] + 1e-9 + stuck)[:, np.newaxis] * np.eye(3)
    step = along * np.linalg.solve(matrix, (here.slope * along)[..., np.newaxis])[..., 0]
    return np.asarray(np.clip(step, -_LONGEST, _LONGEST))
