"""The engine ``gpu``: tiles of pixels, on all cards that there are."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any

import numpy as np

from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar.acquiring import Acquired
from linkedbandits.lidar.acquisitions import Acquisition, Task, find_acquisition
from linkedbandits.lidar.engines.counter import key_of
from linkedbandits.lidar.engines.engine import Found, Pixels, Progress
from linkedbandits.lidar.engines.finding import find
from linkedbandits.lidar.engines.gpu.device import devices, import_cupy, on_host
from linkedbandits.lidar.engines.gpu.pixel_arrays import NOTHING, bytes_of_pixel
from linkedbandits.lidar.engines.gpu.run import Run
from linkedbandits.lidar.engines.refusals import refuse_unless_simulated
from linkedbandits.lidar.estimators import model_of

MOST_PIXELS = 2**18
"""Pixels of a tile: more would not be faster, and progress would be seen less often."""
MOST_ON_HOST = 2**28
"""Counts that come back from a device at once, where an estimator has to see them."""
_SHARE_OF_MEMORY = 0.8
_MOST_BINS = 4096
_MOST_SAMPLES = 2**31 - 1


class GpuEngine:
    """CuPy, on all cards of this machine; an error says so at once where there is none."""

    def __init__(self) -> None:
        self._cards = devices()

    def measure(self, pixels: Pixels, progress: Progress) -> Found:
        """Acquire these pixels and find their depths."""
        made = find_acquisition(pixels.acquisition, pixels.task)
        refuse_unless_simulated("gpu", made, pixels.acquisition, pixels.task)
        _refuse_too_large(pixels.task)
        whole = Found.nothing(pixels.numbers.size)
        cards = self._cards
        tiles: SimpleQueue[slice] = SimpleQueue()
        size = _tile_size(pixels, cards[0])
        for first in range(0, pixels.numbers.size, size):
            tiles.put(slice(first, first + size))
        one_at_a_time = Lock()

        def tell(count: int) -> None:
            with one_at_a_time:
                progress(count)

        with ThreadPoolExecutor(len(cards)) as pool:
            for each in [pool.submit(_work, card, tiles, pixels, made, whole, tell) for card in cards]:
                each.result()
        return whole


def _refuse_too_large(task: Task) -> None:
    bins = task.sensor.bins
    if bins > _MOST_BINS:
        raise InvalidParameter(f'{bins} bins are more than the {_MOST_BINS} of engine="gpu"; use engine="compiled"')
    if bins * task.cycles > _MOST_SAMPLES:
        raise InvalidParameter(
            f'{task.cycles} cycles of {bins} bins are more samples of a pixel than engine="gpu" counts; give fewer '
            'cycles, or use engine="compiled"'
        )


def _tile_size(pixels: Pixels, card: int) -> int:
    """How many pixels are on a card together: as many as its memory has room for, and no more than are worth while."""
    cupy = import_cupy()
    bins = pixels.task.sensor.bins
    with cupy.cuda.Device(card):
        free, _ = cupy.cuda.runtime.memGetInfo()
        free += cupy.get_default_memory_pool().free_bytes()
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
    card: int, tiles: SimpleQueue[slice], pixels: Pixels, made: Acquisition, whole: Found, progress: Progress
) -> None:
    """One tile after the other, as long as there are any."""
    with import_cupy().cuda.Device(card):
        while True:
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
    if pixels.estimator != "map":
        return find(made, task, pixels.estimator, _acquired(run, made, proved))
    found = run.find()
    confident = proved & np.isfinite(found.depth) & (pixels.estimator == made.sure_of)
    return Found(
        depth=found.depth,
        cycles=run.cycles(),
        seconds=run.seconds(),
        confident=confident.astype(np.float64),
        proved=proved.astype(np.float64),
        bin=run.named().astype(np.float64),
        signal=found.signal,
        background=found.background,
        sure=found.sure,
    )


def _acquired(run: Run, made: Acquisition, proved: Any) -> Acquired:
    """All that was acquired, with its counts: for estimators that run on the host."""
    arrays = run.pixels
    samples = on_host(arrays.samples()).astype(np.int64)
    prior = np.zeros((arrays.count, 0))
    if made.gates is not None:
        bins = samples.shape[1]
        given = arrays.log_prior is not NOTHING
        prior = on_host(arrays.log_prior).astype(np.float64) if given else np.full((arrays.count, bins), -np.log(bins))
    return Acquired(
        samples=samples,
        successes=on_host(arrays.fired).astype(np.int64),
        cycles=run.cycles(),
        seconds=run.seconds(),
        bin=run.named().astype(np.int64),
        stopped=on_host(arrays.stopped) > 0,
        proved=proved,
        level=on_host(arrays.level).astype(np.int64),
        log_prior=prior,
    )
