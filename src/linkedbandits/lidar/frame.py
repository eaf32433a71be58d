"""A frame: every pixel of a scene acquired, and its depth estimated."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import asdict, dataclass
from math import inf, isnan
from typing import Any, NamedTuple

import numpy as np

from linkedbandits.checks import check_whole
from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar.acquiring import acquire
from linkedbandits.lidar.acquisitions import Task, acquisition_name, find_acquisition
from linkedbandits.lidar.borrowing import Known, Pass, expected_from_around, passes
from linkedbandits.lidar.certificate import Certificate
from linkedbandits.lidar.choosing import faster
from linkedbandits.lidar.depth_maps import DepthMap
from linkedbandits.lidar.estimators import find_estimator, model_of
from linkedbandits.lidar.expected import Expected
from linkedbandits.lidar.returns import LEAST_EVIDENCE, few_at_a_time, shares
from linkedbandits.lidar.scene import Scene
from linkedbandits.model import BoolArray, FloatArray, IntArray
from linkedbandits.streams import block_lanes
from linkedbandits.workers import run_pieces

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
    with ``elimination``, that the bin of the true depth is at most ``task.neighbours`` places from it. ``signal`` and
    ``background`` are what the counts say of both, in photons a cycle.
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
    signal: FloatArray
    background: FloatArray

    @property
    def truth(self) -> FloatArray:
        """The scene's depth as far as the sensor reaches; nan elsewhere."""
        return np.where(self.scene.depth < self.task.sensor.reach, self.scene.depth, np.nan)

    @property
    def error(self) -> FloatArray:
        """The estimated depth less the true one, in metres; nan where one of them is."""
        return self.depth - self.truth

    def depth_map(self) -> DepthMap:
        """What was found, without the truth: as a sensor's own file would have it.

        Of a depth that is sure the interval is what was proved; of the others it is all that the sensor reaches.
        """
        within = self.task.tolerance * self.task.sensor.bin_depth
        low = np.where(self.confident, self.depth - within, 0.0)
        high = np.where(self.confident, self.depth + within, self.task.sensor.reach)
        return DepthMap(
            depth=self.depth,
            interval=np.clip(np.stack([low, high], axis=-1), 0.0, self.task.sensor.reach),
            signal=self.signal,
            background=self.background / self.task.sensor.bins,
            confident=self.confident,
            cycles=np.rint(self.cycles).astype(np.int64),
            source=f"{self.scene.name}, simulated, {self.acquisition}",
            delta=self.task.delta,
            tolerance=within,
        )

    def summary(self) -> FrameSummary:
        """The figures people ask of a frame."""
        real = np.isfinite(self.truth)
        sure_of = find_acquisition(self.acquisition, self.task).sure_of
        strongest = inf if self.task.strongest is None else self.task.strongest
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
            rmse_mm=1000 * float(np.sqrt(_mean(error[found] ** 2))),
            mae_mm=1000 * _mean(error[found]),
            within_one_bin=_mean(error <= self.task.sensor.bin_depth),
            within_tolerance=_mean(error <= within),
            worse_than_5_cm=_mean(~(error <= 0.05)),
            cycles_mean=float(self.cycles.mean()),
            cycles_90=float(np.quantile(self.cycles, 0.9)),
            milliseconds_mean=1e3 * float(self.seconds.mean()),
            microseconds_mean=1e6 * float(self.seconds.mean()),
            microseconds_90=1e6 * float(np.quantile(self.seconds, 0.9)),
            confident=float(self.confident.mean()) if sure_of == self.estimator else float("nan"),
            proved=float(self.proved.mean()),
        )


