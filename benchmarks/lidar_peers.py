"""The peers at equal time: what the field does with a pixel's microseconds, on the same scenes and the same sensor."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lidar_sensors import BINS, FWHM, SIGNAL, WORKERS, thinned
from linkedbandits.figures.style import new_panels, save, series_styles
from linkedbandits.lidar import Frame, Scene, Sensor, Suffixes, Task, capture, find_scene
from linkedbandits.lidar.engines.refusals import SIMULATED

AMBIENT = 10.0
SCENES = {"motorcycle": 18, "room": 4, "leaves": 4}
"""Every so-manieth pixel of every so-manieth row."""
DEAD_TIMES = (10, 100)
MICROSECONDS = (5, 10, 20, 40, 80, 160)
POSITIONS = 20
"""Of the gate, in the authors' own experiments with Thompson sampling."""
PICTURE = Path(__file__).parent.parent / "docs" / "figures" / "lidar-peers.png"
MORE_CYCLES_THAN_FIT = 10**6
ENGINE = os.environ.get("ENGINE", "numpy")
"""``ENGINE=compiled make bench ...`` is sooner done; the laws are the same."""
SEED = 12


@dataclass(frozen=True)
class Peer:
    """A way to spend the time, and to find the depth from what was counted."""

    name: str
    acquisition: str
    estimator: str = "map"
    positions: int | None = None
    borrow: bool = False
    drawn: bool = True


PEERS = (
    Peer("synchronous, Coates", "synchronous", "coates", drawn=False),
    Peer("synchronous, map", "synchronous", drawn=False),
    Peer("shifted, Coates", "shifted", "coates", drawn=False),
    Peer("shifted, map", "shifted"),
    Peer("free-running, map", "free-running"),
    Peer("Thompson, 20 positions", "thompson", positions=POSITIONS),
    Peer("Thompson, wrapped", "thompson-wrapped", positions=POSITIONS),
    Peer("pulse", "pulse"),
    Peer("free-running, neighbours", "free-running", borrow=True),
    Peer("pulse, neighbours", "pulse", borrow=True),
)


@dataclass(frozen=True)
class Errors:
    """Over all pixels that have a depth; in millimetres, and the share within a bin."""

    rmse: float
    mae: float
    within: float
    microseconds: float

    @classmethod
    def of(cls, frame: Frame) -> Errors:
        """A pixel in which not one photon was counted is placed in the middle of the range."""
        real = np.isfinite(frame.truth)
        sensor = frame.task.sensor
        error = np.abs(np.where(np.isfinite(frame.depth), frame.depth, sensor.reach / 2) - frame.truth)[real]
        return cls(
            rmse=1000 * float(np.sqrt((error**2).mean())),
            mae=1000 * float(error.mean()),
            within=float((error <= sensor.bin_depth).mean()),
            microseconds=1e6 * float(frame.seconds[real].mean()),
        )


def measure(scene: Scene, peer: Peer, dead_time: float, microseconds: float) -> Errors:
    far = float(np.nanmax(np.where(scene.present, scene.depth, np.nan)))
    sensor = Sensor(
        bins=BINS,
        fwhm=FWHM,
        ambient=AMBIENT,
        reach=float(np.ceil(2.2 * far) / 2),
        dead_time=1e-9 * dead_time,
        gates=Suffixes(peer.positions),
    )
    task = Task(
        sensor,
        SIGNAL,
        MORE_CYCLES_THAN_FIT,
        present=True,  # every method answers with its best guess, in every pixel
        borrow=peer.borrow,
        seconds=1e-6 * microseconds,
    )
    engine = ENGINE if peer.acquisition in SIMULATED else "numpy"
    return Errors.of(capture(scene, task, peer.acquisition, peer.estimator, seed=SEED, workers=WORKERS, engine=engine))


Lines = dict[str, list[Errors]]
"""Of every peer, at each time."""


def settings() -> Iterator[tuple[str, Scene, float]]:
    """Scenes in the sun, thinned once more where there is no time; and dead times in nanoseconds."""
    more = int(os.environ.get("THINNED", "1"))
    for name, step in SCENES.items():
        scene = thinned(find_scene(name), step * more).sunlit()
        for dead_time in DEAD_TIMES:
            yield name, scene, dead_time


