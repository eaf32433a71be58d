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
from types import SimpleNamespace
from typing import Any

import numpy as np
import typer

from linkedbandits.checks import check_not_negative, check_positive, check_whole
from linkedbandits.cli import lidar_options as of
from linkedbandits.cli import lidar_photons as photon_options
from linkedbandits.cli import options as opt
from linkedbandits.cli import tables
from linkedbandits.cli.lidar_errors import said_in_options
from linkedbandits.cli.tables import Report, progress_bar, standard_report
from linkedbandits.display import readable
from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar import (
    Frame,
    Scene,
    Sensor,
    Task,
    capture,
    find_estimator,
    find_scene,
    read_scene,
)
from linkedbandits.lidar.choosing import faster
from linkedbandits.lidar.depth_files import FIELD_OF_VIEW, write_depth
from linkedbandits.lidar.engines import find_engine
from linkedbandits.lidar.gates import parse_gates
from linkedbandits.lidar.picture import check_picture, draw_frames
from linkedbandits.lidar.plate import draw_plate
from linkedbandits.lidar.pulse import MeasuredPulse, read_pulse
from linkedbandits.lidar.sensor import SPEED_OF_LIGHT
from linkedbandits.lidar.watching import Watched, watch

MOST_CYCLES = 20_000
"""Where a pixel ends that was given delta alone: there may be nothing to be seen."""
WORKERS = 2
"""Processes of the engine numpy, unless given."""


def lidar(
    context: typer.Context,
    scene: of.SceneName = None,
    file: of.File = None,
    unit: of.Unit = None,
    size: of.Size = 64,
    photons: of.PhotonFile = None,
    mode: of.ModeOfSensor = None,
    array: of.ArrayName = None,
    axes: of.Axes = None,
    shape: of.Shape = None,
    merge: of.Merge = 1,
    first_bin: of.FirstBin = None,
    last_bin: of.LastBin = None,
    opens: of.Opens = 0,
    period: of.Period = None,
    zero: of.Zero = None,
    background: of.Background = None,
    background_cycles: of.BackgroundCycles = None,
    tolerance: of.Tolerance = None,
    capture_kind: of.Capture = None,
    channel: of.Channel = None,
    bins: of.Bins = 200,
    bin_width: of.BinWidth = None,
    reach: of.Reach = None,
    fwhm: of.Fwhm = 3.0,
    pulse: of.PulseFile = None,
    pulse_unit: of.PulseUnit = None,
    pulse_step: of.PulseStep = None,
    dead_time: of.DeadTime = 100.0,
    gates: of.Gates = "suffix",
    dark: of.Dark = 0.0,
    jitter: of.Jitter = 0.0,
    rise: of.Rise = 0.0,
    afterpulsing: of.Afterpulsing = 0.0,
    afterpulse_time: of.AfterpulseTime = 20.0,
    ambient: of.Ambient = 5.0,
    signal: of.Signal = 0.5,
    light: of.Light = None,
    strongest: of.Strongest = None,
    told: of.Told = False,
    method: of.Method = None,
    estimator: of.EstimatorName = "map",
    alone: of.Alone = False,
    cycles: of.Cycles = None,
    microseconds: of.Microseconds = None,
    delta: of.Delta = None,
    likely: of.Likely = None,
    out: of.Out = None,
    picture: of.Picture = None,
    plate: of.Plate = None,
    pixel: of.Pixel = None,
    field_of_view: of.FieldOfView = FIELD_OF_VIEW,
    as_json: of.Json = False,
    engine: of.EngineName = "numpy",
    workers: of.Workers = None,
    seed: of.Seed = 0,
) -> None:
    """Depth from single photons: simulate a sensor on a scene, or find the depths in photons of a real one.

    Images are rows x columns. Without --cycles, --microseconds, --delta and --likely a pixel may have 1,000 cycles, and
    delta is 0.05. What options mean in full, and what is printed: the page "The command lidar" of the documentation.
    To begin with:

      linkedbandits lidar --size 24 --picture maps.png
      linkedbandits lidar --photons wall.npy --cycles 500 --bin-width 1ns --fwhm 3
    """
    given = frozenset(name for name in context.params if _was_given(context, name))
    with said_in_options():
        if photons is not None:
            photon_options.run(photons, context.params, given)
        else:
            _simulate(SimpleNamespace(**context.params), given)


