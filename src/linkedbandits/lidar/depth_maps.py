"""From photons to a depth map: a depth, its interval, signal and background of every pixel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from linkedbandits.checks import check_delta, check_positive
from linkedbandits.display import Columns, WithFrames, facts, number, paragraph, percent, pixels
from linkedbandits.errors import InvalidParameter
from linkedbandits.figures.images import Image, depth_picture, plot_images
from linkedbandits.lidar.borrowing import Known, Pass, around, passes
from linkedbandits.lidar.estimators import SIGNAL_SPREAD
from linkedbandits.lidar.locating import Located, locate
from linkedbandits.lidar.misfits import misfits
from linkedbandits.lidar.photons import Photons
from linkedbandits.lidar.pulse import read_pulse
from linkedbandits.lidar.sensor import Sensor
from linkedbandits.model import BoolArray, FloatArray, IntArray

BEFORE = 0.005
"""Photons a bin and cycle: the background that is expected before anything was counted. It must not come from the
photons themselves, and M is wide: a hundred times more or less costs four nats, in the first pass alone."""
_PIXELS_AT_ONCE = 2**14
"""Pixels whose counts are copied together: a whole pass may not fit into memory twice."""
_APART = 2.0
"""A background that is this many times what was calibrated is worth a word."""
_FEW = 0.05
"""Less than this share of pixels is not worth one."""


@dataclass(frozen=True, eq=False)
class DepthMap(WithFrames):
    """Images of rows and columns, from a sensor's photons.

    ``depth`` is in metres, nan where nothing speaks for a return; ``interval`` (rows, columns, 2) is from the least to
    the largest depth that is possible, but for a probability ``delta``; ``signal`` is the likeliest photons a cycle
    that come back, ``background`` the likeliest photons a bin and cycle that are no return. ``confident`` says where
    the interval is as narrow as was asked for, the depth lies in it, and nothing speaks for two returns that overlap.
    Where it is not known how often each bin was looked at, or the photons refute the pulse, the mode or the cycles, the
    interval is all depths and nothing is confident; ``notes`` say why. ``cycles`` are laser cycles.
    """

    depth: FloatArray
    interval: FloatArray
    signal: FloatArray
    background: FloatArray
    confident: BoolArray
    cycles: IntArray
    source: str = ""
    delta: float | None = None
    tolerance: float = float("nan")
    """Metres that a depth which is confident may be off."""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("depth", "interval", "signal", "background"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        object.__setattr__(self, "confident", np.asarray(self.confident, dtype=np.bool_))
        object.__setattr__(self, "cycles", np.asarray(self.cycles, dtype=np.int64))
        if self.depth.ndim != 2:
            raise InvalidParameter(f"a depth map of shape {self.depth.shape} is no image; give rows and columns")
        shapes = dict.fromkeys(("signal", "background", "confident", "cycles"), self.depth.shape)
        shapes["interval"] = (*self.depth.shape, 2)
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise InvalidParameter(
                    f"{name} of shape {getattr(self, name).shape} does not fit depth of shape {self.depth.shape}; give "
                    f"one of shape {shape}"
                )

    @property
    def found(self) -> BoolArray:
        """Where there is a depth."""
        return np.isfinite(self.depth)

    def __repr__(self) -> str:
        """The figures people ask first."""
        said = ", ".join(f"{value} {name}" for name, value in self._in_words().items())
        return f"DepthMap({self._of_what()}: {said})"

    def _repr_html_(self) -> str:
        notes = "".join(map(paragraph, self.notes))
        return facts(f"Depth map: {self._of_what()}", self._in_words(), depth_picture(self.images()["depth"]), notes)

    def _of_what(self) -> str:
        source = f"{self.source}, " if self.source else ""
        return f"{source}{self.depth.shape[0]} x {self.depth.shape[1]}"

    def _in_words(self) -> dict[str, str]:
        found = self.depth[self.found]
        words = {"found": percent(float(self.found.mean())) if self.found.size else "-"}
        if found.size:
            words["deep"] = f"{number(float(found.min()))} to {number(float(found.max()))} m"
        words["sure"] = percent(float(self.confident.mean())) if self.found.size else "-"
        return words

    def images(self) -> dict[str, Image]:
        """What a picture shows, by name."""
        width = np.where(self.found, np.diff(self.interval, axis=2)[..., 0], np.nan)
        return {
            "depth": Image("depth (m)", self.depth, "viridis"),
            "interval": Image("width of the interval (m)", width, "magma"),
            "signal": Image("signal (photons a cycle)", np.where(self.found, self.signal, np.nan), "cividis"),
            "background": Image("background (photons a bin and cycle)", self.background, "cividis"),
        }

    def plot(self, what: str | None = None, ax: Any = None) -> Any:
        """The depths, how wide their intervals are, signal and background.

        ``what`` is one of ``"depth"``, ``"interval"``, ``"signal"`` and ``"background"``, for that image alone. Returns
        the matplotlib figure, on white ground, with the notes below; pixels without a depth are grey. With ``ax`` one
        image is drawn there, the depth unless ``what`` says otherwise, and ``ax`` is returned.
        """
        return plot_images(self.images(), what, ax, columns=2, notes=self.notes)

    def _columns(self) -> Columns:
        return pixels(
            {
                "depth": self.depth,
                "low": self.interval[..., 0],
                "high": self.interval[..., 1],
                "signal": self.signal,
                "background": self.background,
                "confident": self.confident,
                "cycles": self.cycles,
            }
        )


def find_depths(
    photons: Photons,
    *,
    fwhm: float | None = None,
    pulse: str | Path | None = None,
    pulse_unit: str | None = None,
    pulse_step: float | None = None,
    signal: float = 0.5,
    delta: float = 0.05,
    tolerance: float | None = None,
    borrow: bool = True,
    engine: str = "numpy",
    progress: Callable[[int], None] | None = None,
) -> DepthMap:
    """The depth of every pixel, from its photons and from what was found around it.

    The pulse as the detector sees it is a Gaussian of full width ``fwhm``, in bins, or it is measured, in the file
    ``pulse``; ``pulse_unit`` (as ``"ns"``) is the unit of that file's times where it does not say, ``pulse_step`` how
    many seconds its values are apart where it has no times. ``signal`` says about how many photons a cycle come back,
    to a factor of ten, ``delta`` how often an interval may be wrong, ``tolerance`` how many bins a sure depth may be
    off: one unless given, or half of a pulse wider than five bins. ``borrow`` has pixels begin with what was found
    around them, from pixels that were looked at before (:mod:`linkedbandits.lidar.borrowing`). ``engine`` says who
    computes it: ``compiled`` and ``gpu`` give the same as ``numpy``, sooner. ``progress`` is called with the number of
    pixels that have just finished.

    >>> import numpy as np
    >>> counts = np.zeros((1, 1, 60), dtype=int)
    >>> counts[0, 0, 29:32] = 30, 60, 30
    >>> photons = Photons.from_histogram(counts, cycles=1000, bin_seconds=1e-9)
    >>> find_depths(photons, fwhm=2.0, signal=0.1).depth.round(1)
    array([[4.6]])
    """
    check_delta(delta)
    check_positive("signal", signal)
    if tolerance is not None:
        check_positive("tolerance", tolerance)
    sensor = sensor_of(photons, fwhm, pulse, pulse_unit, pulse_step)
    if tolerance is None:
        tolerance = sensor.tolerance
    find = partial(
        locate, sensor=sensor, signal=signal, delta=delta, tolerance=tolerance, engine=engine, progress=progress
    )
    found = _pass_by_pass(photons, find, signal, borrow, tolerance)
    shape = photons.shape
    refuted = misfits(photons, found.depth, sensor.pulse) if np.isfinite(found.depth).any() else []
    holds = photons.exact and not refuted
    low, high = (found.low, found.high) if holds else (0 * found.low, 0 * found.high + photons.bins)
    located = DepthMap(
        depth=photons.depth(found.depth).reshape(shape),
        interval=photons.depth(np.stack([low, high], axis=-1)).reshape(*shape, 2),
        signal=found.signal.reshape(shape),
        background=found.background.reshape(shape),
        confident=(found.confident & holds).reshape(shape),
        cycles=photons.cycles,
        source=photons.source,
        delta=delta,
        tolerance=tolerance * photons.bin_depth,
    )
    return replace(located, notes=(*photons.notes, *_notes(located, photons, signal), *refuted))


def _pass_by_pass(
    photons: Photons, find: Callable[..., Located], signal: float, borrow: bool, tolerance: float
) -> Located:
    """Every pixel located, each with a prior from the passes before its own."""
    samples, detections = (each.reshape(-1, photons.bins) for each in (photons.samples, photons.detections))
    calibrated = None if photons.background is None else photons.background.reshape(-1)
    columns = len(fields(Located))
    found = np.zeros((columns, len(samples)))
    known = Known.nothing(photons.shape)
    for some in passes(photons.shape) if borrow else [Pass(1, np.arange(len(samples)))]:
        these = around(known, some, signal, BEFORE, photons.bins)
        if calibrated is not None:
            these = replace(these, background=calibrated[some.pixels])
        for first in range(0, some.pixels.size, _PIXELS_AT_ONCE):
            part = slice(first, first + _PIXELS_AT_ONCE)
            pixels = some.pixels[part]
            located = find(samples[pixels], detections[pixels], expected=these.take(part))
            found[:, pixels] = [getattr(located, field.name) for field in fields(located)]
        now = Located(*found[:, some.pixels])
        light = now.signal, now.background
        known.put(some, these, now.depth, now.probable, *light, tolerance=tolerance, bins=photons.bins)
    whole = Located(*found)
    return replace(whole, confident=whole.confident > 0)


def sensor_of(
    photons: Photons,
    fwhm: float | None,
    pulse: str | Path | None,
    pulse_unit: str | None = None,
    pulse_step: float | None = None,
) -> Sensor:
    """The sensor that these photons are from, as far as depth is concerned: its bins, its pulse and about its light."""
    if fwhm is not None and pulse is not None:
        raise InvalidParameter(
            "both fwhm and pulse were given (--fwhm and --pulse); leave one out: a measured pulse has its own width"
        )
    if fwhm is None and pulse is None:
        raise InvalidParameter(
            "say how the pulse looks: either fwhm=3.0, its full width at half maximum in bins (--fwhm 3), or pulse, "
            "a file in which it was measured (--pulse FILE)"
        )
    if pulse is None and (pulse_unit is not None or pulse_step is not None):
        raise InvalidParameter(
            "pulse_unit and pulse_step (--pulse-unit, --pulse-step) go with a pulse that was measured; give its file "
            "(--pulse FILE), or leave them out"
        )
    response = None
    if pulse is not None:
        response = read_pulse(Path(pulse), photons.bin_seconds, unit=pulse_unit, step=pulse_step)
    width = response.fwhm if response is not None else fwhm
    assert width is not None
    if not 0 < width < photons.bins / 2:
        raise InvalidParameter(
            f"fwhm={width!r} is no pulse within the {photons.bins} bins of {photons.source}; give its width in bins of "
            f"{1e12 * photons.bin_seconds:g} ps"
        )
    # Not from the photons that depths are found from: a pixel's own would come back to it by way of the pixels around.
    rate = BEFORE if photons.background is None else float(photons.background.mean())
    return Sensor(
        bins=photons.bins,
        fwhm=width,
        ambient=rate * photons.bins,
        reach=photons.bins * photons.bin_depth,
        response=response,
    )


def _notes(found: DepthMap, photons: Photons, signal: float) -> list[str]:
    """What people should know of these depths, in plain words."""
    notes = []
    if not found.found.any():
        notes.append("No pixel has a depth: look at the bin width, the pulse and the mode, and where the laser points.")
        return notes
    low, high = signal / SIGNAL_SPREAD, signal * SIGNAL_SPREAD
    seen = found.signal[found.found]
    outside = np.mean((seen < low) | (seen > high))
    if outside > _FEW:
        notes.append(
            f"{100 * outside:.0f} % of the pixels that were found send back less than {low:g} or more than {high:g} "
            f"photons a cycle, which --signal {signal:g} does not expect; about {np.median(seen):.2g} would fit."
        )
    if photons.background is not None:
        ratio = found.background[found.found] / np.maximum(photons.background[found.found], 1e-12)
        apart = np.mean((ratio > _APART) | (ratio < 1 / _APART))
        if apart > _FEW:
            notes.append(
                f"In {100 * apart:.0f} % of the pixels that were found the background is not within a factor of "
                f"{_APART:g} of the calibrated one: the light has changed, or the calibration is of another setting."
            )
    beside = int(((found.depth < found.interval[..., 0]) | (found.depth > found.interval[..., 1])).sum())
    if beside:
        depths = "1 depth is" if beside == 1 else f"{beside:,} depths are"
        notes.append(f"{depths} outside of the interval of the same pixel, and not called sure.")
    behind = int((found.depth[found.found] < 0).sum())
    if behind:
        depths = "1 depth is" if behind == 1 else f"{behind:,} depths are"
        notes.append(f"{depths} below 0: light of depth 0 comes earlier than --zero says.")
    lost = int((photons.samples == photons.detections).all(axis=2).sum())
    if lost:
        notes.append(
            "1 pixel fires whenever it is looked at: nothing can be said of it."
            if lost == 1
            else f"{lost:,} pixels fire whenever they are looked at: nothing can be said of them."
        )
    return notes
