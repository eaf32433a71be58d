"""``linkedbandits lidar``: a scene through a single-photon sensor, one acquisition beside the other; or photons of a
real sensor, which :mod:`linkedbandits.cli.lidar_photons` makes a depth map of.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import partial
from math import ceil, isnan
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from linkedbandits.checks import check_not_negative
from linkedbandits.cli import formatting
from linkedbandits.cli import lidar_photons as photon_options
from linkedbandits.cli import options as opt
from linkedbandits.cli.progress import progress_bar
from linkedbandits.cli.report import fits
from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar import (
    ACQUISITIONS,
    ESTIMATORS,
    SCENES,
    Frame,
    Scene,
    Sensor,
    Task,
    capture,
    find_acquisition,
    find_estimator,
    find_scene,
    read_scene,
)
from linkedbandits.lidar.depth_files import FIELD_OF_VIEW
from linkedbandits.lidar.picture import check_picture, draw_frames
from linkedbandits.lidar.scene import UNITS

DEFAULT_METHODS = ("synchronous", "even", "pulse")
PICTURE = Path("lidar.png")
MOST_CYCLES = 20_000
"""Where a pixel ends that was given delta alone: there may be nothing to be seen."""


def lidar(
    context: typer.Context,
    scene: Annotated[
        str | None, typer.Option(help=f"A scene: {', '.join(SCENES)}; motorcycle unless a file is given.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option(help="A depth map of your own: .npy or .npz in metres, .png in 16-bit millimetres.")
    ] = None,
    unit: Annotated[
        str | None, typer.Option(help=f"What the depths of --file are in, if not that: {', '.join(UNITS)}.")
    ] = None,
    size: Annotated[int, typer.Option(help="Thin the scene to at most this many pixels a side.")] = 64,
    bins: Annotated[int, typer.Option(help="Time bins of the sensor.")] = 200,
    fwhm: Annotated[float, typer.Option(help="Width of the laser's pulse, in bins.")] = 3.0,
    reach: Annotated[
        float | None, typer.Option(help="Depth in metres that the last bin ends at; the scene's unless given.")
    ] = None,
    ambient: Annotated[float, typer.Option(help="Background photons per cycle.")] = 5.0,
    signal: Annotated[float, typer.Option(help="Photons of the pulse that come back, on average over pixels.")] = 0.5,
    strongest: Annotated[
        float | None, typer.Option(help="The largest signal to be prepared for; ten times the mean unless given.")
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help=f"How to spend cycles: {', '.join(ACQUISITIONS)}. Repeat it to compare; "
            f"without it, {', '.join(DEFAULT_METHODS)}."
        ),
    ] = None,
    estimator: Annotated[str, typer.Option(help=f"How to find depth: {', '.join(ESTIMATORS)}.")] = "map",
    cycles: Annotated[int | None, typer.Option(help="Laser cycles that a pixel may have.")] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            help="Stop a pixel when its depth (pulse) or its bin (elimination) is wrong with at most this probability."
        ),
    ] = None,
    dark: Annotated[float, typer.Option(help="Photons that the detector makes by itself, per bin and cycle.")] = 0.0,
    dead_time: Annotated[float, typer.Option(help="Nanoseconds that the detector is blind after a photon.")] = 100.0,
    seed: opt.SeedOption = 0,
    workers: Annotated[int, typer.Option(help="How many processes share the pixels.")] = 2,
    picture: Annotated[Path, typer.Option(help="Write the maps side by side to this .png, .svg or .pdf.")] = PICTURE,
    as_json: opt.Json = False,
    photons: photon_options.PhotonFile = None,
    out: photon_options.Out = None,
    bin_width: photon_options.BinWidth = None,
    pulse: photon_options.PulseFile = None,
    mode: photon_options.ModeOfSensor = None,
    background: photon_options.Background = None,
    background_cycles: photon_options.BackgroundCycles = None,
    capture_kind: photon_options.Capture = None,
    array: photon_options.ArrayName = None,
    axes: photon_options.Axes = None,
    shape: photon_options.Shape = None,
    merge: photon_options.Merge = 1,
    first_bin: photon_options.FirstBin = None,
    last_bin: photon_options.LastBin = None,
    period: photon_options.Period = None,
    opens: photon_options.Opens = 0,
    zero: photon_options.Zero = None,
    channel: photon_options.Channel = None,
    field_of_view: photon_options.FieldOfView = FIELD_OF_VIEW,
) -> None:
    """Find the depth of a scene with a single-photon sensor: how well, and in how many laser cycles.

    Without --cycles and --delta, a pixel may have 1,000 cycles, and delta is 0.05.

    With --photons it reads what a real sensor has counted. There --cycles is how many laser cycles the file holds,
    --bins how many bins a cycle of time stamps has, and --delta is 0.05 unless given.
    """
    given = frozenset(name for name in context.params if _was_given(context, name))
    if photons is not None:
        photon_options.run(photons, context.params, given)
        return
    photon_options.refuse_without_photons(given)
    shown = _read_scene(scene, file, unit).shrunk(size)
    check_not_negative("--dead-time", dead_time)
    sensor = Sensor(
        bins=bins,
        fwhm=fwhm,
        ambient=ambient,
        dark=dark,
        reach=_default_reach(shown) if reach is None else reach,
        dead_time=1e-9 * dead_time,
    )
    if cycles is None:
        cycles, delta = (MOST_CYCLES, delta) if delta is not None else (1000, 0.05)
    task = Task(sensor, signal, cycles, delta, strongest)
    methods = method or list(DEFAULT_METHODS)
    for name in methods:
        find_acquisition(name, task)
    find_estimator(estimator, sensor, signal)
    check_picture(picture)
    opt.check_writable("--picture", picture)
    frames: list[Frame] = []
    try:
        with progress_bar(shown.depth.size * len(methods), "pixels") as advance:
            frames.extend(
                capture(shown, task, name, estimator, seed=seed, workers=workers, progress=partial(advance, name))
                for name in methods
            )
    finally:
        # Frames that are whole are shown even if workers die over the next; an interruption is to end at once.
        if frames and not isinstance(sys.exception(), KeyboardInterrupt):
            _show(frames, seed, picture, as_json)


def _was_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _show(frames: list[Frame], seed: int, picture: Path, as_json: bool) -> None:
    draw_frames(picture, frames)
    if as_json:
        typer.echo(json.dumps(_as_data(frames, seed)))
    else:
        _print(frames, picture)


def _read_scene(scene: str | None, file: Path | None, unit: str | None) -> Scene:
    if file is None:
        if unit is not None:
            raise InvalidParameter(f"--unit {unit} is that of a --file; give one, or leave it out")
        return find_scene(scene or "motorcycle")
    if scene is not None:
        raise InvalidParameter(f"both --scene {scene} and --file {file} were given; leave one out")
    return read_scene(file, unit)


def _default_reach(scene: Scene) -> float:
    """A little beyond the farthest depth, in half metres."""
    if not scene.present.any():
        raise InvalidParameter(f"no pixel of {scene.name!r} has a depth; say how far to look with --reach 6")
    return ceil(2.2 * float(np.nanmax(np.where(scene.present, scene.depth, np.nan)))) / 2


def _as_data(frames: list[Frame], seed: int) -> dict[str, object]:
    first = frames[0]
    sensor = first.task.sensor
    return {
        "scene": first.scene.name,
        "shape": list(first.depth.shape),
        "bins": sensor.bins,
        "bin_cm": 100 * sensor.bin_depth,
        "fwhm": sensor.fwhm,
        "ambient": sensor.ambient,
        "dark": sensor.dark,
        "reach": sensor.reach,
        "dead_time_ns": round(1e9 * sensor.dead_time, 6),
        "signal": first.task.signal,
        "strongest": first.task.signals[1],
        "cycles": first.task.cycles,
        "delta": first.task.delta,
        "tolerance_bins": first.task.tolerance,
        "neighbours": first.task.neighbours,
        "seed": seed,
        "frames": [frame.summary().to_dict() for frame in frames],
    }


def _print(frames: list[Frame], picture: Path) -> None:
    console = Console()
    first = frames[0]
    sensor = first.task.sensor
    high, wide = first.depth.shape
    console.print(
        f"{first.scene.name}, {wide} x {high} pixels; {sensor.bins} bins of {_centimetres(sensor.bin_depth)}, "
        f"ambient {sensor.ambient:g}, signal {first.task.signal:g} photons a cycle{_dark(sensor)}; "
        f"estimator {first.estimator}",
        style="bold",
    )
    lines = _figures(frames)
    table = _table(lines)
    if not fits(console, table):
        table = _table(list(zip(*lines, strict=True)))  # narrow and high: one row per figure, one column per method
    console.print(table)
    console.print(
        "Shares: depth within 1 bin (or the ± of its column) of the truth, off by more than 5 cm, found at all, and "
        "(of all pixels) sure; blank where nothing guarantees this depth. RMSE is over the pixels that were found. "
        "Cycles and time are of a pixel: mean, 90 %, and mean, "
        f"with {1e9 * sensor.dead_time:g} ns of blindness after a photon."
    )
    _print_notes(console, frames)
    console.print(f"Depth, error and cycles of every pixel: {picture}")


def _dark(sensor: Sensor) -> str:
    return f", {sensor.dark:g} dark a bin" if sensor.dark else ""


def _centimetres(metres: float) -> str:
    return f"{100 * metres:.2g} cm" if metres < 0.1 else f"{100 * metres:,.0f} cm"


def _figures(frames: list[Frame]) -> Sequence[tuple[str, ...]]:
    """Headings, and a line for each method; blank where there is no number."""
    tolerance = frames[0].task.tolerance
    within = [f"±{tolerance:g} bins"] if tolerance != 1 else []
    lines = [("method", "RMSE cm", "±1 bin", *within, "> 5 cm", "found", "cycles", "90 %", "time µs", "sure")]
    for frame in frames:
        summary = frame.summary()
        shares = [
            summary.within_one_bin,
            *([summary.within_tolerance] if within else []),
            summary.worse_than_5_cm,
            summary.found,
        ]
        line = (
            frame.acquisition,
            "" if isnan(summary.rmse_cm) else f"{summary.rmse_cm:.1f}",
            *("" if isnan(share) else formatting.percent(share) for share in shares),
            formatting.count(summary.cycles_mean),
            formatting.count(summary.cycles_90),
            "" if isnan(summary.milliseconds_mean) else f"{1000 * summary.milliseconds_mean:,.0f}",
            "" if isnan(summary.confident) else formatting.percent(summary.confident),
        )
        lines.append(line)
    return lines


def _table(lines: Sequence[tuple[str, ...]]) -> Table:
    (corner, *headings), rest = lines[0], lines[1:]
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(corner, no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for line in rest:
        table.add_row(*line)
    return table


def _print_notes(console: Console, frames: list[Frame]) -> None:
    """What the table does not show of pixels that are not like the others."""
    summary = frames[0].summary()
    if summary.missing:
        false = ", ".join(f"{frame.acquisition} {formatting.percent(frame.summary().false_depth)}" for frame in frames)
        console.print(
            f"{summary.missing:,} pixels have no true depth within reach; shares are of the others. "
            f"Given a depth all the same: {false}."
        )
    for frame in frames:
        if frame.acquisition == "elimination":
            proved = formatting.percent(frame.summary().proved)
            console.print(
                f"elimination ended sure of a bin in {proved} of pixels: the true depth's bin is at most "
                f"{frame.task.neighbours} from that."
            )
    if summary.too_bright:
        _, strongest = frames[0].task.signals
        console.print(
            f"{summary.too_bright:,} pixels send back more than {strongest:g} photons a cycle: their depths may be "
            "sure and wrong; raise --strongest."
        )
