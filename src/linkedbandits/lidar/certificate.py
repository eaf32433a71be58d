"""When a depth is certain: no other explains the counts nearly as well, whatever signal and background are.

Bin i was sampled m_i times and fired x_i times. With depth d, signal s and background b its rate is r_i = s g_i(d) + b,
and the log-likelihood of the counts is

    log L(d, s, b) = sum_i  x_i log(1 - exp(-r_i)) - (m_i - x_i) r_i.

Let M be a mean of L over depths, signals and backgrounds, with weights that were fixed before this pixel's own photons.
Whatever the truth is, and however bins were chosen from what was seen before, M / L(truth) is a martingale from 1. By
Ville's inequality it ever reaches 1/delta with probability at most delta. So if at some moment

    sup over s >= 0 and b of log L(d, s, b) <= log M - log(1/delta)     for every depth d outside of a window,

the true depth is outside of that window with probability at most delta, at all moments together. Where nothing comes
back, s is 0, and the left side is the same for every depth; so log M has to reach that too, should the window leave no
depth outside.

**Below M.** Its depths are a fixed fine grid; its signals and backgrounds have densities around what is expected
(``SPREADS``). Terms away from the answer are left out, which only makes M smaller. For one depth, log L is concave in
(s, b): so over a box it is at least what its corners say by interpolation, and by Jensen's inequality the mean of L
over the box is at least exp of the mean of log L at the four corners.

**Above the others.** Depths are covered by cells of width h with middles d0. As a function of the rates log L is
concave, and lies below its tangent at any (d0, s0, b0):

    log L(d, s, b) <= log L(d0, s0, b0) - s0 C(d0) + s C(d) + (b - b0) W,
    C(d) = sum_i w_i g_i(d),   W = sum_i w_i,   w_i = x_i / (exp(r_i) - 1) - (m_i - x_i),
    C(d) <= C(d0) + |C'(d0)| h/2 + (h/2)^2/2 sum_i |w_i| max |g_i''|     (Taylor; the maximum over the cell).

Where b0 is the best background for s0, W is 0, and this is a straight line in s that bounds every background at once.
Two such lines are drawn, at the signal that fits best and at a stronger one, where the line falls. Below both of them,
no signal exceeds the point where they meet: no largest signal has to be known. Cells that this does not settle are
divided.

Most cells need none of that. No return can do more than to have each bin that it reaches fire just as often as it did;
and where C <= 0 in the whole cell at s0 = 0, no signal at all fits best.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, inf, log
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, xlogy

from linkedbandits.lidar.expected import Expected
from linkedbandits.lidar.pulse import PulseShape
from linkedbandits.lidar.returns import surroundings
from linkedbandits.lidar.sensor import LEAST_BACKGROUND
from linkedbandits.model import BoolArray, FloatArray, IntArray

NODES = 8
"""Depths of M in a bin."""
BOX = 1.2
"""The boxes of M reach this many standard deviations to both sides of what fits best."""
CELLS = (2, 8, 32, 128)
"""Depth cells in a bin: the first, and what they are divided into where that is too coarse."""
STRONGER = 1.7
"""The second line is drawn at a signal this many times the best one."""
MOST_BACKGROUND = 10.0
"""Photons a bin: with more, every bin fires every time and nothing can be seen."""
FALLS = 4.0
"""A slope falls to 0 a step of Newton's from here; or this many of them, since it falls slower and slower."""
STEPS = 10
"""Newton's steps, at most, to what fits best;"""
SETTLED = 0.1
"""they end where one gains no more nats than this."""
_CELLS_AT_ONCE = 2**11
"""Small enough that their arrays stay in a core's cache."""


SPREADS = (0.3, 1.2)
"""How many times what is expected the true signal is has, on a logarithmic scale, a density of exp(-|t| / c) / (2 c) in
M, averaged over these two c, a narrow and a wide one; and likewise the background. So both may be anything."""


