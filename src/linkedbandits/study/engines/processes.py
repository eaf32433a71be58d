"""Chunks on the cores of this machine, a process each."""

from __future__ import annotations

from linkedbandits.study.chunks import Chunk, run_chunk
from linkedbandits.study.engines import Engine
from linkedbandits.workers import run_pieces, usable_cores

_REMEDY = (
    "finished chunks are kept, and the same study goes on from there: look at the machine's memory, or run with fewer "
    'workers; in a script, begin the study under if __name__ == "__main__":'
)


def on_processes(workers: int | None = None) -> Engine:
    """An engine on ``workers`` processes of this machine; all cores unless given."""
    count = workers or usable_cores()
    return lambda chunks: run_pieces(run_chunk, chunks, workers=count, name_of=_name, remedy=_REMEDY)


def _name(chunk: Chunk) -> str:
    return f"the chunk with trials {chunk.lanes.start} to {chunk.lanes.stop - 1} of {chunk.cell}"
