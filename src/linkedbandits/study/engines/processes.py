"""Chunks on the cores of this machine, a process each."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice

from linkedbandits.errors import EngineFailure
from linkedbandits.study.chunks import Chunk, Finished, run_chunk
from linkedbandits.study.engines import Engine

_AHEAD = 2
"""Chunks a worker has waiting, so that it never waits for this process."""
_MOST_DEATHS = 3
"""How often dead workers are replaced in a row, before the fault is taken to be the study's."""


def on_processes(workers: int | None = None) -> Engine:
    """An engine on so many processes; all cores unless told."""
    count = workers or usable_cores()
    return lambda chunks: _run(chunks, count)


def usable_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _run(chunks: Iterable[Chunk], workers: int) -> Iterator[tuple[Chunk, Finished]]:
    """Keep the workers busy; when one dies, run what was lost again on new ones."""
    todo = iter(chunks)
    waiting: deque[Chunk] = deque()
    deaths = 0
    while True:
        running: dict[Future[Finished], Chunk] = {}
        pool = _new_pool(workers)
        try:
            while True:
                while len(running) < workers * (1 + _AHEAD) and (waiting or _take_one(todo, waiting)):
                    running[pool.submit(run_chunk, waiting[0])] = waiting[0]
                    waiting.popleft()  # not before it was taken: a dying pool refuses it
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    finished = future.result()
                    deaths = 0
                    yield running.pop(future), finished
        except BrokenProcessPool:
            waiting.extendleft(running.values())
            deaths += 1
            if deaths > _MOST_DEATHS:
                raise EngineFailure(
                    f"workers die again and again, last over {waiting[0].cell}; finished chunks are kept: "
                    "look at the machine's memory, or run with fewer workers; in a script, begin the study under "
                    'if __name__ == "__main__":'
                ) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _new_pool(workers: int) -> ProcessPoolExecutor:
    # Forking this process would copy the threads of polars, locked as they happen to be.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["linkedbandits.study.chunks"])
    return ProcessPoolExecutor(workers, context, initializer=_leave_ctrl_c)


def _take_one(source: Iterator[Chunk], into: deque[Chunk]) -> bool:
    into.extend(islice(source, 1))
    return bool(into)


def _leave_ctrl_c() -> None:
    """Ctrl-C goes to the parent alone, which then lets the workers go."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
