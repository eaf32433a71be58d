"""The engine ``numpy``: arrays of pixels, on as many processes as there are workers."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, closing, nullcontext
from typing import NamedTuple

import numpy as np

from linkedbandits.lidar.acquiring import acquire
from linkedbandits.lidar.acquisitions import Task, find_acquisition
from linkedbandits.lidar.engines.engine import Found, Pixels, Progress
from linkedbandits.lidar.engines.finding import find
from linkedbandits.streams import block_lanes
from linkedbandits.workers import run_pieces

LEAST_PIXELS = 256
"""A process takes this many pixels at a time, or a few more."""

_REMEDY = (
    'look at the machine\'s memory, or run with fewer workers; in a script, capture under if __name__ == "__main__":'
)


class NumpyEngine:
    """NumPy on so many worker processes; with one, on this process."""

    def __init__(self, workers: int = 1) -> None:
        self._workers = workers

    def refuse(self, acquisition: str, task: Task) -> None:
        """It has all acquisitions that there are; those that do not go with the task refuse it themselves."""
        find_acquisition(acquisition, task)

    def measure(self, pixels: Pixels, progress: Progress) -> Found:
        """Acquire these pixels and find their depths."""
        whole = Found.nothing(pixels.numbers.size)
        with closing(_finished(_parts(pixels), self._workers)) as finished:
            for part, found in finished:
                size = part.pixels.numbers.size
                whole.put(slice(part.first, part.first + size), found)
                progress(size)
        return whole


class _Part(NamedTuple):
    """Some pixels of a pass, which a worker takes together, and the place of the first of them."""

    pixels: Pixels
    first: int


def _parts(pixels: Pixels) -> list[_Part]:
    """Runs of pixels that begin where a block of lanes does, however many workers there are."""
    block = block_lanes(pixels.task.sensor.bins)
    size = -(-LEAST_PIXELS // block) * block
    return [_Part(pixels.take(slice(first, first + size)), first) for first in range(0, pixels.numbers.size, size)]


def _finished(parts: list[_Part], workers: int) -> Generator[tuple[_Part, Found], None, None]:
    """Each part and what was found in it, as they are finished."""
    if workers == 1 or len(parts) == 1:
        for part in parts:
            yield part, _measure_part(part)
        return
    with closing(
        run_pieces(_measure_part, parts, workers=min(workers, len(parts)), name_of=_name, remedy=_REMEDY)
    ) as finishing:
        yield from finishing


def _name(part: _Part) -> str:
    numbers = part.pixels.numbers
    return f"pixels {numbers[0]} to {numbers[-1]} of {part.pixels.acquisition}"


def _one_thread() -> AbstractContextManager[object]:
    """Matrix products on one thread: more get in the way of other processes, and may add up in another order."""
    try:
        from threadpoolctl import threadpool_limits
    except ModuleNotFoundError:  # an extra; without it frames take longer, and may differ in their last digits
        return nullcontext()
    limits: AbstractContextManager[object] = threadpool_limits(1)
    return limits


def _measure_part(part: _Part) -> Found:
    pixels = part.pixels
    task = pixels.task
    with _one_thread():
        made = find_acquisition(pixels.acquisition, task)
        key = (pixels.number, part.first) if made.in_time else ()  # the others have streams by blocks of pixels
        seed = np.random.SeedSequence(pixels.seed, spawn_key=key)
        expected = None if pixels.around is None else pixels.around.expected(task.sensor.bins)
        acquired = acquire(made, task, task.sensor.rates(*pixels.light), part.first, seed, expected)
        return find(made, task, pixels.estimator, acquired)