@dataclass(frozen=True)
class Certificate:
    """The proof for one pulse, and answers that may be ``tolerance`` bins off; no signal is above ``strongest``.

    With ``told`` the background is known, and just what is expected. A return that comes from outside of the range may
    reach into it, unless it is known that none does (``within_range``).
    """

    pulse: PulseShape
    tolerance: float
    strongest: float = inf
    told: bool = False
    within_range: bool = True

    def holds(
        self, samples: IntArray, successes: IntArray, centre: FloatArray, needed: float, expected: Expected
    ) -> BoolArray:
        """In which lanes is the depth within the tolerance of ``centre``, but for a probability of exp(-needed)?"""
        held, _ = self.attempt(samples, successes, centre, needed, expected)
        return held

    def attempt(
        self, samples: IntArray, successes: IntArray, centre: FloatArray, needed: float, expected: Expected
    ) -> tuple[BoolArray, FloatArray]:
        """Where it holds; and elsewhere, about how many times the samples it may take until it does."""
        counts = _Counts(self.pulse, samples, successes, expected, self.told)
        best, mean = counts.mean(centre, self.tolerance)
        level = mean - needed
        rival = np.maximum(counts.none, self._at_edges(counts, centre))
        # Evidence grows with the samples, and what it has to reach hardly does.
        times = 1 + np.maximum(rival - level, 0.0) / np.maximum(best - rival, 1e-3)
        held = np.asarray(level >= rival)
        suspects = self._first_suspects(counts, level, np.flatnonzero(held))
        for per_bin in CELLS:
            away = np.abs(suspects.depth - centre[suspects.lane])
            suspects = suspects.take(away + 0.5 / per_bin > self.tolerance)
            possible, likely = self._possible(counts, suspects, level, per_bin)
            certain = likely & (np.abs(suspects.depth - centre[suspects.lane]) > self.tolerance)
            held[suspects.lane[certain]] = False  # dividing a cell would not help: its middle is possible
            suspects = suspects.take(possible & held[suspects.lane])
            if per_bin == CELLS[-1]:
                held[suspects.lane] = False
            else:
                suspects = suspects.divided(per_bin)
        return held, times

    def _at_edges(self, counts: _Counts, centre: FloatArray) -> FloatArray:
        """The log-likelihood just outside of the window, on the side that is likelier: where most proofs fail."""
        lanes, bins = counts.fired.shape
        finest = CELLS[-1]
        outside = np.stack([centre - self.tolerance, centre + self.tolerance])
        middle = (np.floor(outside * finest) + np.array([[-0.5], [1.5]])) / finest
        beyond = 0 if self.within_range else self.pulse.half
        exists = (middle > -beyond) & (middle < bins + beyond)
        lane = np.tile(np.arange(lanes), 2)[exists.reshape(-1)]
        cells = counts.cells(lane, middle[exists], finest)
        value = np.full((2, lanes), -np.inf)
        value[exists] = cells.value(*counts.fit(cells))
        return np.asarray(value.max(axis=0))

    def interval(
        self, samples: IntArray, successes: IntArray, centre: FloatArray, needed: float, expected: Expected
    ) -> tuple[FloatArray, FloatArray]:
        """From which to which depth is anything possible, but for a probability of exp(-needed), in every lane?

        All depths are where the counts are compatible with no return at all. Unless the depth is known to be within the
        range, it may begin before it, or end behind it.
        """
        lanes, bins = samples.shape
        counts = _Counts(self.pulse, samples, successes, expected, self.told)
        _, mean = counts.mean(centre, self.tolerance)
        level = mean - needed
        seen = level >= counts.none
        low, high = np.zeros(lanes), np.full(lanes, float(bins))
        low[seen], high[seen] = np.inf, -np.inf
        suspects = self._first_suspects(counts, level, np.flatnonzero(seen))
        for per_bin in CELLS:
            # Cells inside of what is known to be possible would not widen it.
            half = 0.5 / per_bin
            inside = (suspects.depth - half >= low[suspects.lane]) & (suspects.depth + half <= high[suspects.lane])
            suspects = suspects.take(~inside)
            possible, likely = self._possible(counts, suspects, level, per_bin)
            np.minimum.at(low, suspects.lane[likely], suspects.depth[likely])
            np.maximum.at(high, suspects.lane[likely], suspects.depth[likely])
            suspects = suspects.take(possible)
            if per_bin == CELLS[-1]:
                np.minimum.at(low, suspects.lane, suspects.depth - half)
                np.maximum.at(high, suspects.lane, suspects.depth + half)
            else:
                suspects = suspects.divided(per_bin)
        nothing = low > high  # refuted everywhere: the counts fit no depth, so none is claimed
        low[nothing], high[nothing] = 0.0, float(bins)
        if self.within_range:
            low, high = np.clip(low, 0.0, bins), np.clip(high, 0.0, bins)
        return low, high

    def fit_at(
        self, samples: IntArray, successes: IntArray, depth: FloatArray, expected: Expected
    ) -> tuple[FloatArray, FloatArray]:
        """The signal and the background that fit best with a depth, in every lane."""
        counts = _Counts(self.pulse, samples, successes, expected, self.told)
        finest = CELLS[-1]
        middle = (np.floor(np.clip(depth, 0, samples.shape[1] - 1e-6) * finest) + 0.5) / finest
        return counts.fit(counts.cells(np.arange(depth.size), middle, finest))

    def _first_suspects(self, counts: _Counts, level: FloatArray, lanes: IntArray) -> _Suspects:
        """The cells, of these lanes, that are not refuted at first sight."""
        lane, place = np.nonzero(counts.saturated(lanes) > level[lanes, np.newaxis])
        tables = cell_tables(self.pulse, CELLS[0])
        weight = counts.wide_fired[lanes] / np.expm1(counts.alone[lanes])[:, np.newaxis] - counts.wide_missed[lanes]
        around = surroundings(weight, self.pulse.half)[lane, :, place]
        most = (
            around @ tables.share.T
            + np.abs(around @ tables.slope.T) * (tables.width / 2)
            + (np.abs(around) @ tables.curve.T) * (tables.width**2 / 8)
        )
        row, phase = np.nonzero(most > 0)  # elsewhere no signal at all fits best
        suspects = _Suspects(lanes[lane[row]], place[row] - self.pulse.half + tables.middle[phase])
        inside = (suspects.depth > 0) & (suspects.depth < counts.fired.shape[1])
        return suspects.take(inside | (not self.within_range))

    def _possible(
        self, counts: _Counts, suspects: _Suspects, level: FloatArray, per_bin: int
    ) -> tuple[BoolArray, BoolArray]:
        """Which cells may hold the depth, as far as the bound can tell; and which have a middle that may be it."""
        possible = np.zeros(suspects.lane.size, dtype=np.bool_)
        likely = np.zeros(suspects.lane.size, dtype=np.bool_)
        for start in range(0, possible.size, _CELLS_AT_ONCE):
            some = slice(start, start + _CELLS_AT_ONCE)
            cells = counts.cells(suspects.lane[some], suspects.depth[some], per_bin)
            possible[some], likely[some] = self._above(counts, cells, level[cells.lane])
        return possible, likely

    def _above(self, counts: _Counts, cells: _Cells, level: FloatArray) -> tuple[BoolArray, BoolArray]:
        """Where the bound over a cell is above the level, and where the likelihood in its middle is."""
        signal, background = counts.fit(cells)
        signal = np.minimum(signal, self.strongest)
        value, line = counts.line(cells, signal, background)
        # What fits best may be next to nothing: then it is as much stronger as it takes for the line to fall.
        stronger = np.maximum(STRONGER * signal + 0.01 * counts.expected.signal[cells.lane], signal + line.falls_after)
        stronger = np.minimum(stronger, self.strongest)
        _, falling = counts.line(cells, stronger, background)
        # The first line rises, if slightly, and the second falls: they meet where both are highest.
        faster = line.slope - falling.slope
        with np.errstate(over="ignore", invalid="ignore"):  # lines as good as parallel meet nowhere
            meet = np.maximum(falling.start - line.start, 0.0) / np.maximum(faster, np.finfo(np.float64).tiny)
            meet = np.where(falling.slope < 0, np.minimum(meet, self.strongest), self.strongest)
            rise = np.where(line.slope > 0, line.slope * meet, 0.0)
        top = line.start + rise
        return np.asarray(top > level), np.asarray(value > level)


