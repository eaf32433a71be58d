"""How long a study will take, and how much memory: from short trial runs of its cells.

A step of a run costs something whatever the number of lanes, and something for each lane. Two trial runs of a cell
with few lanes tell these apart.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from linkedbandits.display import short_repr
from linkedbandits.simulation import WORKING_MEMORY, simulate
from linkedbandits.streams import block_lanes
from linkedbandits.study.cells import Cell, Study
from linkedbandits.study.chunks import CHUNK_BLOCKS

_FEW_LANES = (2, 16)
_TIME_TO_SPEND = 8.0
"""Seconds for all trial runs together; cells that had none are taken to be like one that had."""
_WORKER_BYTES = 150 * 2**20
"""An interpreter with numpy and scipy."""
_COPIES = 3
"""A chunk's results are in the worker, on the way, and in the table that is written."""


@dataclass(frozen=True)
class Forecast:
    """What a study will take: seconds of one core, and bytes of memory for each worker."""

    core_seconds: float
    worker_bytes: int

    __repr__ = short_repr

    def seconds(self, workers: int) -> float:
        """Wall-clock time if the workers are never idle."""
        return self.core_seconds / workers

    def memory(self, workers: int) -> int:
        """Bytes at the busiest moment."""
        return (workers + 1) * self.worker_bytes


def forecast(
    study: Study, missing: Mapping[str, int] | None = None, clock: Callable[[], float] = time.perf_counter
) -> Forecast:
    """A rough forecast, meant to be right within a factor of two.

    ``missing`` has the trials of each cell that are still to be run, by key; all of them unless given.
    """
    to_run = {cell.key: cell.trials for cell in study.cells} if missing is None else missing
    rates: dict[str, float] = {}
    begun = clock()
    # Spread over the grid, so that what is not tried has something alike that was.
    for cell in _spread(study.cells):
        if rates and clock() - begun > _TIME_TO_SPEND:
            break
        rates[cell.key] = _seconds_per_block(cell, clock)
    total = 0.0
    for cell in study.cells:
        if not to_run[cell.key]:
            continue
        alike = min((other for other in study.cells if other.key in rates), key=lambda other: _distance(cell, other))
        blocks = to_run[cell.key] / block_lanes(cell.instance.means.size)
        total += rates[alike.key] * max(blocks, 1 / 8)
    largest = max(_chunk_bytes(cell) for cell in study.cells)
    return Forecast(total, _WORKER_BYTES + WORKING_MEMORY + _COPIES * largest)


def _seconds_per_block(cell: Cell, clock: Callable[[], float]) -> float:
    took = []
    for lanes in _FEW_LANES:
        begun = clock()
        simulate(
            cell.instance.means,
            cell.policy,
            linkage=cell.linkage,
            world=cell.instance.law,
            trials=lanes,
            seed=0,
            max_plays=cell.max_plays,
        )
        took.append(clock() - begun)
    few, more = _FEW_LANES
    a_lane = max(took[1] - took[0], 0.0) / (more - few)
    return took[1] + a_lane * max(0, block_lanes(cell.instance.means.size) - more)


def _spread(cells: tuple[Cell, ...]) -> list[Cell]:
    """The cells in an order that soon has been everywhere: by the reversed bits of their position."""
    bits = max(1, (len(cells) - 1).bit_length())
    order = sorted(range(len(cells)), key=lambda position: int(f"{position:0{bits}b}"[::-1], 2))
    return [cells[position] for position in order]


def _distance(cell: Cell, other: Cell) -> tuple[bool, bool, float, bool]:
    sizes = cell.instance.means.size, other.instance.means.size
    return (
        cell.label != other.label,
        cell.instance.family != other.instance.family,
        max(sizes) / min(sizes),
        cell.delta != other.delta,
    )


def _chunk_bytes(cell: Cell) -> int:
    arms = cell.instance.means.size
    return 16 * arms * min(cell.trials, CHUNK_BLOCKS * block_lanes(arms))
