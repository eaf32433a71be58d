"""The plate of one pixel: its gate learning over time. What it opens, what it saw, what it believes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from linkedbandits.figures.style import COLOURS, new_panels, save
from linkedbandits.lidar.watching import Watched
from linkedbandits.model import FloatArray

_LEAST_BELIEF = 1e-4


def draw_plate(path: Path, watched: Watched) -> None:
    """Write the plate: depth from left to right, time downwards, one panel for each of the three."""
    sensor = watched.task.sensor
    with new_panels(1, 3, 11.0, 4.8) as (figure, panels):
        metres = np.arange(sensor.bins + 1) * sensor.bin_depth
        time = np.concatenate([[0.0], 1e6 * watched.seconds])
        opened, seen, believed = panels
        opened.pcolormesh(metres, time, watched.gate, cmap="Blues", vmin=0, vmax=1.6, rasterized=True)
        opened.set_title("what it opens")
        _draw_photons(seen, watched, time)
        seen.set_title("what it saw")
        belief = np.log10(np.maximum(watched.belief, _LEAST_BELIEF))
        image = believed.pcolormesh(metres, time, belief, cmap="magma_r", vmin=-4, vmax=0, rasterized=True)
        believed.set_title("what it believes")
        bar = figure.colorbar(image, ax=believed, pad=0.02, ticks=[-4, -3, -2, -1, 0])
        bar.set_ticklabels(["0.0001", "0.001", "0.01", "0.1", "1"])
        bar.set_label("probability of a bin")
        for axes in panels:
            axes.set(xlim=(0, sensor.reach), ylim=(time[-1], 0), xlabel="depth (m)")
            axes.grid(visible=False)
            if np.isfinite(watched.depth):
                axes.axvline(watched.depth * sensor.bin_depth, color=COLOURS[4], linewidth=0.8, linestyle="--")
        opened.set_ylabel("time (µs)")
        for axes in (seen, believed):
            axes.tick_params(labelleft=False)
        figure.suptitle(_words(watched), fontsize=10)
        save(figure, path, trimmed=True)


def _draw_photons(axes: Any, watched: Watched, time: FloatArray) -> None:
    """Every photon a dot, at its depth and anywhere within the time that its gate was used for."""
    generator = np.random.default_rng(0)
    look, place = np.nonzero(watched.photons)
    look, place = (each.repeat(watched.photons[look, place]) for each in (look, place))
    when = time[look] + generator.uniform(0, 1, look.size) * (time[look + 1] - time[look])
    depth = (place + generator.uniform(0, 1, look.size)) * watched.task.sensor.bin_depth
    axes.plot(depth, when, ".", color=COLOURS[0], markersize=2.0, alpha=0.6)


def _words(watched: Watched) -> str:
    sensor = watched.task.sensor
    truth = "no return" if np.isnan(watched.depth) else f"true depth {watched.depth * sensor.bin_depth:.2f} m (dashed)"
    ended = "sure" if watched.certain else "found"
    return (
        f"{truth}; {ended} after {watched.cycles[-1]:,} cycles and {1e6 * watched.seconds[-1]:,.0f} µs: "
        f"{watched.found * sensor.bin_depth:.2f} m. Gates: {sensor.gates.words}"
    )