def _simulate(told: Any, given: frozenset[str]) -> None:
    """Have every method look at the scene, and show what came of it."""
    photon_options.refuse_without_photons(given)
    shown = _lit(_read_scene(told.scene, told.file, told.unit).shrunk(told.size), told.light, told.told)
    sensor = _sensor(told, given, shown)
    task = _task(told, sensor)
    methods: list[str] = told.method or list(of.DEFAULT_METHODS)
    outs: list[Path] = told.out or []
    if outs and len(methods) > 1:
        raise InvalidParameter(f"--out goes with one --method, and there are {', '.join(methods)}; choose one")
    photon_options.check_outs(outs, told.field_of_view)
    find_estimator(told.estimator, sensor, told.signal)
    workers = WORKERS if told.workers is None and told.engine == "numpy" else told.workers
    if workers is not None:
        check_whole("--workers", workers)
    engine = find_engine(told.engine, workers)
    for name in methods:
        engine.refuse(faster(task) if name == "auto" else name, task)
    _check_pictures({"--picture": told.picture, "--plate": told.plate})
    if told.pixel is not None and told.plate is None:
        raise InvalidParameter(f"--pixel {told.pixel} goes with --plate FILE; give one, or leave it out")
    watched = None if told.plate is None else watch(shown, task, *_pixel(shown, told.pixel), seed=told.seed)
    written = [path for path in (told.picture, told.plate, *outs) if path is not None]
    replaced = photon_options.files_there(written)
    frames: list[Frame] = []
    try:
        with progress_bar(shown.depth.size * len(methods), "pixels") as advance:
            frames.extend(
                capture(
                    shown,
                    task,
                    name,
                    told.estimator,
                    seed=told.seed,
                    workers=workers,
                    engine=told.engine,
                    progress=partial(advance, name),
                )
                for name in methods
            )
    finally:
        # Frames that are whole are shown even if workers die over the next; an interruption is to end at once.
        if frames and not isinstance(sys.exception(), KeyboardInterrupt):
            if told.picture is not None:
                draw_frames(told.picture, frames)
            for out in outs:
                write_depth(out, frames[0].depth_map(), field_of_view=told.field_of_view)
            _draw_plate(told.plate, watched)
            if told.as_json:
                typer.echo(json.dumps(_as_data(frames, told.seed, written)))
            else:
                _print(frames, methods, photon_options.written_lines(written, replaced))


def _sensor(told: Any, given: frozenset[str], scene: Scene) -> Sensor:
    """The sensor that the options describe; times are refused in the units that they were given in."""
    photon_options.check_pulse(given)
    times = {"--dead-time": told.dead_time, "--jitter": told.jitter, "--rise": told.rise}
    for name, time in {**times, "--afterpulse-time": told.afterpulse_time}.items():
        check_not_negative(name, time)
    bins, far = told.bins, _default_reach(scene) if told.reach is None else told.reach
    if told.bin_width is not None:
        bins, far = _bins_of_width(told.bin_width, far, given)
    plain = Sensor(bins=bins, reach=far)
    for name, time, unit, digits in (("--jitter", told.jitter, "ps", 1e-12), ("--rise", told.rise, "ns", 1e-9)):
        if digits * time >= plain.period:
            raise InvalidParameter(
                f"{name} {time:g} {unit} is no shorter than a laser cycle of {plain.period / digits:.3g} {unit}; give "
                "less"
            )
    if told.afterpulsing > 0 and told.afterpulse_time == 0:
        raise InvalidParameter(
            f"--afterpulsing {told.afterpulsing:g} needs a time until they come; give nanoseconds: --afterpulse-time 20"
        )
    return Sensor(
        bins=bins,
        fwhm=told.fwhm,
        ambient=told.ambient,
        dark=told.dark,
        reach=far,
        dead_time=1e-9 * told.dead_time,
        jitter=1e-12 * told.jitter,
        rise=1e-9 * told.rise,
        afterpulsing=told.afterpulsing,
        afterpulse_time=1e-9 * told.afterpulse_time,
        response=_response(told.pulse, told.pulse_unit, told.pulse_step, plain),
        gates=parse_gates(told.gates),
    )


def _task(told: Any, sensor: Sensor) -> Task:
    """What a pixel may have."""
    cycles, delta, seconds = told.cycles, told.delta, None
    if told.microseconds is not None:
        check_positive("--microseconds", told.microseconds)
        seconds = 1e-6 * told.microseconds
        if seconds < sensor.period:
            raise InvalidParameter(
                f"--microseconds {told.microseconds:g} is less than a laser cycle of {1e6 * sensor.period:.3g} "
                "microseconds; give more"
            )
    if cycles is None and seconds is not None:
        cycles = ceil(seconds / sensor.period) + 1  # more than fit
    elif cycles is None:
        ends = delta is not None or told.likely is not None
        cycles, delta = (MOST_CYCLES, delta) if ends else (1000, 0.05)
    return Task(
        sensor,
        told.signal,
        cycles,
        delta,
        told.strongest,
        likely=told.likely,
        told=told.told,
        borrow=not told.alone,
        seconds=seconds,
    )


