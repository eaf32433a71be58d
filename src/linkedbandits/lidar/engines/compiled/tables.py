"""What machine code is told of a task: arrays and numbers, made once for all pixels."""

from __future__ import annotations

from math import exp, inf, log, pi, sqrt
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from linkedbandits.lidar import certificate
from linkedbandits.lidar.gates import Gates, Suffixes, Windows
from linkedbandits.lidar.pulse import CUT, MeasuredPulse, Pulse, PulseShape
from linkedbandits.lidar.returns import Floats, ReturnModel
from linkedbandits.lidar.sensor import Sensor
from linkedbandits.model import FloatArray, IntArray

FOUR = 4
"""Tables that counts are folded with have a multiple of this many columns: so many are taken at once."""
SIXTEEN = 16
"""Those that are added to others likewise."""
EIGHT = 8
"""Windows of the certificate likewise."""
BLOCK = 32
"""Bins that are left out together where their weight is negligible; room for bins is a multiple of it."""

SUFFIX, SUBSET, WINDOWS = 0, 1, 2
"""What a gate may be."""


class Model(NamedTuple):
    """The tables of a :class:`~linkedbandits.lidar.returns.ReturnModel`.

    Columns are in reverse: from the last bin that a return reaches to the first. So a photon in bin i adds column k to
    the depths in bin i - half + k; but bins that a phase does not reach are left out at first. ``skip`` is how many
    numbers of a row that is, from the one with the photon's number: ``margin`` of them come before the first bin.
    """

    bins: int
    half: int
    margin: int
    """Numbers before the first bin of a row: as many as a return reaches, or more;"""
    room: int
    """and for bins: as many as there are, or more."""
    told: bool
    signals: FloatArray
    rough_signals: npt.NDArray[np.float32]
    backgrounds: FloatArray
    alone: FloatArray
    """The chance of a bin to fire by background alone, by level,"""
    skip: IntArray
    share: FloatArray
    """Of the pulse, by phase, in the order of bins; ``skip_share`` are left out at first."""
    skip_share: IntArray
    rough_share: npt.NDArray[np.float32]
    fire: FloatArray
    rough_fire: npt.NDArray[np.float32]
    chance: npt.NDArray[np.float32]
    """How much likelier bins fire that a return reaches,"""
    gain: npt.NDArray[np.float32]
    """and how far their law is from that of others: the divergence, in nats."""
    between: FloatArray


class Cells(NamedTuple):
    """The tables of the certificate: a row for each cell of a bin, of one division after the other."""

    half: int
    pulse: Any
    per_bin: IntArray
    first: IntArray
    """The first row of each division: those of ``certificate.CELLS``, and last that of the nodes of M."""
    share: FloatArray
    slope: FloatArray
    curve: FloatArray


class Shape(NamedTuple):
    """A pulse: a Gaussian of this ``sigma``, or, where that is 0, one that was measured."""

    half: int
    sigma: float
    cut: float
    before_cut: float
    at_cut: float
    whole: float
    times: FloatArray
    heights: FloatArray
    slopes: FloatArray
    before: FloatArray


class Timing(NamedTuple):
    """What a sensor's clock and gates are about."""

    bins: int
    periods_dead: float
    """The dead time in periods,"""
    bins_dead: float
    """and in bins."""
    bin_seconds: float
    period: float
    kind: int
    """What a gate may be."""
    allowed: npt.NDArray[np.bool_]
    """Where a gate may open that stays open."""
    rising: FloatArray
    """The sensitivity of bins after an opening that are not counted."""
    base: float
    late: int
    """Periods that a detection loses; one more from ``late`` bins after the first open one."""
    shortest: int
    gap: int


class Rules(NamedTuple):
    """What a policy goes by."""

    growth: float
    needed: float
    """Nats that a proof takes; nothing is proved where that is infinite."""
    likely: float
    """Above 1 where nothing ends without a proof."""
    tolerance: float
    strongest: float
    told: bool
    wide: int
    """Depths of the grid that are twice the tolerance,"""
    lead: int
    """bins that a gate of Thompson's opens before the depth that was drawn,"""
    cycles: int
    seconds: float
    """and what a pixel may take."""


