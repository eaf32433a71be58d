"""What a study costs beside its chunks, and what a second process brings.

The plain loop runs the same chunks with nothing around them, on the same number of cores: one loop a core.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from linkedbandits.study import Study, on_processes, read_study, run_study
from linkedbandits.study.chunks import Chunk, cut, missing_ranges, run_chunk
from linkedbandits.workers import run_pieces

STUDY = """
trials = 51200
deltas = [0.1, 0.05, 0.02, 0.01, 0.005]
[[instances]]
name = "one good arm of a hundred"
means = [MEANS]
[[policies]]
policy = "POLICY"
""".replace("MEANS", ", ".join(["0.9", *["0.1"] * 99]))

SHORT = STUDY.replace("POLICY", "uniform-sampling")
"""A thousand chunks of a few hundredths of a second: little to hide an overhead behind."""
LONG = STUDY.replace("POLICY", "linked-elimination")
"""About a minute of one core."""


def main() -> None:
    study = read_study(SHORT)
    chunks = chunks_of(study, 1)
    print(f"{len(chunks)} chunks of {len(chunks[0].lanes)} trials each")
    cores = 2
    ratios = []
    for _ in range(2):
        plain = timed(lambda: plain_loops(chunks, cores))
        whole = timed(lambda: in_a_folder(study, cores, chunk_blocks=1))
        ratios.append(whole / plain)
        print(f"  {cores} cores: study {whole:.1f} s, plain loops {plain:.1f} s, ratio {whole / plain:.2f}", flush=True)
    print(f"overhead: at most {max(ratios):.2f} times the plain loops (limit 1.3)")
    longer = read_study(LONG)
    one, two = (timed(lambda workers=workers: in_a_folder(longer, workers)) for workers in (1, 2))
    print(f"two processes against one, on {one:.0f} s of work: {one / two:.2f} times as fast (at least 1.9)")


def chunks_of(study: Study, blocks: int) -> list[Chunk]:
    return [
        chunk
        for cell in study.cells
        for chunk in cut(cell, study.seed, missing_ranges(cell.instance.means.size, cell.trials, [], blocks))
    ]


def plain_loops(chunks: list[Chunk], cores: int) -> None:
    """Every core gets its share at once, and says only when it is done: there is nothing to hand out meanwhile."""
    shares = [chunks[core::cores] for core in range(cores)]
    for _ in run_pieces(run_all, shares, workers=cores, name_of=lambda share: f"{len(share)} chunks", remedy="see why"):
        pass


def run_all(chunks: list[Chunk]) -> None:
    for chunk in chunks:
        run_chunk(chunk)


def in_a_folder(study: Study, workers: int, chunk_blocks: int = 4) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run_study(study, Path(folder), engine=on_processes(workers), chunk_blocks=chunk_blocks)


def timed(work: Callable[[], None]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