def _bins_of_width(text: str, reach: float, given: frozenset[str]) -> tuple[int, float]:
    """How many bins of that width reach so far, and where the last one ends."""
    if "bins" in given:
        raise InvalidParameter(f"both --bin-width {text} and --bins were given; leave one out")
    width = SPEED_OF_LIGHT / 2 * photon_options.read_bin_width(text)
    check_positive("--reach", reach)
    bins = ceil(reach / width - 1e-9)
    return bins, bins * width


def _response(pulse: Path | None, unit: str | None, step: str | None, sensor: Sensor) -> MeasuredPulse | None:
    if pulse is None:
        return None
    return read_pulse(pulse, sensor.bin_seconds, unit=unit, step=photon_options.read_pulse_step(step))


def _lit(scene: Scene, light: str | None, told: bool) -> Scene:
    if light is not None and light not in of.LIGHTS:
        raise InvalidParameter(f"--light {light} is unknown; choose one of {', '.join(of.LIGHTS)}")
    if told and light == "sun":
        raise InvalidParameter("--told says that all pixels have the same background, and --light sun that they do not")
    return scene if told or light == "even" else scene.sunlit()


def _check_pictures(pictures: dict[str, Path | None]) -> None:
    for name, path in pictures.items():
        if path is not None:
            check_picture(path)
            opt.check_writable(name, path)