@dataclass(frozen=True)
class FrameSummary:
    """The figures of a frame. Shares are of the pixels that have a depth; one that was not found is not within.

    ``within_tolerance`` is one bin, and half the pulse's width where that is more. ``rmse_mm`` and ``mae_mm``, the root
    of the mean square and the mean of the absolute error, are over the pixels that were found. ``false_depth`` is the
    share of depths among the ``missing`` pixels, which have none. ``too_bright`` pixels send back more than the task's
    strongest signal. ``confident`` is a share of all pixels, and nan where the method guarantees nothing of the
    estimator's depth; ``proved`` is that of the pixels whose bin is guaranteed.
    """

    acquisition: str
    estimator: str
    pixels: int
    missing: int
    too_bright: int
    found: float
    false_depth: float
    rmse_cm: float
    rmse_mm: float
    mae_mm: float
    within_one_bin: float
    within_tolerance: float
    worse_than_5_cm: float
    cycles_mean: float
    cycles_90: float
    milliseconds_mean: float
    microseconds_mean: float
    microseconds_90: float
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
    acquisition = faster(task) if acquisition == "auto" else acquisition_name(acquisition)
    made = find_acquisition(acquisition, task)
    find_estimator(estimator, task.sensor, task.signal)
    if not (scene.depth[scene.present] < task.sensor.reach).any() and scene.present.any():
        raise InvalidParameter(f"all of {scene.name!r} is beyond the reach of {task.sensor.reach:g} m; make it longer")
    depth = np.where(scene.depth < task.sensor.reach, scene.depth, np.nan).reshape(-1) / task.sensor.bin_depth
    signal = scene.signals(task.signal, task.sensor.reach).reshape(-1)
    background = scene.ambients(task.sensor.ambient).reshape(-1) / task.sensor.bins + task.sensor.dark
    pixels = np.full((len(_Found._fields), depth.size), np.nan)
    borrows = task.borrow and made.gates is not None
    order = passes(scene.depth.shape) if borrows else [Pass(1, np.arange(depth.size))]
    for number, some in enumerate(order):
        expected = _expected(pixels, scene.depth.shape, some, task) if number else None
        parts = _parts(task, acquisition, estimator, (depth, signal, background), some.pixels, expected, (seed, number))
        with closing(_finished(parts, workers)) as finished:
            for part, found in finished:
                pixels[:, part.pixels] = found
                if progress is not None:
                    progress(part.pixels.size)
    whole = _Found(*pixels.reshape(-1, *scene.depth.shape))
    return Frame(
        scene=scene,
        task=task,
        acquisition=acquisition,
        estimator=estimator,
        depth=whole.depth * task.sensor.bin_depth,
        cycles=whole.cycles,
        seconds=whole.seconds,
        confident=whole.confident > 0,
        proved=whole.proved > 0,
        bin=whole.bin.astype(np.int64),
        signal=whole.signal,
        background=whole.background * task.sensor.bins,
    )


class _Found(NamedTuple):
    """What is kept of every pixel: depth in bins, and numbers that say yes or no as 1 or 0."""

    depth: FloatArray
    cycles: FloatArray
    seconds: FloatArray
    confident: FloatArray
    proved: FloatArray
    bin: FloatArray
    signal: FloatArray
    background: FloatArray
    sure: FloatArray
    """How much of the posterior is around the depth; 0 without a model of the return."""


class _Part(NamedTuple):
    """All that a worker needs to acquire some pixels; depth is in bins, background in photons a bin."""

    task: Task
    acquisition: str
    estimator: str
    pixels: IntArray
    depth: FloatArray
    signal: FloatArray
    background: FloatArray
    expected: Expected | None
    first: int
    seed: tuple[int, int]
    """That of the frame, and the number of the pass."""


def _expected(pixels: FloatArray, shape: tuple[int, int], some: Pass, task: Task) -> Expected:
    found = _Found(*pixels)
    sure = np.where(np.isfinite(found.depth), np.nan_to_num(found.sure), 0.0)
    known = Known(shape, *(np.nan_to_num(each) for each in (found.depth, sure, found.signal, found.background)))
    return expected_from_around(known, some, task.sensor.bins, task.signal, task.sensor.background)


