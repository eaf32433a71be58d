"""The engine ``gpu``: tiles of pixels, on all cards that there are."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Event

import numpy as np

from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar.acquisitions import Acquisition, Task, find_acquisition
from linkedbandits.lidar.engines.counter import key_of
from linkedbandits.lidar.engines.engine import Found, Pixels, Progress
from linkedbandits.lidar.engines.finding import by_another
from linkedbandits.lidar.engines.gpu.device import devices, import_cupy, on_card, on_host
from linkedbandits.lidar.engines.gpu.fragments import MOST_CYCLES, MOST_IN_HALF
from linkedbandits.lidar.engines.gpu.pixel_arrays import bytes_of_pixel
from linkedbandits.lidar.engines.gpu.run import SEARCHED_AT_ONCE, Run
from linkedbandits.lidar.engines.gpu.tables import search_numbers
from linkedbandits.lidar.engines.refusals import refuse_unless_simulated
from linkedbandits.lidar.estimators import model_of
from linkedbandits.lidar.gates import Suffixes

MOST_PIXELS = 2**18
"""Pixels of a tile: more would not be faster, and progress would be seen less often."""
MOST_ON_HOST = 2**28
"""Counts that come back from a device at once, where an estimator has to see them."""
_SHARE_OF_MEMORY = 0.8
_SECONDS_BETWEEN_LOOKS = 0.1
_MOST_BINS = 4096
_MOST_SAMPLES = 2**31 - 1


class GpuEngine:
    """CuPy, on all cards of this machine; an error says so at once where there is none."""

    def __init__(self) -> None:
        self._cards = devices()

    def refuse(self, acquisition: str, task: Task) -> None:
        """An error where it does not simulate that, or has no numbers large enough."""
        refuse_unless_simulated("gpu", acquisition, task)
        _refuse_too_large(task)

    def measure(self, pixels: Pixels, progress: Progress) -> Found:
        """Acquire these pixels and find their depths."""
        made = find_acquisition(pixels.acquisition, pixels.task)
        self.refuse(pixels.acquisition, pixels.task)
        whole = Found.nothing(pixels.numbers.size)
        cards = self._cards
        tiles: SimpleQueue[slice] = SimpleQueue()
        size = min(*(_tile_size(pixels, card) for card in cards), max(1, -(-pixels.numbers.size // len(cards))))
        for first in range(0, pixels.numbers.size, size):
            tiles.put(slice(first, first + size))
        if len(cards) == 1:
            _work(cards[0], tiles, pixels, made, whole, progress, Event())
        else:
            _share(cards, tiles, pixels, made, whole, progress)
        return whole


def _share(
    cards: list[int],
    tiles: SimpleQueue[slice],
    pixels: Pixels,
    made: Acquisition,
    whole: Found,
    progress: Progress,
) -> None:
    """Several cards take one tile after the other; whoever fails, or interrupts, ends it for all after their tiles."""
    told: SimpleQueue[int] = SimpleQueue()
    stop = Event()
    with ThreadPoolExecutor(len(cards)) as pool:
        jobs = [pool.submit(_work, card, tiles, pixels, made, whole, told.put, stop) for card in cards]
        try:
            while not all(job.done() for job in jobs) or not told.empty():
                with suppress(Empty):
                    progress(told.get(timeout=_SECONDS_BETWEEN_LOOKS))
                if any(job.done() and job.exception() for job in jobs):
                    stop.set()
        except BaseException:
            stop.set()
            raise
        for job in jobs:
            job.result()


def _refuse_too_large(task: Task) -> None:
    bins = task.sensor.bins
    if bins > _MOST_BINS:
        raise InvalidParameter(f'{bins} bins are more than the {_MOST_BINS} of engine="gpu"; use engine="compiled"')
    if bins * task.cycles > _MOST_SAMPLES or task.cycles > MOST_CYCLES:
        raise InvalidParameter(
            f'{task.cycles} cycles of {bins} bins are more samples of a pixel than engine="gpu" counts; give fewer '
            'cycles, or use engine="compiled"'
        )
    if task.signals[1] > MOST_IN_HALF:
        raise InvalidParameter(
            f'signals up to {task.signals[1]:g} photons a cycle are more than engine="gpu" has numbers for; give '
            f'strongest={MOST_IN_HALF:g} or less, or use engine="compiled"'
        )


def _tile_size(pixels: Pixels, card: int) -> int:
    """How many pixels are on a card together: as many as its memory has room for, and no more than are worth while."""
    cupy = import_cupy()
    bins = pixels.task.sensor.bins
    with cupy.cuda.Device(card):
        free, _ = cupy.cuda.runtime.memGetInfo()
        free += cupy.get_default_memory_pool().free_bytes()
    if not isinstance(pixels.task.sensor.gates, Suffixes):
        free -= 4 * search_numbers(bins) * min(pixels.numbers.size, SEARCHED_AT_ONCE)
    size = min(MOST_PIXELS, int(_SHARE_OF_MEMORY * free / bytes_of_pixel(bins)))
    if pixels.estimator != "map":
        size = min(size, MOST_ON_HOST // (2 * bins))
    if size < 1:
        raise InvalidParameter(
            f"a pixel of {bins} bins takes {bytes_of_pixel(bins):,} bytes, and card {card} has {free:,} free; end what "
            "else runs there"
        )
    return size


def _work(
    card: int,
    tiles: SimpleQueue[slice],
    pixels: Pixels,
    made: Acquisition,
    whole: Found,
    progress: Progress,
    stop: Event,
) -> None:
    """One tile after the other, as long as there are any, and nobody says stop."""
    with on_card(card):
        while not stop.is_set():
            try:
                some = tiles.get_nowait()
            except Empty:
                return
            found = _measure_tile(pixels.take(some), made)
            whole.put(some, found)
            progress(found.depth.size)


def _measure_tile(pixels: Pixels, made: Acquisition) -> Found:
    task = pixels.task
    model = model_of(task.sensor, task.signal, task.strongest, task.told)
    run = Run(made, task, model, pixels.light, pixels.numbers, key_of(pixels.seed), pixels.around)
    run.go()
    proved = on_host(run.pixels.certain) > 0
    light = run.find()
    confident = proved & np.isfinite(light.depth) & (made.sure_of == "map")
    found = Found(
        depth=light.depth,
        cycles=run.cycles(),
        seconds=run.seconds(),
        confident=confident.astype(np.float64),
        proved=proved.astype(np.float64),
        bin=run.named().astype(np.float64),
        signal=light.signal,
        background=light.background,
        sure=light.sure,
    )
    if pixels.estimator == "map":
        return found
    samples, fired = (on_host(each).astype(np.int64) for each in (run.pixels.samples(), run.pixels.fired))
    return by_another(pixels.estimator, made, task, samples, fired, found)
