"""The picture of some frames of one scene: depth, error, time and background, an acquisition a column."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import Any

import numpy as np

from linkedbandits.display import percent
from linkedbandits.errors import CannotWrite
from linkedbandits.figures.images import NO_NUMBER, TAILS, colour_bar, image_aspect, rounded_up
from linkedbandits.figures.style import new_panels, save
from linkedbandits.lidar.frame import Frame
from linkedbandits.model import BoolArray

ENDINGS = (".png", ".svg", ".pdf")
ROWS = ("depth (m)", "error", "time (µs)", "background\n(photons a cycle)")
_LEAST_BINS = 20
"""Depth's colours span at least this many bins."""
_MOST_ERROR = 0.1
"""Errors beyond this many metres have one colour: of those far off it is enough to see that they are."""
_LEAST_ERROR = 1e-4
"""Metres: smaller ones are of no interest."""
_UNITS = {"cm": 100.0, "mm": 1000.0}
_PANEL = 2.3
"""Inches from side to side of a panel: what is written above it has room."""
_HEIGHTS = (1.3, 3.4)
"""Inches of a panel: the task has room in the lowest, and a picture with the highest is no longer than a page."""
_SMALL = 9
"""Points of what is written, but for the names of columns."""


def check_picture(path: Path) -> None:
    """Refuse before the work what no picture can be written to."""
    if path.suffix.lower() not in ENDINGS or path.is_dir():
        raise CannotWrite(f"the picture {str(path)!r} cannot be written; name a file in {', '.join(ENDINGS)}")


def draw_frames(path: Path, frames: list[Frame]) -> None:
    """Write the picture: the true scene in the first column, then a column for every frame."""
    save(frames_figure(frames), path, trimmed=True)


def frames_figure(frames: list[Frame]) -> Any:
    """The figure of that picture."""
    first = frames[0]
    high, wide = first.truth.shape
    columns = len(frames) + 1
    tall = float(np.clip(_PANEL * high / wide, *_HEIGHTS))
    with new_panels(len(ROWS), columns, _PANEL * columns + 1.0, (tall + 0.35) * len(ROWS)) as (figure, panels):
        figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
        grid = np.array(panels, dtype=object).reshape(len(ROWS), columns)
        for axes in grid.flat:
            axes.set(xticks=[], yticks=[])
            axes.grid(visible=False)
            axes.spines[:].set(visible=True, color="0.6", linewidth=0.6)  # or white would have no border
            axes.set_facecolor(NO_NUMBER)
        real = first.truth[np.isfinite(first.truth)]
        near, far = (real.min(), real.max()) if real.size else (0.0, first.task.sensor.reach)
        margin = max(0.0, _LEAST_BINS * first.task.sensor.bin_depth - (far - near)) / 2  # or a wall would have no shade
        times = [1e6 * frame.seconds for frame in frames]
        most = max([float(time[np.isfinite(time)].max()) for time in times if np.isfinite(time).any()], default=1.0)
        light = first.scene.ambients(first.task.sensor.ambient) + first.task.sensor.dark * first.task.sensor.bins
        unit, error = _scale_of_errors(frames)
        seen = [light, *(frame.background for frame in frames)]
        images = [
            {"cmap": "viridis", "vmin": near - margin, "vmax": far + margin},
            {"cmap": "RdBu", "vmin": -error, "vmax": error},
            {"cmap": "magma", "vmin": 0.0, "vmax": most},
            {"cmap": "cividis", "vmin": 0.0, "vmax": max(float(light.max()), *map(_most, seen), 1e-9)},
        ]
        values: list[list[Any]] = [[first.truth], [], [], [light]]
        drawn: list[Any] = [_show(grid[0, 0], first.truth, images[0])]
        grid[0, 0].set_title("true depth")
        _show(grid[1, 0], first.scene.reflectivity, {"cmap": "gray", "vmin": 0.0, "vmax": 1.0})
        grid[1, 0].set_title("reflectivity, white is 1", fontsize=_SMALL)
        _describe(grid[2, 0], first)
        _show(grid[3, 0], light, images[3])
        grid[3, 0].set_title("true background", fontsize=_SMALL)
        for column, frame in enumerate(frames, start=1):
            shown = (frame.depth, _UNITS[unit] * frame.error, 1e6 * frame.seconds, frame.background)
            for row, image in enumerate(shown):
                values[row].append(image)
            drawn = [_show(grid[row, column], image, images[row]) for row, image in enumerate(shown)]
            for row in (0, 1):
                _mark(grid[row, column], np.isfinite(frame.truth) & ~np.isfinite(frame.depth))
            summary = frame.summary()
            grid[0, column].set_title(frame.acquisition)
            grid[1, column].set_title(_right(summary.within_tolerance, first.task.tolerance), fontsize=_SMALL)
            grid[2, column].set_title(_took(summary.microseconds_mean, summary.cycles_mean), fontsize=_SMALL)
        for row, title in enumerate(ROWS):
            label = f"{title} ({unit})" if title == "error" else title
            colour_bar(grid[row].tolist(), drawn[row], values[row], label)
    return figure


def _scale_of_errors(frames: list[Frame]) -> tuple[str, float]:
    """The unit of errors, and where their colours end in it: behind nearly all of them, but not far off."""
    most = max(_most(abs(frame.error)) for frame in frames)
    end = rounded_up(min(max(most, _LEAST_ERROR), _MOST_ERROR))
    unit = "cm" if end >= 0.01 else "mm"
    return unit, rounded_up(end * _UNITS[unit])


def _most(image: Any) -> float:
    """What nearly all of an image is no more than; 0 where it has no number."""
    known = image[np.isfinite(image)]
    return float(np.percentile(known, TAILS[1])) if known.size else 0.0


def _show(axes: Any, image: Any, colours: dict[str, Any]) -> Any:
    return axes.imshow(image, **colours, interpolation="nearest", aspect=image_aspect(image.shape[:2]))


def _right(share: float, tolerance: float) -> str:
    """What is said of the errors; nothing where no pixel has a true depth."""
    return "" if isnan(share) else f"{percent(share)} within {tolerance:.3g} bin{'s' * (tolerance != 1)}"


def _took(microseconds: float, cycles: float) -> str:
    """What a pixel took; ``free`` is no sensor, and takes no time."""
    time = "" if isnan(microseconds) else f"{microseconds:,.0f} µs, "
    return f"mean: {time}{cycles:,.0f} cycles"


def _mark(axes: Any, missed: BoolArray) -> None:
    """Paint black the pixels that have a depth which was not found."""
    _show(axes, np.where(missed[..., np.newaxis], [0.0, 0.0, 0.0, 1.0], 0.0), {})


def _describe(axes: Any, frame: Frame) -> None:
    """The task, in words, where there is no image."""
    axes.set_axis_off()
    task = frame.task
    lines = (
        f"{task.sensor.bins} bins of {100 * task.sensor.bin_depth:.3g} cm",
        f"pulse {task.sensor.pulse.fwhm:.3g} bins wide",
        f"ambient {task.sensor.ambient:.3g}, signal {task.signal:.3g}",
        "photons a cycle" + (f", {task.sensor.dark:.2g} dark a bin" if task.sensor.dark else ""),
        f"estimator: {frame.estimator}",
        f"at most {task.cycles:,} cycles" + ("" if task.delta is None else f", delta {task.delta:g}"),
        "grey: no true depth",
        "black: not found",
    )
    axes.text(0.0, 0.95, "\n".join(lines), va="top", fontsize=_SMALL, transform=axes.transAxes)
