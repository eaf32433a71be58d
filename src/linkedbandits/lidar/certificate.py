"""When a depth is certain: no other explains the counts nearly as well, with the proof in numbers.

Let M be the mean likelihood, with fixed weights, over a fixed grid of depths and signals. Whatever the true depth d and
signal s, and however bins were chosen from what was seen before, M / L(d, s) is a martingale from 1. By Ville's
inequality it ever reaches 1/delta with probability at most delta. So if at some moment

    log L(d, s) <= log M - log(1/delta)   for every depth d outside of a window and every signal s up to the strongest,

the true depth is outside of that window with probability at most delta, at all moments together. Where nothing comes
back, no depth is true; that is the signal 0, with L = 1 at every depth. So log M has to reach log(1/delta), too, should
the window leave no depth outside.

The grid of M is fine; its terms away from the window are left out, which only makes M smaller. The left side has to
hold for a continuum. Cover it by cells, of a small width h in depth and between two signals. As a function of the rates
r_i the log-likelihood is concave, so it lies below its tangent at the rates of the cell's middle (d0, s0):

    log L(d, s) <= log L(d0, s0) + s C(d) - s0 C(d0),
    C(d) = sum_i w_i g_i(d),      w_i = x_i / (exp(r_i) - 1) - (m_i - x_i),

and by Taylor's formula C(d) <= C(d0) + |C'(d0)| h/2 + (h/2)^2/2 sum_i |w_i| max |g_i''|, the last maximum over the
cell. The right side is linear in s, so it is largest at one of the cell's two ends. Every sum is a window of counts
times a table.

Most bins need none of that: sum_i m_i kl(x_i/m_i, p) over the bins of a window, where they fire more often than the
background does, bounds the log-likelihood of every return in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, log, sqrt

import numpy as np
from scipy.special import logsumexp, xlogy

from linkedbandits.lidar.pulse import Pulse
from linkedbandits.lidar.returns import Floats, surroundings
from linkedbandits.model import BoolArray, FloatArray, IntArray

CELLS = 8
"""How many cells the reach of the window, or a third of the pulse's width, is divided into, or more: what the last sum
adds grows with the samples, but the evidence of a dim return over a bright background grows far slower than they do;"""
SIGNAL_STEP = 0.33
"""and the logarithm of the signal grows by so much from cell to cell, times the reach in standard deviations. Bounds
are then above what they bound by a small share, a tenth or so, of what tells the window's edge from its middle."""
_LARGEST_STEP = 0.26
BELOW = 6
"""Signals below the weakest expected are covered too: by this many cells and one more, down to 0. A single one would be
too wide: its bound would grow as fast as the evidence, and dim pixels would never be certain."""
_STEP_BELOW = 4 / 3
"""Their step is this much longer;"""
_SHARE_BELOW = 0.1
"""and so much of the weight in M is theirs."""
_ROWS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class Certificate:
    """The tables for one pulse and background; make it with :func:`certificate`. Columns are phases times signals."""

    pulse: Pulse
    background: float
    reach: float
    phases: FloatArray
    signal: FloatArray
    low: FloatArray
    high: FloatArray
    """The middle and the two ends of each column's signals;"""
    log_weight: FloatArray
    """the logarithm of its weight in M;"""
    misses: FloatArray
    """what a sample without a photon adds, (window, 4 * columns): to the log-likelihood, to C, C' and the last sum;"""
    fires: FloatArray
    """and what a photon adds."""

    def holds(self, samples: IntArray, successes: IntArray, centre: FloatArray, needed: float) -> BoolArray:
        """In which lanes is the depth within reach of ``centre``, but for a probability of exp(-needed)?"""
        lanes, bins = samples.shape
        half = self.pulse.half
        fired = surroundings(successes, half).swapaxes(1, 2)
        missed = surroundings(samples - successes, half).swapaxes(1, 2)
        near = np.floor(centre).astype(np.int64)[:, np.newaxis] + np.arange(-half, half + 1)
        exists = (near >= 0) & (near < bins)
        near = np.clip(near, 0, bins - 1)
        lane = np.arange(lanes)[:, np.newaxis]
        value, bound = self._bound(fired[lane, near], missed[lane, near])
        value[~exists] = -np.inf
        level = logsumexp(value + self.log_weight, axis=(1, 2)) - log(bins) - needed
        outside = self._outside(near, centre)
        held = np.asarray(~((bound > level[:, np.newaxis, np.newaxis]) & outside).any(axis=(1, 2)))
        held &= level >= 0  # or there may be no return at all

        far = free_fit(samples, successes, self.background, half) > level[:, np.newaxis]
        np.put_along_axis(far, near, False, axis=1)
        rows, places = (far & held[:, np.newaxis]).nonzero()
        for start in range(0, rows.size, _ROWS_AT_ONCE):
            row, place = rows[start : start + _ROWS_AT_ONCE], places[start : start + _ROWS_AT_ONCE]
            _, bound = self._bound(fired[row, place][:, np.newaxis], missed[row, place][:, np.newaxis])
            outside = self._outside(place[:, np.newaxis], centre[row])
            held[row[((bound > level[row, np.newaxis, np.newaxis]) & outside).any(axis=(1, 2))]] = False
        return held

    def _bound(self, fired: Floats, missed: Floats) -> tuple[FloatArray, FloatArray]:
        """The log-likelihood in the middle of each cell, and its bound over the cell, (..., columns)."""
        sums = (fired @ self.fires - missed @ self.misses).reshape(*fired.shape[:-1], 4, self.signal.size)
        value, tangent, slope, curved = np.moveaxis(sums, -2, 0)
        quarter = 0.25 / self.phases.size**2  # (h/2)^2, where h is 1 / phases
        most = tangent + np.abs(slope) * 0.5 / self.phases.size + curved * quarter / 2
        bound = value - self.signal * tangent + np.maximum(self.low * most, self.high * most)
        return value, bound

    def _outside(self, bins: IntArray, centre: FloatArray) -> BoolArray:
        """Which cells of these bins are not wholly within the window, (..., columns)."""
        middle = bins[..., np.newaxis] + self.phases.repeat(self.signal.size // self.phases.size)
        distance = np.abs(middle - centre[:, np.newaxis, np.newaxis])
        return np.asarray(distance + 0.5 / self.phases.size > self.reach)


def free_fit(samples: IntArray, successes: IntArray, background: float, half: int) -> FloatArray:
    """What no return in the window around a bin can exceed: every bin there fires as often as it did, or as background.

    >>> free_fit(np.array([[10, 10, 10]]), np.array([[0, 10, 0]]), background=0.1, half=0).round(1)
    array([[ 0. , 23.5,  0. ]])
    """
    alone = -np.expm1(-background)
    share = successes / np.maximum(samples, 1)
    fit = xlogy(successes, share / alone) + xlogy(samples - successes, (1 - share) / (1 - alone))
    fit = np.where(share > alone, fit, 0.0)
    return np.asarray(surroundings(fit, half).sum(axis=1))


@lru_cache(maxsize=64)
def certificate(fwhm: float, background: float, weakest: float, strongest: float, reach: float) -> Certificate:
    """The tables of a pulse over a known background, for signals from 0 to ``strongest`` and windows of this reach."""
    pulse = Pulse(fwhm)
    finer = max(1.0, sqrt(background * fwhm / (2 * weakest)))
    per_bin = ceil(finer * CELLS / min(reach, fwhm / 3))
    phases = (np.arange(per_bin) + 0.5) / per_bin
    step = min(SIGNAL_STEP * reach / pulse.sigma, _LARGEST_STEP)
    ends = np.geomspace(weakest, strongest, 1 + max(1, ceil(log(strongest / weakest) / step)))
    high = np.concatenate([weakest * np.exp(-_STEP_BELOW * step * np.arange(BELOW, 0, -1)), ends])
    low = np.concatenate([[0.0], high[:-1]])
    signal = (low + high) / 2
    below = high < weakest
    weight = np.where(below, _SHARE_BELOW / below.sum(), (1 - _SHARE_BELOW) / (~below).sum()) / per_bin

    first = np.arange(-pulse.half, pulse.half + 1)[:, np.newaxis] - phases  # from the depth to the bin's first edge
    share = (pulse.cumulative(first + 1) - pulse.cumulative(first))[:, :, np.newaxis]
    slope = (pulse.density(first) - pulse.density(first + 1))[:, :, np.newaxis]
    width = 0.5 / per_bin
    curve = (pulse.steepest(first, width) + pulse.steepest(first + 1, width))[:, :, np.newaxis]
    rate = share * signal + background
    pull = np.exp(-rate) / -np.expm1(-rate)  # 1 / (exp(rate) - 1), however large the rate
    alone = -np.expm1(-background)
    every = np.ones_like(signal)
    missing = [share * signal, share * every, slope * every, -curve * every]
    firing = [np.log(-np.expm1(-rate) / alone), pull * share, pull * slope, pull * curve]

    def columns(parts: list[FloatArray]) -> FloatArray:
        return np.concatenate([part.reshape(first.shape[0], -1) for part in parts], axis=1)

    return Certificate(
        pulse=pulse,
        background=background,
        reach=reach,
        phases=phases,
        signal=np.tile(signal, per_bin),
        low=np.tile(low, per_bin),
        high=np.tile(high, per_bin),
        log_weight=np.log(np.tile(weight, per_bin)),
        misses=columns(missing),
        fires=columns(firing),
    )