@dataclass(frozen=True)
class _Suspects:
    """Cells that may hold the depth: of which lanes, and their middles."""

    lane: IntArray
    depth: FloatArray

    def take(self, some: BoolArray) -> _Suspects:
        return _Suspects(self.lane[some], self.depth[some])

    def divided(self, per_bin: int) -> _Suspects:
        """What these cells, of which a bin has ``per_bin``, consist of at the next division."""
        finer = CELLS[CELLS.index(per_bin) + 1]
        pieces = finer // per_bin
        within = (np.arange(pieces) + 0.5) / finer - 0.5 / per_bin
        return _Suspects(self.lane.repeat(pieces), (self.depth[:, np.newaxis] + within).reshape(-1))


class _Tables(NamedTuple):
    """Of a pulse in the middle of a cell: for each cell of a bin, and each bin of the window around it."""

    middle: FloatArray
    share: FloatArray
    slope: FloatArray
    curve: FloatArray
    width: float


@lru_cache(maxsize=32)
def cell_tables(pulse: PulseShape, per_bin: int) -> _Tables:
    """Of the cells of a bin that is divided into so many."""
    middle = (np.arange(per_bin) + 0.5) / per_bin
    edge = np.arange(-pulse.half, pulse.half + 1) - middle[:, np.newaxis]  # from the depth to the bin's first edge
    half = 0.5 / per_bin
    return _Tables(
        middle=middle,
        share=pulse.cumulative(edge + 1) - pulse.cumulative(edge),
        slope=pulse.density(edge) - pulse.density(edge + 1),
        curve=pulse.steepest(edge, half) + pulse.steepest(edge + 1, half),
        width=1 / per_bin,
    )


