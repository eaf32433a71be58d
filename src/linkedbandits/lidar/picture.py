"""The picture of some frames of one scene: depth, error, time and background, an acquisition a column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from linkedbandits.errors import CannotWrite
from linkedbandits.figures.style import new_panels, save
from linkedbandits.lidar.frame import Frame
from linkedbandits.model import BoolArray

ENDINGS = (".png", ".svg", ".pdf")
ROWS = ("depth (m)", "error (cm)", "time (µs)", "background\n(photons a cycle)")
_LEAST_BINS = 20
"""Depth's colours span at least this many bins."""
_MOST_ERROR = 10.0
"""Errors beyond this many centimetres have one colour."""


def check_picture(path: Path) -> None:
    """Refuse before the work what no picture can be written to."""
    if path.suffix.lower() not in ENDINGS or path.is_dir():
        raise CannotWrite(f"the picture {str(path)!r} cannot be written; name a file in {', '.join(ENDINGS)}")


def draw_frames(path: Path, frames: list[Frame]) -> None:
    """Write the picture: the true scene in the first column, then a column for every frame."""
    first = frames[0]
    high, wide = first.truth.shape
    columns = len(frames) + 1
    width = 2.3 * columns + 1.0
    with new_panels(len(ROWS), columns, width, 2.3 * len(ROWS) * max(high / wide, 0.5) + 1.4) as (figure, panels):
        figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)  # or titles and labels at the border are cut
        grid = np.array(panels, dtype=object).reshape(len(ROWS), columns)
        for axes in grid.flat:
            axes.set(xticks=[], yticks=[])
            axes.grid(visible=False)
            axes.spines[:].set_visible(False)
            axes.set_facecolor("0.85")  # where there is no depth
        real = first.truth[np.isfinite(first.truth)]
        near, far = (real.min(), real.max()) if real.size else (0.0, first.task.sensor.reach)
        margin = max(0.0, _LEAST_BINS * first.task.sensor.bin_depth - (far - near)) / 2  # or a wall would have no shade
        times = [1e6 * frame.seconds for frame in frames]
        most = max([float(time[np.isfinite(time)].max()) for time in times if np.isfinite(time).any()], default=1.0)
        light = first.scene.ambients(first.task.sensor.ambient) + first.task.sensor.dark * first.task.sensor.bins
        images = [
            {"cmap": "viridis", "vmin": near - margin, "vmax": far + margin},
            {"cmap": "RdBu", "vmin": -_MOST_ERROR, "vmax": _MOST_ERROR},
            {"cmap": "magma", "vmin": 0.0, "vmax": most},
            {"cmap": "cividis", "vmin": 0.0, "vmax": max(float(light.max()), 1e-9)},
        ]
        drawn: list[Any] = [grid[0, 0].imshow(first.truth, **images[0], interpolation="nearest")]
        grid[0, 0].set_title("true depth")
        grid[1, 0].imshow(first.scene.reflectivity, cmap="gray", vmin=0.0, vmax=1.0, interpolation="nearest")
        grid[1, 0].set_title("reflectivity")
        _describe(grid[2, 0], first)
        grid[3, 0].imshow(light, **images[3], interpolation="nearest")
        grid[3, 0].set_title("true background", fontsize=9)
        for column, frame in enumerate(frames, start=1):
            shown = (frame.depth, 100 * frame.error, 1e6 * frame.seconds, frame.background)
            drawn = [
                grid[row, column].imshow(image, **images[row], interpolation="nearest")
                for row, image in enumerate(shown)
            ]
            for row in (0, 1):
                _mark(grid[row, column], np.isfinite(frame.truth) & ~np.isfinite(frame.depth))
            summary = frame.summary()
            grid[0, column].set_title(frame.acquisition)
            grid[1, column].set_title(f"{100 * summary.within_tolerance:.1f} % right", fontsize=9)
            grid[2, column].set_title(
                f"{summary.microseconds_mean:,.0f} µs, {summary.cycles_mean:,.0f} cycles on average", fontsize=9
            )
        for row, title in enumerate(ROWS):
            figure.colorbar(drawn[row], ax=grid[row].tolist(), label=title, pad=0.01)
        save(figure, path)


def _mark(axes: Any, missed: BoolArray) -> None:
    """Paint black the pixels that have a depth which was not found."""
    axes.imshow(np.where(missed[..., np.newaxis], [0.0, 0.0, 0.0, 1.0], 0.0), interpolation="nearest")


def _describe(axes: Any, frame: Frame) -> None:
    """The task, in words, where there is no image."""
    axes.set_axis_off()
    task = frame.task
    lines = (
        f"{task.sensor.bins} bins of {100 * task.sensor.bin_depth:.1f} cm",
        f"pulse {task.sensor.fwhm:g} bins wide",
        f"ambient {task.sensor.ambient:g}, signal {task.signal:g}",
        "photons a cycle" + (f", {task.sensor.dark:g} dark a bin" if task.sensor.dark else ""),
        f"estimator: {frame.estimator}",
        f"at most {task.cycles:,} cycles" + ("" if task.delta is None else f", delta {task.delta:g}"),
        "grey: no true depth",
        "black: not found",
    )
    axes.text(0.0, 0.95, "\n".join(lines), va="top", fontsize=9, transform=axes.transAxes)
