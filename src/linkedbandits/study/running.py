"""Running a study: what is missing goes out to an engine, and each chunk that comes back is kept at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from linkedbandits.extras import need_polars
from linkedbandits.streams import block_lanes
from linkedbandits.study.cells import Study
from linkedbandits.study.chunks import CHUNK_BLOCKS, Chunk, cut, missing_ranges
from linkedbandits.study.engines import Engine
from linkedbandits.study.engines.processes import on_processes
from linkedbandits.study.folder import ResultsFolder
from linkedbandits.study.results import Results, open_results
from linkedbandits.study.tables import table_of

Begin = Callable[[list[Chunk], list[Path]], None]
"""Told before anything runs: the chunks that are missing, and damaged files that were set aside."""
Kept = Callable[[Chunk], None]
"""Told when a chunk is safe on the disk."""


def run_study(
    study: Study,
    path: str | Path,
    *,
    engine: Engine | None = None,
    merge: bool = False,
    chunk_blocks: int = CHUNK_BLOCKS,
    on_begin: Begin | None = None,
    on_kept: Kept | None = None,
) -> Results:
    """Run what the folder does not have yet, and return all its results.

    The engine is all cores of this machine unless another is given. Results are the same, bit for bit, whatever the
    engine, its workers and ``chunk_blocks`` are, and however often the study was stopped and begun again.

    A folder that belongs to a study with other cells is refused, unless ``merge`` says to keep both in it.
    """
    need_polars("a study")
    folder = ResultsFolder(Path(path))
    with folder.held():
        folder.adopt(study, merge=merge)
        missing, damaged = _missing(study, folder, chunk_blocks)
        if on_begin is not None:
            on_begin(missing, damaged)
        with closing((engine or on_processes())(missing)) as finishing:
            for chunk, finished in finishing:
                folder.write_chunk(chunk.cell, chunk.lanes, table_of(chunk, finished))
                if on_kept is not None:
                    on_kept(chunk)
    return open_results(path)


def missing_trials(study: Study, path: Path, *, merge: bool = False) -> dict[str, int]:
    """How many trials of each cell would be run, by key; a refusal if the study would be refused. Changes nothing."""
    folder = ResultsFolder(path)
    folder.reconcile(study, merge=merge)
    return {
        cell.key: sum(
            len(lanes)
            for lanes in missing_ranges(
                cell.instance.means.size, cell.trials, folder.ranges(cell.key, cell.trials, cell.instance.means.size)
            )
        )
        for cell in study.cells
    }


def _missing(study: Study, folder: ResultsFolder, chunk_blocks: int) -> tuple[list[Chunk], list[Path]]:
    """Chunks to run, the heaviest first so that no worker ends long after the others."""
    missing: list[Chunk] = []
    damaged: list[Path] = []
    for cell in study.cells:
        arms = cell.instance.means.size
        present, aside = folder.sound_chunks(cell.key, cell.trials, block_lanes(arms))
        damaged += aside
        missing += cut(cell, study.seed, missing_ranges(arms, cell.trials, present, chunk_blocks))
    return sorted(missing, key=lambda chunk: -chunk.weight), damaged