def _ready(array: npt.ArrayLike, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
    """A copy of its own, as machine code is made for one kind of array only."""
    return np.array(array, dtype=dtype, order="C")


def _wider(table: Floats, multiple: int, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
    """With columns of zeros, to a multiple of so many."""
    missing = -table.shape[-1] % multiple
    return _ready(np.pad(table, [(0, 0)] * (table.ndim - 1) + [(0, missing)]), dtype)


def model_tables(model: ReturnModel, bins: int) -> Model:
    """What machine code is told of a model of the return."""
    phases = model.phases.size
    share = model.miss[:phases] / model.signals[0]
    backward = slice(None, None, -1)
    alone = -np.expm1(-model.backgrounds)
    skip_share = (share > 0).argmax(axis=1)
    skip = (share[:, backward] > 0).argmax(axis=1)
    width = int((share.shape[1] - skip - skip_share).max())

    def reached(
        table: Floats, skipped: IntArray, dtype: npt.DTypeLike = np.float64, multiple: int = FOUR
    ) -> npt.NDArray[Any]:
        """The columns that a phase reaches, and zeros up to a multiple of so many."""
        columns = skipped[np.arange(table.shape[-2]) % phases, np.newaxis] + np.arange(width + -width % multiple)
        padded = np.concatenate([table, np.zeros((*table.shape[:-1], columns.max() + 1))], axis=-1)
        return _ready(
            np.take_along_axis(padded, np.broadcast_to(columns, (*table.shape[:-1], columns.shape[1])), -1), dtype
        )

    fire, chance, entropy = (each[:, :, backward] for each in (model.fire, model.chance, model.entropy))
    slope = -(model.backgrounds + np.log(alone))[:, np.newaxis, np.newaxis]  # of a bin's entropy, at that chance
    margin = model.pulse.half + -model.pulse.half % SIXTEEN
    shift = margin - model.pulse.half
    return Model(
        bins=bins,
        half=model.pulse.half,
        margin=margin,
        room=bins + -bins % BLOCK,
        told=model.told,
        signals=_ready(model.signals),
        rough_signals=_ready(model.signals, np.float32),
        backgrounds=_ready(model.backgrounds),
        alone=alone,
        skip=_ready(shift + np.tile(skip, model.signals.size), np.int64),
        share=reached(share, skip_share),
        skip_share=_ready(shift + skip_share, np.int64),
        rough_share=reached(share, skip_share, np.float32),
        fire=reached(fire, skip, np.float64, SIXTEEN),
        rough_fire=reached(fire, skip, np.float32, SIXTEEN),
        chance=reached(chance, skip, np.float32),
        gain=reached(slope * chance - entropy, skip, np.float32),
        between=_ready(model.between),
    )


def cell_tables(pulse: PulseShape) -> Cells:
    """What machine code is told of the certificate of a pulse."""
    divisions = [*certificate.CELLS, certificate.NODES]
    tables = [certificate.cell_tables(pulse, per_bin) for per_bin in divisions]
    share, slope, curve = (
        _wider(np.concatenate([getattr(each, name) for each in tables]), EIGHT) for name in ("share", "slope", "curve")
    )
    first = np.concatenate([[0], np.cumsum(divisions)[:-1]])
    return Cells(
        pulse.half, pulse_shape(pulse), _ready(divisions, np.int64), _ready(first, np.int64), share, slope, curve
    )


def pulse_shape(pulse: PulseShape) -> Shape:
    """What machine code is told of a pulse."""
    nothing = np.zeros(1)
    if isinstance(pulse, Pulse):
        at_cut = exp(-(CUT**2) / 2) / sqrt(2 * pi)
        whole = float(2 * ndtr(CUT) - 1 - 2 * CUT * at_cut)
        before = float(ndtr(-CUT))
        return Shape(pulse.half, pulse.sigma, CUT, before, at_cut, whole, nothing, nothing, nothing, nothing)
    assert isinstance(pulse, MeasuredPulse), "a pulse is a Gaussian, or was measured"
    times, heights = np.array(pulse.times), np.array(pulse.heights)
    slopes = np.diff(heights) / np.diff(times)
    before_knots = np.concatenate([[0.0], (np.diff(times) * (heights[1:] + heights[:-1]) / 2).cumsum()])
    return Shape(pulse.half, 0.0, 0.0, 0.0, 0.0, 1.0, times, heights, slopes, before_knots)


def timing_of(sensor: Sensor) -> Timing:
    """What machine code is told of a sensor."""
    bins, gates = sensor.bins, sensor.gates
    lost = sensor.lost_periods(np.arange(bins))
    allowed = np.ones(bins, dtype=np.bool_)
    shortest = gap = 1
    if isinstance(gates, Suffixes):
        allowed[:] = False
        allowed[gates.starts(bins)] = True
    if isinstance(gates, Windows):
        shortest, gap = gates.in_bins(sensor)
    return Timing(
        bins=bins,
        periods_dead=sensor.dead_time / sensor.period,
        bins_dead=float(sensor.dead_bins),
        bin_seconds=sensor.bin_seconds,
        period=sensor.period,
        kind=_kind(gates),
        allowed=allowed,
        rising=_ready(sensor.rising if gates.rises else np.zeros(0)),
        base=float(lost[0]),
        late=int((lost == lost[0]).sum()),
        shortest=shortest,
        gap=gap,
    )


def _kind(gates: Gates) -> int:
    if isinstance(gates, Suffixes):
        return SUFFIX
    return WINDOWS if isinstance(gates, Windows) else SUBSET


def rules(
    *,
    growth: float,
    tolerance: float,
    told: bool,
    model: ReturnModel,
    bins: int,
    delta: float | None = None,
    likely: float | None = None,
    strongest: float = inf,
    lead: int = 0,
    cycles: int = 0,
    seconds: float | None = None,
) -> Rules:
    """What a policy goes by; what is not given plays no part."""
    return Rules(
        growth=float(growth),
        needed=inf if delta is None else log(1 / delta),
        likely=2.0 if likely is None else float(likely),
        tolerance=float(tolerance),
        strongest=float(strongest),
        told=bool(told),
        wide=min(max(1, round(2 * tolerance * model.phases.size)), bins * model.phases.size),
        lead=lead,
        cycles=cycles,
        seconds=inf if seconds is None else float(seconds),
    )
