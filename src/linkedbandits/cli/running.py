"""What the commands that run studies have in common: the engine, and a bar while it works."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from linkedbandits.cli.progress import progress_bar
from linkedbandits.errors import InvalidParameter
from linkedbandits.signals import what_is_kept
from linkedbandits.study.chunks import Chunk
from linkedbandits.study.engines import Engine

if TYPE_CHECKING:
    from linkedbandits.study import Results, Study


def find_engine(name: str, workers: int | None, scheduler: str | None) -> Engine:
    """The engine that the options describe."""
    from linkedbandits.study import on_dask, on_processes

    if name == "dask":
        return on_dask(scheduler, workers)
    if name != "processes":
        raise InvalidParameter(f"--engine {name!r} is unknown; choose processes or dask")
    if scheduler is not None:
        raise InvalidParameter(f"--scheduler {scheduler} goes with --engine dask; add it")
    return on_processes(workers)


@contextmanager
def kept_in(folder: Path) -> Iterator[None]:
    """Within this, a study's folder is worked on: an interruption says so."""
    with what_is_kept(f"what is finished is kept in {folder}, and the same command goes on from there"):
        yield


def run_with_bar(made: Study, folder: Path, engine: Engine, *, merge: bool = False) -> Results:
    """Run with a bar."""
    from linkedbandits.study import run_study

    notes = Console(stderr=True, markup=False)
    total = sum(cell.trials * cell.instance.means.size for cell in made.cells)
    with progress_bar(total) as advance:

        def begin(missing: list[Chunk], damaged: list[Path]) -> None:
            for path in damaged:
                notes.print(f"{path} was damaged and is set aside; its trials are run again.", highlight=False)
            advance("", total - sum(chunk.weight for chunk in missing))

        def keep(chunk: Chunk) -> None:
            advance(chunk.label, chunk.weight)

        return run_study(made, folder, engine=engine, merge=merge, on_begin=begin, on_kept=keep)
