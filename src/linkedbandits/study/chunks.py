"""The pieces a study is run in: some whole blocks of a cell's lanes each.

A block of lanes has a random stream of its own, so how a cell is cut into chunks, and where they run, cannot
change how a trial ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from linkedbandits.model import BoolArray, FloatArray, IntArray
from linkedbandits.policy import AnyPolicy
from linkedbandits.simulation import runs_of, simulate_lanes
from linkedbandits.streams import block_lanes
from linkedbandits.study.cells import Cell
from linkedbandits.world import LawOfRequests

CHUNK_BLOCKS = 4
"""Blocks in a chunk unless told otherwise: enough work to outweigh its file, little enough to lose."""

TRACED_TRIALS = 64
"""This many of a cell's first trials also record how many arms were still in after how many plays."""


@dataclass(frozen=True, eq=False)
class Chunk:
    """All that a worker needs to run some lanes of a cell."""

    cell: str
    label: str
    means: FloatArray
    law: LawOfRequests | None
    policy: AnyPolicy
    linkage: str
    max_plays: int | None
    seed: np.random.SeedSequence
    lanes: range

    @property
    def weight(self) -> int:
        """About how much work it is, against other chunks."""
        return len(self.lanes) * self.means.size


@dataclass(frozen=True, eq=False)
class Finished:
    """How the trials of a chunk ended; ``traces`` has (plays, arms still in) of those that were watched."""

    top: IntArray
    plays: IntArray
    samples: IntArray
    confident: BoolArray
    correct: BoolArray
    traces: dict[int, tuple[list[int], list[int]]]


def cut(cell: Cell, entropy: int, ranges: Iterable[range]) -> Iterator[Chunk]:
    """The chunks of a cell for these ranges of its lanes."""
    seed, means = cell.seed(entropy), cell.instance.means
    law = cell.instance.law
    for lanes in ranges:
        yield Chunk(cell.key, cell.label, means, law, cell.policy, cell.linkage, cell.max_plays, seed, lanes)


def missing_ranges(arms: int, trials: int, present: Iterable[range], chunk_blocks: int = CHUNK_BLOCKS) -> list[range]:
    """What has to be run of lanes 0 to ``trials``, in chunks of whole blocks, given what is there already.

    >>> missing_ranges(arms=100, trials=1500, present=[range(256, 512)], chunk_blocks=2)
    [range(0, 256), range(512, 1024), range(1024, 1280), range(1280, 1500)]
    """
    size = block_lanes(arms)
    there = {block for lanes in present for block in range(lanes.start // size, -(-lanes.stop // size))}
    missing = [block for block in range(-(-trials // size)) if block not in there]
    ranges: list[range] = []
    for block in missing:
        start, stop = block * size, min((block + 1) * size, trials)
        last = ranges[-1] if ranges else range(0)
        # Part of a block is a chunk by itself: a longer study has to run it anew, and not the whole ones before it.
        if last and last.stop == start and stop - start == size and len(last) < chunk_blocks * size:
            ranges[-1] = range(last.start, stop)
        else:
            ranges.append(range(start, stop))
    return ranges


def run_chunk(chunk: Chunk) -> Finished:
    """Run the lanes of a chunk. This is what workers do."""
    watcher = _Watcher(TRACED_TRIALS - chunk.lanes.start)
    outcomes = simulate_lanes(
        np.broadcast_to(chunk.means, (len(chunk.lanes), chunk.means.size)),
        chunk.policy,
        linkage=chunk.linkage,
        world=chunk.law,
        first=chunk.lanes.start,
        seed=chunk.seed,
        max_plays=chunk.max_plays,
        watch=watcher.see if watcher.lanes > 0 else None,
    )
    runs = runs_of(chunk.means, chunk.policy, outcomes)
    traces = {lane: trace for lane, trace in watcher.traces.items() if lane < len(chunk.lanes)}
    return Finished(outcomes.top, outcomes.plays, outcomes.samples, outcomes.confident, runs.correct, traces)


class _Watcher:
    """Writes down when arms leave, in the first lanes of a run."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.traces: dict[int, tuple[list[int], list[int]]] = {}

    def see(self, lanes: IntArray, plays: IntArray, arms_in: IntArray) -> None:
        """Keep the steps at which the number of arms changed, and the last of them all."""
        watched = int(np.searchsorted(lanes, self.lanes))
        for lane, after, left in zip(
            lanes[:watched].tolist(), plays[:watched].tolist(), arms_in[:watched].tolist(), strict=True
        ):
            after_plays, arms_left = self.traces.setdefault(lane, ([], []))
            if len(arms_left) > 1 and arms_left[-1] == left == arms_left[-2]:
                after_plays[-1] = after
            else:
                after_plays.append(after)
                arms_left.append(left)
