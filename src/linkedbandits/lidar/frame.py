"""A frame: every pixel of a scene acquired, and its depth estimated."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import inf, isnan
from typing import Any

import numpy as np

from linkedbandits import display
from linkedbandits.checks import check_whole
from linkedbandits.display import Columns, WithFrames, facts, percent
from linkedbandits.errors import InvalidParameter
from linkedbandits.figures.images import Image, depth_picture, plot_images
from linkedbandits.lidar.acquisitions import Task, acquisition_name, find_acquisition
from linkedbandits.lidar.borrowing import Known, Pass, around, passes
from linkedbandits.lidar.choosing import faster
from linkedbandits.lidar.depth_maps import DepthMap
from linkedbandits.lidar.engines import Found, Light, Pixels, find_engine
from linkedbandits.lidar.engines.engine import Progress
from linkedbandits.lidar.estimators import find_estimator
from linkedbandits.lidar.scene import Scene
from linkedbandits.model import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Frame(WithFrames):
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

    def __repr__(self) -> str:
        """The figures people ask first; the images have theirs in ``depth``, ``error`` and ``seconds``."""
        one = self.summary()
        right = f"{percent(one.within_tolerance)} within {self._tolerance()}"
        took = f"{display.plays(one.cycles_mean)} cycles and {_microseconds(one.microseconds_mean)} a pixel"
        sure = "" if isnan(one.confident) else f", {percent(one.confident)} sure"
        of = f"{self.scene.name}, {_size(self.depth)}, {self.acquisition} and {self.estimator}"
        return f"Frame({of}: {right},\n  root mean square {display.number(one.rmse_mm)} mm, {took}{sure})"

    def _repr_html_(self) -> str:
        title = f"Frame of {self.scene.name}, {_size(self.depth)}, {self.acquisition} and {self.estimator}"
        return facts(title, self.summary().in_words(self._tolerance()), depth_picture(self._images()[0]))

    def plot(self, what: str | None = None, ax: Any = None) -> Any:
        """The depth that was found, its error and the time that it took, side by side.

        ``what`` is one of ``"depth"``, ``"error"`` and ``"time"``, for that image alone. Returns the matplotlib figure,
        on white ground; pixels without a depth are grey. With ``ax`` one image is drawn there, the depth unless
        ``what`` says otherwise, and ``ax`` is returned.
        """
        return plot_images(dict(zip(("depth", "error", "time"), self._images(), strict=True)), what, ax, columns=3)

    def _images(self) -> tuple[Image, Image, Image]:
        return (
            Image("depth (m)", self.depth, "viridis"),
            Image("error (cm)", 100 * self.error, "RdBu", around_zero=True),
            Image("time (µs)", 1e6 * self.seconds, "magma"),
        )

    def _tolerance(self) -> str:
        return f"{display.number(100 * self.task.tolerance * self.task.sensor.bin_depth)} cm"

    def _columns(self) -> Columns:
        names = ("depth", "truth", "error", "cycles", "seconds", "confident", "proved", "bin", "signal", "background")
        return display.pixels({name: getattr(self, name) for name in names})

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

    def __repr__(self) -> str:
        """The figures people ask first; the others are fields, and :meth:`to_dict` has them all."""
        sure = "" if isnan(self.confident) else f", {percent(self.confident)} sure"
        return (
            f"FrameSummary({self.acquisition} and {self.estimator}, {display.counted(self.pixels, 'pixel')}:\n"
            f"  {percent(self.found)} found, {percent(self.within_tolerance)} within the tolerance,\n"
            f"  root mean square error {display.number(self.rmse_mm)} mm, mean absolute error "
            f"{display.number(self.mae_mm)} mm,\n"
            f"  {display.plays(self.cycles_mean)} cycles and {_microseconds(self.microseconds_mean)} a pixel{sure})"
        )

    def in_words(self, tolerance: str = "the tolerance") -> dict[str, str]:
        """The figures as people read them, by what they are."""
        return {
            "found": percent(self.found),
            f"within {tolerance}": percent(self.within_tolerance),
            "root mean square error": f"{display.number(self.rmse_mm)} mm",
            "cycles a pixel": f"{display.plays(self.cycles_mean)}, nine in ten within {display.plays(self.cycles_90)}",
            "time a pixel": _microseconds(self.microseconds_mean),
            "sure of their depth": percent(self.confident),
        }

    def _repr_html_(self) -> str:
        title = f"Frame by {self.acquisition} and {self.estimator}, {display.counted(self.pixels, 'pixel')}"
        return facts(title, self.in_words())

    def to_dict(self) -> dict[str, Any]:
        """The fields by name, ready for ``json.dumps``, with nine digits; None where there is no number."""
        return {name: _of_json(value) for name, value in asdict(self).items()}


def _of_json(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return None if isnan(value) else display.readable(value)


def _size(image: FloatArray) -> str:
    return f"{image.shape[0]} x {image.shape[1]}"


def _microseconds(value: float) -> str:
    """A time; none where no time could run through."""
    return "no time" if isnan(value) else f"{display.number(value)} µs"


def _mean(values: FloatArray | BoolArray) -> float:
    return float(values.mean()) if values.size else float("nan")


def capture(
    scene: Scene,
    task: Task,
    acquisition: str = "pulse",
    estimator: str = "map",
    *,
    seed: int = 0,
    workers: int | None = None,
    engine: str = "numpy",
    progress: Progress | None = None,
) -> Frame:
    """Acquire every pixel and estimate its depth. A pixel is a lane; each has at most ``task.cycles`` cycles.

    ``engine`` says who computes it (:mod:`linkedbandits.lidar.engines`), and ``workers`` how many share the pixels:
    processes with ``"numpy"``, one unless given; threads with ``"compiled"``, one for each core unless given. ``"gpu"``
    takes all cards of the machine and has no workers: it refuses them. With one engine the same seed gives the same
    frame, whatever the number of workers, blocks or devices; with different engines, frames of the same law.
    ``progress`` is called with the number of pixels that have just finished.

    >>> from linkedbandits.lidar import Sensor, Scene, Task
    >>> wall = Scene("wall", np.full((2, 3), 2.5), np.ones((2, 3)))
    >>> frame = capture(wall, Task(Sensor(bins=100, reach=5.0), signal=1.0, cycles=2000, delta=0.05))
    >>> frame.depth.round(1)
    array([[2.5, 2.5, 2.5],
           [2.5, 2.5, 2.5]])
    """
    if workers is not None:
        check_whole("workers", workers)
    chosen = find_engine(engine, workers)
    acquisition = faster(task) if acquisition == "auto" else acquisition_name(acquisition)
    made = find_acquisition(acquisition, task)
    find_estimator(estimator, task.sensor, task.signal)
    if not (scene.depth[scene.present] < task.sensor.reach).any() and scene.present.any():
        raise InvalidParameter(
            f"all of {scene.name!r} is beyond the reach of {task.sensor.reach:g} m; look farther (--reach)"
        )
    sensor = task.sensor
    light = Light(
        depth=np.where(scene.depth < sensor.reach, scene.depth, np.nan).reshape(-1) / sensor.bin_depth,
        signal=scene.signals(task.signal, sensor.reach).reshape(-1),
        background=scene.ambients(sensor.ambient).reshape(-1) / sensor.bins + sensor.dark,
    )
    whole = Found.nothing(light.depth.size)
    borrows = task.borrow and made.gates is not None
    order = passes(scene.depth.shape) if borrows else [Pass(1, np.arange(light.depth.size))]
    known = Known.nothing(scene.depth.shape)
    for number, some in enumerate(order):
        these = around(known, some, task.signal, sensor.background, sensor.bins) if number else None
        pixels = Pixels(
            task, acquisition, estimator, some.pixels, light.take(some.pixels), these, seed=seed, number=number
        )
        found = chosen.measure(pixels, progress or _silent)
        whole.put(some.pixels, found)
        if number + 1 < len(order):
            light_found = found.signal, found.background
            known.put(some, these, found.depth, found.sure, *light_found, tolerance=task.tolerance, bins=sensor.bins)
    whole = Found(*(each.reshape(scene.depth.shape) for each in whole))
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


def _silent(pixels: int) -> None:
    """Progress that nobody asked for."""