def _pixel(scene: Scene, text: str | None) -> tuple[int, int]:
    """The row and column that were asked for, or those of the pixel with a depth that is nearest to the middle."""
    if text is not None:
        return photon_options.read_pair("--pixel", text)
    row, column = np.indices(scene.depth.shape)
    high, wide = scene.depth.shape
    away = (row - high // 2) ** 2 + (column - wide // 2) ** 2
    nearest = int(np.where(scene.present, away, away.max() + 1).argmin())
    return nearest // wide, nearest % wide


def _draw_plate(plate: Path | None, watched: Watched | None) -> None:
    if plate is not None and watched is not None:
        draw_plate(plate, watched)


def _was_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


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


def _as_data(frames: list[Frame], seed: int, written: list[Path]) -> dict[str, object]:
    first = frames[0]
    sensor = first.task.sensor
    return {
        "scene": first.scene.name,
        "shape": list(first.depth.shape),
        "bins": sensor.bins,
        "bin_cm": readable(100 * sensor.bin_depth),
        "fwhm": round(sensor.pulse.fwhm, 6),
        "gates": sensor.gates.words,
        "ambient": sensor.ambient,
        "dark": sensor.dark,
        "reach": readable(sensor.reach),
        "dead_time_ns": round(1e9 * sensor.dead_time, 6),
        "jitter_ps": round(1e12 * sensor.jitter, 6),
        "rise_ns": round(1e9 * sensor.rise, 6),
        "afterpulsing": sensor.afterpulsing,
        "sunlit": first.scene.light is not None,
        "signal": first.task.signal,
        "strongest": first.task.strongest,
        "likely": first.task.likely,
        "told": first.task.told,
        "borrow": first.task.borrow,
        "cycles": first.task.cycles,
        "microseconds": None if first.task.seconds is None else round(1e6 * first.task.seconds, 6),
        "delta": first.task.delta,
        "tolerance_bins": first.task.tolerance,
        "neighbours": first.task.neighbours,
        "seed": seed,
        "frames": [frame.summary().to_dict() for frame in frames],
        "written": [str(path) for path in written],
    }


def _print(frames: list[Frame], asked: list[str], written: list[str]) -> None:
    """The table, and below it what its words mean."""
    console = standard_report()
    first = frames[0]
    sensor = first.task.sensor
    high, wide = first.depth.shape
    console.print(
        f"{first.scene.name}, {high} x {wide} pixels; {sensor.bins} bins of {_centimetres(sensor.bin_depth)}, "
        f"ambient {sensor.ambient:g}, signal {first.task.signal:g} photons a cycle{_dark(sensor)}; "
        f"gates: {sensor.gates.words}; estimator {first.estimator}",
        style="bold",
    )
    headings, *rows = _figures(frames, asked)
    across = list(zip(headings, *rows, strict=True))  # narrow and high: one row per figure, one column per method
    if not console.fits(headings, rows) and console.fits(across[0], across[1:]):
        console.table(across[0], across[1:])
    else:
        console.table(headings, rows)
    for line in _words(first):
        console.print(line)
    _print_notes(console, frames)
    for line in written:
        console.print(line)
    if not written:
        out = ", or --out depth.npz" if len(frames) == 1 else ""
        console.print(f"Nothing was written; name a file with --picture maps.png{out}.")


def _words(frame: Frame) -> list[str]:
    """What the words of the table mean."""
    task = frame.task
    within = f"{task.tolerance:.3g} bin{'s' * (task.tolerance != 1)}"
    off = _centimetres(task.tolerance * task.sensor.bin_depth)
    sure = (
        "sure: none without --delta."
        if task.delta is None
        else f"sure: of all pixels; such a depth is off by more than {within} ({off}) with probability at most "
        f"{task.delta:g}. Blank where the method guarantees nothing."
    )
    lines = [
        "Pixels are rows x columns. Time and cycles are of a pixel: the mean, and what 90 % of the pixels stay within, "
        f"with {1e9 * task.sensor.dead_time:g} ns of blindness after a photon. RMSE and MAE are the errors of the "
        "depths that were found.",
        f"±1 bin: so near to the true depth. found: has a depth at all. {sure}",
    ]
    if task.likely is not None:
        lines.append(f"A pixel ended, too, where the model held its depth for right with {task.likely:g}: a guess.")
    if frame.estimator == "map":
        lines.append(
            f"Estimator map: the likeliest depth, given all photons (maximum a posteriori). {photon_options.MORE}"
        )
    else:
        lines.append(photon_options.MORE)
    return lines


def _dark(sensor: Sensor) -> str:
    return f", {sensor.dark:g} dark a bin" if sensor.dark else ""


def _centimetres(metres: float) -> str:
    return f"{100 * metres:.3g} cm" if metres < 0.1 else f"{100 * metres:,.0f} cm"


def _figures(frames: list[Frame], asked: list[str]) -> Sequence[tuple[str, ...]]:
    """Headings, and a line for each method; blank where there is no number."""
    tolerance = frames[0].task.tolerance
    within = [f"±{tolerance:g} bins"] if tolerance != 1 else []
    lines = [
        ("method", "time µs", "90 % µs", "cycles", "90 %", "RMSE mm", "MAE mm", "±1 bin", *within, "found", "sure")
    ]
    for frame, name in zip(frames, asked, strict=False):
        summary = frame.summary()
        shares = [summary.within_one_bin, *([summary.within_tolerance] if within else []), summary.found]
        line = (
            f"auto ({frame.acquisition})" if name == "auto" else frame.acquisition,
            _number(summary.microseconds_mean, 1),
            _number(summary.microseconds_90, 1),
            tables.count(summary.cycles_mean),
            tables.count(summary.cycles_90),
            _number(summary.rmse_mm, 1),
            _number(summary.mae_mm, 1),
            *("" if isnan(share) else tables.percent(share) for share in shares),
            "" if isnan(summary.confident) else tables.percent(summary.confident),
        )
        lines.append(line)
    return lines


def _number(value: float, digits: int) -> str:
    return "" if isnan(value) else f"{value:,.{digits}f}"


def _print_notes(console: Report, frames: list[Frame]) -> None:
    """What the table does not show of pixels that are not like the others."""
    summary = frames[0].summary()
    if summary.missing:
        false = ", ".join(f"{frame.acquisition} {tables.percent(frame.summary().false_depth)}" for frame in frames)
        console.print(
            f"{summary.missing:,} pixels have no true depth within reach; shares are of the others. "
            f"Given a depth all the same: {false}."
        )
    for frame in frames:
        if frame.acquisition == "elimination":
            proved = tables.percent(frame.summary().proved)
            console.print(
                f"elimination ended sure of a bin in {proved} of pixels: the true depth's bin is at most "
                f"{frame.task.neighbours} from that."
            )
    if summary.too_bright:
        console.print(
            f"{summary.too_bright:,} pixels send back more than {frames[0].task.strongest:g} photons a cycle, which "
            "--strongest rules out: their depths may be sure and wrong; raise it."
        )
    sensor = frames[0].task.sensor
    if sensor.first_seen:
        console.print(
            f"Gates still rise below {_centimetres(sensor.first_seen * sensor.bin_depth)}: they see no depth there."
        )
    if not sensor.certifiable:
        console.print(
            "No depth is sure: afterpulses outlast the dead time, so what a gate sees depends on more than the gate. A "
            f"dead time of {1e9 * 5 * sensor.afterpulse_time:g} ns would leave none."
        )
