"""A frame: every pixel of a scene acquired, and its depth estimated."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import asdict, dataclass
from math import isnan
from typing import Any, NamedTuple

import numpy as np

from linkedbandits.checks import check_whole
from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar.acquisitions import Acquisition, Task, acquisition_name, find_acquisition
from linkedbandits.lidar.estimators import find_estimator, model_of
from linkedbandits.lidar.returns import few_at_a_time
from linkedbandits.lidar.scene import Scene
from linkedbandits.lidar.sensor import Sensor
from linkedbandits.linkage import find_linkage
from linkedbandits.model import BoolArray, FloatArray, IntArray
from linkedbandits.simulation import Outcomes, simulate_lanes
from linkedbandits.streams import block_lanes
from linkedbandits.workers import run_pieces

MEMORY = 32 * 2**20
"""Bytes for the arrays of the pixels that run side by side in a process."""
LEAST_PIXELS = 256
"""A process takes this many pixels at a time, or a few more."""

_REMEDY = (
    'look at the machine\'s memory, or run with fewer workers; in a script, capture under if __name__ == "__main__":'
)

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Frame:
    """What an acquisition and an estimator made of a scene: images of the scene's shape.

    ``depth`` is in metres, and nan where no photon came or, with the estimator ``map``, where the counts speak against
    any return; ``cycles`` are laser cycles and ``seconds`` the time they took, blind times included (nan for ``free``,
    which no time could run through); ``confident`` says where the policy stopped with a guarantee for this very depth.
    ``bin`` is the one that the policy itself names, and ``proved`` says where it stopped with a guarantee for that:
    with ``elimination``, that the bin of the true depth is at most ``task.neighbours`` places from it.
    """

    scene: Scene
    task: Task
    acquisition: str
    estimator: str
    depth: FloatArray
    cycles: FloatArray
    seconds: FloatArray
    confident: BoolArray
    proved: BoolArray
    bin: IntArray

    @property
    def truth(self) -> FloatArray:
        """The scene's depth as far as the sensor reaches; nan elsewhere."""
        return np.where(self.scene.depth < self.task.sensor.reach, self.scene.depth, np.nan)

    @property
    def error(self) -> FloatArray:
        """The estimated depth less the true one, in metres; nan where one of them is."""
        return self.depth - self.truth

    def summary(self) -> FrameSummary:
        """The figures people ask of a frame."""
        real = np.isfinite(self.truth)
        sure_of = find_acquisition(self.acquisition, self.task).sure_of
        _, strongest = self.task.signals
        error = np.abs(self.error[real])
        found = np.isfinite(error)
        within = self.task.tolerance * self.task.sensor.bin_depth
        return FrameSummary(
            acquisition=self.acquisition,
            estimator=self.estimator,
            pixels=int(real.size),
            missing=int(real.size - real.sum()),
            too_bright=int((self.scene.signals(self.task.signal, self.task.sensor.reach) > strongest).sum()),
            found=_mean(found),
            false_depth=_mean(np.isfinite(self.depth[~real])),
            rmse_cm=100 * float(np.sqrt(_mean(error[found] ** 2))),
            within_one_bin=_mean(error <= self.task.sensor.bin_depth),
            within_tolerance=_mean(error <= within),
            worse_than_5_cm=_mean(~(error <= 0.05)),
            cycles_mean=float(self.cycles.mean()),
            cycles_90=float(np.quantile(self.cycles, 0.9)),
            milliseconds_mean=1000 * float(self.seconds.mean()),
            confident=float(self.confident.mean()) if sure_of == self.estimator else float("nan"),
            proved=float(self.proved.mean()),
        )


@dataclass(frozen=True)
class FrameSummary:
    """The figures of a frame. Shares are of the pixels that have a depth; one that was not found is not within.

    ``within_tolerance`` is one bin, and half the pulse's width where that is more. ``rmse_cm`` is over the pixels that
    were found. ``false_depth`` is the share of depths among the ``missing`` pixels, which have none. ``too_bright``
    pixels send back more than the task's strongest signal. ``confident`` is a share of all pixels, and nan where the
    method guarantees nothing of the estimator's depth; ``proved`` is that of the pixels whose bin is guaranteed.
    """

    acquisition: str
    estimator: str
    pixels: int
    missing: int
    too_bright: int
    found: float
    false_depth: float
    rmse_cm: float
    within_one_bin: float
    within_tolerance: float
    worse_than_5_cm: float
    cycles_mean: float
    cycles_90: float
    milliseconds_mean: float
    confident: float
    proved: float

    def to_dict(self) -> dict[str, Any]:
        """The fields by name, ready for ``json.dumps``; None where there is no number."""
        data = asdict(self)
        return {name: None if isinstance(value, float) and isnan(value) else value for name, value in data.items()}


def _mean(values: FloatArray | BoolArray) -> float:
    return float(values.mean()) if values.size else float("nan")