def main() -> None:
    """Error against time, over all pixels; and the picture of it."""
    print(f"{BINS} bins, pulse {FWHM:g} bins, signal {SIGNAL:g} and ambient {AMBIENT:g} photons a cycle on average, in")
    print("proportion to a pixel's reflectivity (the signal also to 1 / depth²), and told to no method; a pixel's time")
    print("includes blind times. Cells: RMSE and MAE in mm over all pixels with a depth, and the share within a bin.")
    found: dict[tuple[str, float], Lines] = {}
    for name, scene, dead_time in settings():
        print(f"\n{name}, {int(scene.present.sum()):,} pixels, dead time {dead_time:g} ns\n")
        print("| µs a pixel | " + " | ".join(f"{time}" for time in MICROSECONDS) + " |")
        print("|---|" + "--:|" * len(MICROSECONDS))
        lines: Lines = {}
        for peer in PEERS:
            lines[peer.name] = [measure(scene, peer, dead_time, time) for time in MICROSECONDS]
            cells = (f"{each.rmse:,.0f} / {each.mae:,.0f}, {each.within:.0%}" for each in lines[peer.name])
            print(f"| {peer.name} | " + " | ".join(cells) + " |", flush=True)
        assert all(
            each.microseconds <= time for line in lines.values() for each, time in zip(line, MICROSECONDS, strict=True)
        )
        found[name, dead_time] = lines
    print()
    say_times(found)
    if "THINNED" not in os.environ:
        draw(found)


def say_times(found: dict[tuple[str, float], Lines]) -> None:
    """The time that each needs until 95 % of pixels are within a bin, between two looks on a logarithmic scale."""
    print("µs of a pixel until 95 % are within a bin\n")
    print("| | " + " | ".join(f"{name}, {dead_time:g} ns" for name, dead_time in found) + " |")
    print("|---|" + "--:|" * len(found))
    for peer in PEERS:
        print(f"| {peer.name} | " + " | ".join(crossing(lines[peer.name]) for lines in found.values()) + " |")


def crossing(line: list[Errors], level: float = 0.95) -> str:
    if line[0].within >= level:
        return f"< {MICROSECONDS[0]}"
    for one, other, begins, ends in zip(line, line[1:], MICROSECONDS, MICROSECONDS[1:], strict=False):
        if one.within < level <= other.within:
            part = (level - one.within) / (other.within - one.within)
            return f"{begins * (ends / begins) ** part:.0f}"
    return f"> {MICROSECONDS[-1]}"


def draw(found: dict[tuple[str, float], Lines]) -> None:
    """A panel for each scene and dead time, a line for each peer but the slowest."""
    shown = [peer.name for peer in PEERS if peer.drawn]
    styles = series_styles(shown)
    with new_panels(len(DEAD_TIMES), len(SCENES), 10.5, 6.6) as (figure, axes):
        panels = [(name, dead_time) for dead_time in DEAD_TIMES for name in SCENES]
        for (name, dead_time), panel in zip(panels, axes, strict=True):
            for peer in shown:
                _draw_line(panel, found[name, dead_time][peer], peer, styles[peer])
            panel.set(xscale="log", yscale="log", title=f"{name}, dead time {dead_time:g} ns")
            panel.set_xticks(MICROSECONDS, [str(time) for time in MICROSECONDS])
            panel.minorticks_off()
            panel.set_yticks([2, 10, 50, 200, 1000], ["2", "10", "50", "200", "1,000"])
            panel.set_ylim(1.8, 2600)
        for panel in axes[-len(SCENES) :]:
            panel.set_xlabel("µs a pixel")
        for panel in axes[:: len(SCENES)]:
            panel.set_ylabel("mean absolute error (mm)")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, handlelength=3.2)
        save(figure, PICTURE)
    print(f"\npicture: {PICTURE.relative_to(PICTURE.parents[2])}")


def _draw_line(panel: Any, line: list[Errors], name: str, style: Any) -> None:
    panel.plot(
        MICROSECONDS,
        [each.mae for each in line],
        label=name,
        color=style.colour,
        marker=style.marker,
        linestyle=style.line,
        linewidth=2.0 if name.startswith("pulse") else 1.2,
    )