def _parts(
    task: Task,
    acquisition: str,
    estimator: str,
    truth: tuple[FloatArray, FloatArray, FloatArray],
    pixels: IntArray,
    expected: Expected | None,
    seed: tuple[int, int],
) -> list[_Part]:
    """Runs of pixels that begin where a block of lanes does, however many workers there are."""
    block = block_lanes(task.sensor.bins)
    size = -(-LEAST_PIXELS // block) * block
    parts = []
    for first in range(0, pixels.size, size):
        rows = slice(first, first + size)
        here = pixels[rows]
        depth, signal, background = (each[here] for each in truth)
        these = None if expected is None else expected.take(rows)
        parts.append(_Part(task, acquisition, estimator, here, depth, signal, background, these, first, seed))
    return parts


def _finished(parts: list[_Part], workers: int) -> Generator[tuple[_Part, FloatArray], None, None]:
    """Each part and what was found in it, as they are finished."""
    if workers == 1 or len(parts) == 1:
        for part in parts:
            yield part, _capture_part(part)
        return
    with closing(
        run_pieces(_capture_part, parts, workers=min(workers, len(parts)), name_of=_name, remedy=_REMEDY)
    ) as finishing:
        yield from finishing


def _name(part: _Part) -> str:
    return f"pixels {part.pixels[0]} to {part.pixels[-1]} of {part.acquisition}"


def _one_thread() -> AbstractContextManager[object]:
    """Matrix products on one thread: more get in the way of other processes, and may add up in another order."""
    try:
        from threadpoolctl import threadpool_limits
    except ModuleNotFoundError:  # an extra; without it frames take longer, and may differ in their last digits
        return nullcontext()
    limits: AbstractContextManager[object] = threadpool_limits(1)
    return limits


def _capture_part(part: _Part) -> FloatArray:
    """What was found of some pixels, as rows of :class:`_Found`."""
    with _one_thread():
        return _pixels(part)


def _pixels(part: _Part) -> FloatArray:
    task = part.task
    made = find_acquisition(part.acquisition, task)
    rates = task.sensor.rates(part.depth, part.signal, part.background)
    frame, number = part.seed
    key = (number, part.first) if made.in_time else ()  # the others have streams by blocks of pixels
    seed = np.random.SeedSequence(frame, spawn_key=key)
    acquired = acquire(made, task, rates, part.first, seed, part.expected)
    model = model_of(task.sensor, task.signal, task.strongest, task.told)
    depth, level = np.empty(part.depth.size), acquired.level
    signal, background, sure, seen = np.zeros((4, part.depth.size))
    alike = Expected.alike(part.depth.size, task.sensor.bins, task.signal, model.expected_background)
    certificate = Certificate(task.sensor.pulse, task.tolerance, told=task.told)
    for some in few_at_a_time(part.depth.size, model.cells_per_bin * task.sensor.bins):
        samples, successes = acquired.samples[some], acquired.successes[some]
        log_prior = None if made.gates is None else acquired.log_prior[some]
        if log_prior is None:
            depth[some], level[some] = model.fitted(samples, successes, alike.background[some])
        else:
            depth[some] = model.estimate(samples, successes, level[some], log_prior)
            likelihood = model.log_likelihood(samples, successes, level[some], rough=True)
            none = model.none_better(samples, successes, level[some], depth[some])
            sure[some], _ = shares(likelihood + log_prior[:, np.newaxis, np.newaxis], none, task.tolerance)
        seen[some] = model.evidence(samples, successes, level[some], depth[some], log_prior) > LEAST_EVIDENCE
        signal[some], background[some] = certificate.fit_at(samples, successes, depth[some], alike.take(some))
    if part.estimator == "map":  # the others have no model that could speak against a return
        found = np.where(((seen > 0) | task.present) & acquired.successes.any(axis=1), depth, np.nan)
    else:
        find = find_estimator(part.estimator, task.sensor, task.signal, task.strongest, task.told)
        found = find(acquired.samples, acquired.successes, acquired.bin)
    confident = acquired.proved & np.isfinite(found) & (part.estimator == made.sure_of)
    return np.array(
        [
            found,
            acquired.cycles,
            acquired.seconds,
            confident,
            acquired.proved,
            acquired.bin,
            np.where(seen > 0, signal, 0.0),
            background,
            sure * (seen > 0),
        ]
    )