def capture(
    scene: Scene,
    task: Task,
    acquisition: str = "pulse",
    estimator: str = "map",
    *,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> Frame:
    """Acquire every pixel and estimate its depth. A pixel is a lane; each has at most ``task.cycles`` cycles.

    The same seed gives the same frame, whatever the number of worker processes. ``progress`` is called with the number
    of pixels that have just finished.

    >>> from linkedbandits.lidar import Sensor, Scene, Task
    >>> wall = Scene("wall", np.full((2, 3), 2.5), np.ones((2, 3)))
    >>> frame = capture(wall, Task(Sensor(bins=100, reach=5.0), signal=1.0, cycles=2000, delta=0.05))
    >>> frame.depth.round(1)
    array([[2.5, 2.5, 2.5],
           [2.5, 2.5, 2.5]])
    """
    check_whole("workers", workers)
    acquisition = acquisition_name(acquisition)
    find_acquisition(acquisition, task)
    find_estimator(estimator, task.sensor, task.signal)
    if not (scene.depth[scene.present] < task.sensor.reach).any() and scene.present.any():
        raise InvalidParameter(f"all of {scene.name!r} is beyond the reach of {task.sensor.reach:g} m; make it longer")
    depth = np.where(scene.depth < task.sensor.reach, scene.depth, np.nan).reshape(-1) / task.sensor.bin_depth
    signal = scene.signals(task.signal, task.sensor.reach).reshape(-1)
    pixels = np.empty((6, depth.size))
    with closing(_parts(task, acquisition, estimator, depth, signal, seed, workers)) as parts:
        for first, part in parts:
            pixels[:, first : first + part.shape[1]] = part
            if progress is not None:
                progress(part.shape[1])
    found, cycles, seconds, confident, proved, named = pixels.reshape(-1, *scene.depth.shape)
    return Frame(
        scene=scene,
        task=task,
        acquisition=acquisition,
        estimator=estimator,
        depth=found * task.sensor.bin_depth,
        cycles=cycles,
        seconds=seconds,
        confident=confident > 0,
        proved=proved > 0,
        bin=named.astype(np.int64),
    )


class _Part(NamedTuple):
    """All that a worker needs to acquire some consecutive pixels; depth is in bins."""

    task: Task
    acquisition: str
    estimator: str
    depth: FloatArray
    signal: FloatArray
    first: int
    seed: int


def _parts(
    task: Task, acquisition: str, estimator: str, depth: FloatArray, signal: FloatArray, seed: int, workers: int
) -> Generator[tuple[int, FloatArray], None, None]:
    """Runs of pixels that begin where a block of lanes does, each with its first pixel, as they are finished."""
    block = block_lanes(task.sensor.bins)
    size = -(-LEAST_PIXELS // block) * block
    starts = range(0, depth.size, size)
    parts = [
        _Part(task, acquisition, estimator, depth[start : start + size], signal[start : start + size], start, seed)
        for start in starts
    ]
    if workers == 1 or len(starts) == 1:
        for part in parts:
            yield part.first, _capture_part(part)
        return
    with closing(
        run_pieces(_capture_part, parts, workers=min(workers, len(parts)), name_of=_name, remedy=_REMEDY)
    ) as finishing:
        for part, pixels in finishing:
            yield part.first, pixels


def _name(part: _Part) -> str:
    return f"pixels {part.first} to {part.first + part.depth.size - 1} of {part.acquisition}"


def _one_thread() -> AbstractContextManager[object]:
    """Matrix products on one thread: more get in the way of other processes, and may add up in another order."""
    try:
        from threadpoolctl import threadpool_limits
    except ModuleNotFoundError:  # an extra; without it frames take longer, and may differ in their last digits
        return nullcontext()
    limits: AbstractContextManager[object] = threadpool_limits(1)
    return limits


def _capture_part(part: _Part) -> FloatArray:
    """Depth in bins, cycles, seconds, confident or not, proved or not, and bin, of consecutive pixels."""
    with _one_thread():
        return _pixels(part)


def _pixels(part: _Part) -> FloatArray:
    task, acquisition, estimator, depth, signal, first, seed = part
    made = find_acquisition(acquisition, task)
    chances = task.sensor.chances(depth, signal)
    outcomes = simulate_lanes(
        chances,
        made.policy,
        linkage=made.linkage,
        first=first,
        seed=seed,
        max_plays=task.cycles,
        memory_limit=MEMORY,
    )
    find = find_estimator(estimator, task.sensor, task.signal, task.strongest)
    found = find(outcomes.samples, outcomes.successes, outcomes.top[:, 0])
    if estimator == "map":  # the others have no model that could speak against a return
        model = model_of(task.sensor, task.signal, task.strongest)
        for some in few_at_a_time(depth.size, model.fire.shape[0] * task.sensor.bins):
            present = model.evidence(outcomes.samples[some], outcomes.successes[some]) > 0
            found[some] = np.where(present, found[some], np.nan)
    cycles = outcomes.plays * np.float64(made.cost)
    seconds = _seconds(made, task.sensor, outcomes, chances)
    confident = outcomes.confident & np.isfinite(found) & (estimator == made.sure_of)
    return np.array([found, cycles, seconds, confident, outcomes.confident, outcomes.top[:, 0]])


def _seconds(made: Acquisition, sensor: Sensor, outcomes: Outcomes, chances: FloatArray) -> FloatArray:
    """The time that the plays took; nan for plays in an order in which no time runs."""
    if made.shifts is not None:
        return sensor.elapsed_shifted(outcomes.plays, made.shifts, made.cost, chances)
    if not find_linkage(made.linkage).in_order:
        return np.full(outcomes.plays.size, np.nan)
    return sensor.elapsed(outcomes.plays.astype(np.float64), outcomes.successes)  # a play in order is a cycle
