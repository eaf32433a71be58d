"""What sharing work out to processes costs, what a second one brings, and that none is missed when they die.

The plain loop runs the same pieces with nothing around them. A piece is a fixed amount of arithmetic, so that its time
is that of the processor and not of the clock.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import random
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from statistics import median

import numpy as np
from rich.progress import Progress

import linkedbandits.workers
from linkedbandits.study import on_processes, read_study, run_study
from linkedbandits.study.chunks import run_chunk
from linkedbandits.workers import run_pieces

ROUNDS = 5
"""The median of these is the figure: on a shared machine one of them may meet with somebody else's work."""
PIECES = 1000
SECONDS_A_PIECE = 0.01
RESULT_FLOATS = 62_500
"""Half a megabyte, as much as the trials of a chunk with a hundred arms."""
KILLS = 500


def main() -> None:
    """Overhead on short pieces with large results, and the gain of a second process on the same."""
    turns = turns_for(SECONDS_A_PIECE)
    pieces = [(number, turns) for number in range(PIECES)]
    ratios, gains = [], []
    for _ in range(ROUNDS):
        plain = timed(lambda: [work(piece) for piece in pieces])
        one, two = (timed(lambda count=count: share_out(pieces, count)) for count in (1, 2))
        ratios.append(one / plain)
        gains.append(one / two)
        print(
            f"  {PIECES} pieces of {1000 * plain / PIECES:.1f} ms, results of {8 * RESULT_FLOATS // 1000} kB: "
            f"plain loop {plain:.1f} s, one worker {one:.1f} s ({one / plain:.2f}), "
            f"two {two:.1f} s ({one / two:.2f} times as fast)",
            flush=True,
        )
    print(f"overhead: {median(ratios):.2f} times a plain loop, {min(ratios):.2f} to {max(ratios):.2f} (limit 1.3)")
    print(
        f"two processes: {median(gains):.2f} times as fast as one, {min(gains):.2f} to {max(gains):.2f} (at least 1.9)"
    )


def work(piece: tuple[int, int]) -> np.ndarray:
    number, turns = piece
    values = np.full(RESULT_FLOATS, 0.5)
    for _ in range(turns):
        values *= 3.9 * (1.0 - values)
    return values + number


def turns_for(seconds: float) -> int:
    """How many turns take so long, judged by a hundred."""
    work((0, 100))
    return max(1, round(100 * seconds / timed(lambda: work((0, 100)))))


def share_out(pieces: list[tuple[int, int]], workers: int) -> None:
    for (number, _), result in run_pieces(work, pieces, workers=workers, name_of=str, remedy=""):
        assert result[0] >= number


STUDY = """
trials = 256000
[[instances]]
name = "one good arm of a hundred"
means = [MEANS]
[[policies]]
policy = "uniform-sampling"
parameters = { samples = 100 }
""".replace("MEANS", ", ".join(["0.9", *["0.1"] * 99]))
"""Short chunks with large results: it is not by chance alone that five workers in a row die over one of them."""


def kills() -> None:
    """Kill workers of studies at random, until enough of them are dead; every trial has to be what it is without."""
    study = read_study(STUDY)
    linkedbandits.workers.MOST_DEATHS = KILLS  # on a busy machine many may hit the same chunk
    logging.getLogger("linkedbandits.workers").setLevel(logging.ERROR)  # which says of every death that it was one
    rng = random.Random(time.time_ns())
    dead = 0
    with tempfile.TemporaryDirectory() as folder:
        expected = run_study(study, Path(folder) / "expected", engine=in_this_process, chunk_blocks=1)
        rounds = 0
        with Progress(transient=True) as bar:
            shown = bar.add_task("workers killed", total=KILLS)
            while dead < KILLS:
                rounds += 1
                with killing(rng, KILLS - dead) as victims:
                    results = run_study(study, Path(folder) / str(rounds), engine=on_processes(2), chunk_blocks=1)
                dead += len(victims)
                bar.update(shown, completed=dead)
                different = [key for key in expected.cells if not results.trials(key).equals(expected.trials(key))]
                if different:
                    raise SystemExit(f"after {dead} kills the trials of {different[0]} are not what they were")
    trials = sum(cell.trials for cell in study.cells)
    print(f"{dead} workers killed in {rounds} studies of {trials:,} trials on two processes:")
    print("  no study hung, and every trial is the same, bit for bit, as without processes")


class killing:  # noqa: N801 - used like a function
    """Within this, workers of this process die at random times, at most that many."""

    def __init__(self, rng: random.Random, most: int) -> None:
        self._rng, self._most = rng, most
        self._victims: list[int] = []
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._kill, daemon=True)

    def __enter__(self) -> list[int]:
        self._thread.start()
        return self._victims

    def __exit__(self, *_: object) -> None:
        self._enough.set()
        self._thread.join(60)

    def _kill(self) -> None:
        while len(self._victims) < self._most and not self._enough.wait(self._rng.uniform(0.0, 0.4)):
            alive = [process.pid for process in multiprocessing.active_children() if process.pid]
            with suppress(IndexError, ProcessLookupError):  # none is at work, or it has just ended
                victim = self._rng.choice(alive)
                os.kill(victim, signal.SIGKILL)
                self._victims.append(victim)


def in_this_process(chunks):  # type: ignore[no-untyped-def]
    for chunk in chunks:
        yield chunk, run_chunk(chunk)


def timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
