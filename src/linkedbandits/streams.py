"""Randomness by blocks of lanes, so that a run never depends on how its lanes were grouped.

Lane number ``l`` belongs to block ``l // block_lanes(arms)``, and every block has a random stream of its own,
spawned from the run's seed by the index of the block. Whatever memory limit, engine or number of workers a run
has, a block sees the same draws.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from linkedbandits.model import FloatArray, IntArray

Seed = int | np.random.SeedSequence

_BLOCK_CELLS = 2**15
_MOST_BLOCK_LANES = 1024


def block_lanes(arms: int) -> int:
    """How many lanes share a stream: a fixed function of the number of arms alone.

    Large enough that a block's draws outweigh the call that makes them, small enough that one block of a
    problem with very many arms still fits in memory.

    >>> [block_lanes(arms) for arms in (2, 100, 1000, 100_000)]
    [1024, 256, 32, 1]
    """
    lanes = max(1, min(_MOST_BLOCK_LANES, _BLOCK_CELLS // arms))
    return 1 << (lanes.bit_length() - 1)


class LaneStreams:
    """The random streams of a row of consecutive blocks, for the lanes of those blocks that still run."""

    def __init__(self, seed: Seed, arms: int, lanes: range) -> None:
        """Open the streams of ``lanes``, which starts at a whole block."""
        size = block_lanes(arms)
        if lanes.start % size:
            raise AssertionError(f"lane {lanes.start} is not the first of a block of {size}")
        root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        blocks = range(lanes.start // size, -(-lanes.stop // size))
        self._seeds = [np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, block)) for block in blocks]
        self._generators = [np.random.default_rng(seed) for seed in self._seeds]
        self._block_of_lane = np.arange(lanes.start, lanes.stop) // size - blocks.start
        self._bounds = self._find_bounds()

    def _find_bounds(self) -> list[tuple[np.random.Generator, slice]]:
        edges = np.searchsorted(self._block_of_lane, np.arange(len(self._generators) + 1))
        return [
            (generator, slice(start, stop))
            for generator, start, stop in zip(self._generators, edges[:-1].tolist(), edges[1:].tolist(), strict=True)
            if start < stop
        ]

    def keep(self, lanes: npt.NDArray[Any]) -> None:
        """Go on with these lanes only (a mask, or increasing positions)."""
        self._block_of_lane = self._block_of_lane[lanes]
        self._bounds = self._find_bounds()

    @property
    def lanes(self) -> int:
        """How many lanes still run."""
        return self._block_of_lane.size

    def policy_seeds(self) -> npt.NDArray[np.uint64]:
        """One seed a lane for policies that draw, apart from the streams that answer them."""
        parts = [
            np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 0)).generate_state(int(count), np.uint64)
            for seed, count in zip(self._seeds, np.bincount(self._block_of_lane), strict=True)
        ]
        return np.concatenate(parts)

    def binomial(self, trials: IntArray, chance: FloatArray) -> IntArray:
        """Binomial draws of the shape of ``trials``, each lane from its block's stream."""
        if len(self._bounds) == 1:
            generator, _ = self._bounds[0]
            return generator.binomial(trials, chance)
        drawn = np.empty_like(trials)
        for generator, lanes in self._bounds:
            drawn[lanes] = generator.binomial(trials[lanes], chance[lanes])
        return drawn

    def blocks(self) -> list[tuple[np.random.Generator, slice]]:
        """The stream of each block, and its lanes that still run."""
        return self._bounds