class _Line(NamedTuple):
    """What bounds the log-likelihood over a cell, for every background: start + slope * signal."""

    start: FloatArray
    slope: FloatArray
    falls_after: FloatArray
    """About how much more signal it takes until such a line falls."""


@dataclass(frozen=True)
class _Cells:
    """Depth cells: the counts of the bins around each, and those of all other bins of its lane together."""

    lane: IntArray
    fired: FloatArray
    missed: FloatArray
    fired_elsewhere: FloatArray
    missed_elsewhere: FloatArray
    share: FloatArray
    slope: FloatArray
    curve: FloatArray
    width: float

    def value(self, signal: FloatArray, background: FloatArray) -> FloatArray:
        """The log-likelihood in the middle of each cell; more axes may stand in front of the cells."""
        rate = signal[..., np.newaxis] * self.share + background[..., np.newaxis]
        near = (self.fired * np.log(-np.expm1(-rate)) - self.missed * rate).sum(axis=-1)
        elsewhere = self.fired_elsewhere * np.log(-np.expm1(-background)) - self.missed_elsewhere * background
        return np.asarray(near + elsewhere)


class _Counts:
    """The counts of some lanes, and what of them every cell of a lane shares."""

    def __init__(
        self, pulse: PulseShape, samples: IntArray, successes: IntArray, expected: Expected, told: bool
    ) -> None:
        self.pulse = pulse
        self.expected = expected
        self.told = told
        self.fired = successes.astype(np.float64)
        self.missed = (samples - successes).astype(np.float64)
        self.total_fired, self.total_missed = self.fired.sum(axis=1), self.missed.sum(axis=1)
        best = np.log1p(self.total_fired / np.maximum(self.total_missed, 1e-9))
        self.alone = expected.background if self.told else np.clip(best, LEAST_BACKGROUND, MOST_BACKGROUND)
        """The background that fits best if nothing comes back,"""
        none = self.total_fired * np.log(-np.expm1(-self.alone)) - self.total_missed * self.alone
        dimmer = (best <= MOST_BACKGROUND) & (not self.told)
        self.none = np.where(dimmer, _best(self.total_fired, self.total_missed), none)
        """and the log-likelihood then."""
        # A return may be outside of the range and reach into it: nothing was counted there.
        half = pulse.half
        self.wide_fired = np.pad(self.fired, ((0, 0), (half, half)))
        self.wide_missed = np.pad(self.missed, ((0, 0), (half, half)))
        self._wider_fired = np.pad(self.wide_fired, ((0, 0), (half, half)))
        self._wider_missed = np.pad(self.wide_missed, ((0, 0), (half, half)))

    def saturated(self, lanes: IntArray) -> FloatArray:
        """What no return to a bin can exceed: the bins around it fire as often as they did, the others all alike.

        That is for all bins of the range, and for as many before and behind as a pulse reaches from there.
        """
        fired, missed = self.wide_fired[lanes], self.wide_missed[lanes]
        half = self.pulse.half
        near = surroundings(_best(fired, missed), half).sum(axis=1)
        fired_elsewhere = self.total_fired[lanes, np.newaxis] - surroundings(fired, half).sum(axis=1)
        missed_elsewhere = self.total_missed[lanes, np.newaxis] - surroundings(missed, half).sum(axis=1)
        if self.told:
            alone = self.alone[lanes, np.newaxis]
            return np.asarray(near + fired_elsewhere * np.log(-np.expm1(-alone)) - missed_elsewhere * alone)
        return np.asarray(near + _best(fired_elsewhere, missed_elsewhere))

    def cells(self, lane: IntArray, depth: FloatArray, per_bin: int) -> _Cells:
        """The cells around these depths, each the middle of one."""
        tables = cell_tables(self.pulse, per_bin)
        place = np.floor(depth).astype(np.int64)
        phase = np.floor((depth - place) * per_bin).astype(np.int64)
        around = place[:, np.newaxis] + self.pulse.half + np.arange(2 * self.pulse.half + 1)
        fired = self._wider_fired[lane[:, np.newaxis], around]
        missed = self._wider_missed[lane[:, np.newaxis], around]
        return _Cells(
            lane=lane,
            fired=fired,
            missed=missed,
            fired_elsewhere=self.total_fired[lane] - fired.sum(axis=1),
            missed_elsewhere=self.total_missed[lane] - missed.sum(axis=1),
            share=tables.share[phase],
            slope=tables.slope[phase],
            curve=tables.curve[phase],
            width=tables.width,
        )

    def fit(self, cells: _Cells) -> tuple[FloatArray, FloatArray]:
        """The signal and the background that fit best in each cell's middle, nearly: a bound may be drawn anywhere."""
        background = self.alone[cells.lane]
        firing = -np.expm1(-background)[:, np.newaxis]
        pull = cells.fired * (1 / firing - 1)
        bend = _sum(pull / firing, cells.share, cells.share)
        signal = np.clip(_sum(pull - cells.missed, cells.share) / np.maximum(bend, 1e-12), 1e-3, 1e3)
        moving = np.ones(signal.shape, dtype=np.bool_)  # each cell by itself, whatever the others do
        for _ in range(STEPS):
            firing, pull, firing_alone, pull_elsewhere = self._pulls(cells, signal, background)
            bends = pull / firing
            weight = pull - cells.missed
            along_signal = _sum(weight, cells.share)
            along_background = weight.sum(axis=1) + pull_elsewhere - cells.missed_elsewhere
            signal_bend = np.maximum(_sum(bends, cells.share, cells.share), 1e-12)
            changed = np.zeros_like(background)
            both = _sum(bends, cells.share)
            if not self.told:
                background_bend = bends.sum(axis=1) + pull_elsewhere / firing_alone
                area = signal_bend * background_bend
                area = np.maximum(area - both**2, 1e-9 * area + 1e-300)
                change = (signal_bend * along_background - both * along_signal) / area
                changed = np.clip(background + change, background / 3, 3 * background)
                changed = np.clip(changed, LEAST_BACKGROUND, MOST_BACKGROUND) - background
            step = (along_signal - both * changed) / signal_bend  # with the background that it then is
            moved = np.clip(signal + step, signal / 5, 5 * signal) - signal
            signal = np.where(moving, signal + moved, signal)
            if not self.told:
                background = np.where(moving, background + changed, background)
            moving &= np.abs(along_signal * moved + along_background * changed) > SETTLED
            if not moving.any():
                break
        return signal, background

    def line(self, cells: _Cells, signal: FloatArray, background: FloatArray) -> tuple[FloatArray, _Line]:
        """The log-likelihood with this signal and the background that fits best, about the one given; and its line."""
        moving = np.ones(signal.shape, dtype=np.bool_)
        for step in range(STEPS):
            firing, pull, firing_alone, pull_elsewhere = self._pulls(cells, signal, background)
            weight = pull - cells.missed
            along = weight.sum(axis=1) + pull_elsewhere - cells.missed_elsewhere
            if self.told:
                along[:] = 0.0
            bend = (pull / firing).sum(axis=1) + pull_elsewhere / firing_alone
            moved = np.clip(background + along / np.maximum(bend, 1e-300), background / 3, 3 * background)
            moved = np.clip(moved, LEAST_BACKGROUND, MOST_BACKGROUND)
            moving &= np.abs(moved - background) > 1e-9 * background
            if step == STEPS - 1 or not moving.any():
                break  # a tangent takes its value and its slopes from the same background
            background = np.where(moving, moved, background)
        value = cells.value(signal, background)
        tangent = _sum(weight, cells.share)
        most = (
            tangent
            + np.abs(_sum(weight, cells.slope)) * (cells.width / 2)
            + _sum(np.abs(weight), cells.curve) * (cells.width**2 / 8)
        )
        # The background was not found to the last digit: what a farther one could gain is added.
        other = np.maximum(along * (MOST_BACKGROUND - background), -along * background)
        bend = np.maximum(_sum(pull / firing, cells.share, cells.share), 1e-12)
        return value, _Line(value - signal * tangent + other, most, FALLS * most / bend)

    def _pulls(
        self, cells: _Cells, signal: FloatArray, background: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """The chance of each bin to fire, its x_i / (exp(r_i) - 1); and both for the bins elsewhere."""
        firing = -np.expm1(-(signal[:, np.newaxis] * cells.share + background[:, np.newaxis]))
        alone = -np.expm1(-background)
        return firing, cells.fired * (1 / firing - 1), alone, cells.fired_elsewhere * (1 / alone - 1)

    def mean(self, centre: FloatArray, reach: float) -> tuple[FloatArray, FloatArray]:
        """The best log-likelihood around the centre, and a lower bound of log M.

        Of M, these are the depths within ``reach`` of the centre, or of a bin if that is more.
        """
        lanes, bins = self.fired.shape
        span = ceil(NODES * max(reach, 1.0))
        node = np.floor(centre * NODES).astype(np.int64)[:, np.newaxis] + np.arange(-span, span + 1)
        lane, _ = np.nonzero((node >= 0) & (node < bins * NODES))
        node = node[(node >= 0) & (node < bins * NODES)]
        cells = self.cells(lane, (node + 0.5) / NODES, NODES)
        signal, background = self.fit(cells)
        wide_signal, wide_background = self._box(cells, signal, background)
        steps = np.array([-1.0, 0.0, 1.0])[:, np.newaxis]
        signals = signal + steps * wide_signal
        weight = _box_weight(signals, self.expected.signal[lane])
        if self.told:
            value = cells.value(signals, background)
            mean = (value[1:] + value[:-1]) / 2 + weight
        else:
            backgrounds = background + steps * wide_background
            value = cells.value(signals[:, np.newaxis], np.broadcast_to(backgrounds, (3, *backgrounds.shape)))
            corners = value[1:, 1:] + value[1:, :-1] + value[:-1, 1:] + value[:-1, :-1]
            other = _box_weight(backgrounds, self.expected.background[lane])
            mean = corners / 4 + weight[:, np.newaxis] + other
        prior = self.expected.log_prior[lane, node // NODES] - log(NODES)
        terms = logsumexp(mean, axis=tuple(range(mean.ndim - 1))) + prior
        best, total = np.full((2, lanes), -np.inf)
        np.maximum.at(best, lane, value[(1,) * (value.ndim - 1)])
        np.logaddexp.at(total, lane, terms)
        return best, total

    def _box(self, cells: _Cells, signal: FloatArray, background: FloatArray) -> tuple[FloatArray, FloatArray]:
        """How far the boxes of M reach from what fits best."""
        firing, pull, alone, pull_elsewhere = self._pulls(cells, signal, background)
        bends = pull / firing
        signal_bend = _sum(bends, cells.share, cells.share)
        background_bend = bends.sum(axis=1) + pull_elsewhere / alone
        wide_signal = BOX / np.sqrt(np.maximum(signal_bend, 1e-12))
        wide_background = BOX / np.sqrt(np.maximum(background_bend, 1e-12))
        return np.minimum(wide_signal, 0.9 * signal), np.minimum(wide_background, 0.9 * background)


def _best(fired: FloatArray, missed: FloatArray) -> FloatArray:
    """The log-likelihood of counts at the rate that fits them best."""
    total = np.maximum(fired + missed, 1.0)
    return np.asarray(xlogy(fired, fired / total) + xlogy(missed, missed / total))


def _sum(one: FloatArray, *others: FloatArray) -> FloatArray:
    """The sum of products along the last axis."""
    letters = ",".join(["ij"] * (1 + len(others)))
    return np.asarray(np.einsum(f"{letters}->i", one, *others))


def _box_weight(ends: FloatArray, expected: FloatArray) -> FloatArray:
    """The logarithm of at least what the law of ``SPREADS`` gives to each interval between neighbouring ends.

    Each of the two densities rises up to what is expected, or not at all, and falls from there on: so it is least at
    one of the two ends.
    """
    distance = np.abs(np.log(ends / expected))
    densities = [-distance / spread - log(2 * spread) for spread in SPREADS] - np.log(ends)
    least = np.minimum(densities[:, 1:], densities[:, :-1])
    return np.asarray(np.logaddexp(least[0], least[1]) - log(2) + np.log(np.diff(ends, axis=0)))
