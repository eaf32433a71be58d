"""What kernels read of a pulse and its model: tables made once on the host, in double precision, as NumPy has them."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from pathlib import Path

import numpy as np

from linkedbandits.lidar.certificate import CELLS, NODES, cell_tables
from linkedbandits.lidar.pulse import PulseShape
from linkedbandits.lidar.returns import ReturnModel
from linkedbandits.lidar.two_returns import SIDES, SINGLE
from linkedbandits.model import FloatArray

KERNELS = Path(__file__).parent / "kernels"
"""The sources; they include each other from here."""
STEPS_A_BIN = 2048
"""Of the pulse's cumulative: between two of them it is taken for a line, which is off by some 1e-8 of the pulse."""
_NODE = 13
"""Numbers that a node of M takes while its box is filled in."""


@dataclass(frozen=True, eq=False)
class Tables:
    """What the kernels certify, find_depth and locate read; each array is contiguous."""

    fire: FloatArray
    """What a photon adds to the log-likelihood, (levels, phases, window, signals);"""
    share: FloatArray
    """the share of the pulse in each bin around the depth, (phases, window)."""
    signals: FloatArray
    backgrounds: FloatArray
    between: FloatArray
    cells: FloatArray
    """Of every division into cells, one after the other: share, slope and curve, (cells, window) each; flat."""
    cumulative: FloatArray
    """The pulse's, from half + 1 bins before its time zero to as many after it."""
    half: int
    told: bool

    @property
    def phases(self) -> int:
        """Depths of the grid in a bin."""
        return int(self.share.shape[0])

    @property
    def levels(self) -> int:
        """How many backgrounds there are."""
        return int(self.backgrounds.size)

    @property
    def knots(self) -> int:
        """Neighbouring depths of the grid that an estimate is made of."""
        return int(self.between.shape[0])

    def macros(self, bins: int) -> tuple[str, ...]:
        """What the kernels are compiled with."""
        sizes = {"BINS": bins, "HALF": self.half, "SIGNALS": self.signals.size, "PHASES": self.phases}
        return tuple(f"-D{name}={size}" for name, size in sizes.items())

    def window(self, tolerance: float, bins: int) -> int:
        """Depths of the grid in a window of twice the tolerance: ``wide`` of find_depth and locate."""
        return min(max(1, round(2 * tolerance * self.phases)), bins * self.phases)

    def room(self, tolerance: float, bins: int) -> int:
        """Numbers that a block needs beside its counts: ``room`` of all three kernels.

        In turn these are the best of every bin, the knots of an estimate, a few nodes of M, the shares of two returns,
        and the weights of the depths of a window, with so many beside them that it is worth while.
        """
        nodes = min(2 * ceil(NODES * max(tolerance, 1.0)) + 1, 64)
        pulses = len(SINGLE) + 2 * len(SIDES)
        near = 2 * (self.half + ceil(SIDES[-1] * tolerance) + 1) + 1
        beside = -(-self.window(tolerance, bins) // self.phases)
        depths = (beside + min(bins, 64)) * self.phases
        return max(bins + 4 * self.half, self.knots, _NODE * nodes, pulses * near, depths)

    def shared_bytes(self, tolerance: float, bins: int) -> int:
        """The dynamic shared memory of a block, for all three kernels."""
        return 8 * (2 * (bins + 4 * self.half) + self.room(tolerance, bins))


def make_tables(pulse: PulseShape, model: ReturnModel) -> Tables:
    """The tables of a pulse and its model."""
    levels, _, window = model.fire.shape
    signals, phases = model.signals.size, model.phases.size
    fire = model.fire.reshape(levels, signals, phases, window).transpose(0, 2, 3, 1)
    first = np.arange(-pulse.half, pulse.half + 1) - model.phases[:, np.newaxis]
    divisions = [cell_tables(pulse, per_bin) for per_bin in CELLS]
    ends = pulse.half + 1
    return Tables(
        fire=np.ascontiguousarray(fire, dtype=np.float64),
        share=pulse.cumulative(first + 1) - pulse.cumulative(first),
        signals=model.signals,
        backgrounds=model.backgrounds,
        between=np.ascontiguousarray(model.between, dtype=np.float64),
        cells=np.concatenate([part.reshape(-1) for each in divisions for part in (each.share, each.slope, each.curve)]),
        cumulative=pulse.cumulative(np.linspace(-ends, ends, 2 * ends * STEPS_A_BIN + 1)),
        half=pulse.half,
        told=model.told,
    )


def search_numbers(bins: int) -> int:
    """32-bit numbers of memory that best_windows needs for every pixel of a launch."""
    return 7 * bins + 2 * gate_words(bins)


def gate_words(bins: int) -> int:
    """32-bit words of a gate: bin i is bit i % 32 of word i // 32."""
    return -(-bins // 32)
