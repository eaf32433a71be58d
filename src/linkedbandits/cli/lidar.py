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
from typing import Annotated, Any

import numpy as np
import typer

from linkedbandits.checks import check_not_negative, check_positive
from linkedbandits.cli import completing, formatting
from linkedbandits.cli import lidar_photons as photon_options
from linkedbandits.cli import options as opt
from linkedbandits.cli.progress import progress_bar
from linkedbandits.cli.report import Report, standard_report
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
from linkedbandits.lidar.choosing import faster
from linkedbandits.lidar.depth_files import FIELD_OF_VIEW, check_depth_file, write_depth
from linkedbandits.lidar.engines import ENGINES, find_engine
from linkedbandits.lidar.gates import parse_gates
from linkedbandits.lidar.picture import check_picture, draw_frames
from linkedbandits.lidar.plate import draw_plate
from linkedbandits.lidar.pulse import MeasuredPulse, read_pulse
from linkedbandits.lidar.scene import UNITS
from linkedbandits.lidar.sensor import SPEED_OF_LIGHT
from linkedbandits.lidar.watching import Watched, watch

DEFAULT_METHODS = ("synchronous", "free-running", "pulse")
LIGHTS = ("sun", "even")
PICTURE = Path("lidar.png")
MOST_CYCLES = 20_000
"""Where a pixel ends that was given delta alone: there may be nothing to be seen."""


def _of_sensor(help_: str) -> Any:
    return typer.Option(help=help_, rich_help_panel="The sensor")


def lidar(
    context: typer.Context,
    scene: Annotated[
        str | None,
        typer.Option(
            help=f"A scene: {', '.join(SCENES)}; motorcycle unless a file is given.",
            autocompletion=completing.one_of(SCENES),
        ),
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
    ambient: Annotated[float, typer.Option(help="Background photons per cycle, on average over pixels.")] = 5.0,
    light: Annotated[
        str | None,
        typer.Option(
            help="The background of pixels: sun (in proportion to their reflectivity), or even; sun unless --told."
        ),
    ] = None,
    signal: Annotated[float, typer.Option(help="Photons of the pulse that come back, on average over pixels.")] = 0.5,
    strongest: Annotated[
        float | None,
        typer.Option(help="No signal is larger, on your word; helps where pulses make their bins fire always."),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help=f"How to spend cycles: {', '.join(ACQUISITIONS)}, or auto, what is faster of pulse and free-running. "
            f"Repeat it to compare; without it, {', '.join(DEFAULT_METHODS)}.",
            autocompletion=completing.one_of([*ACQUISITIONS, "auto"]),
        ),
    ] = None,
    estimator: Annotated[
        str,
        typer.Option(help=f"How to find depth: {', '.join(ESTIMATORS)}.", autocompletion=completing.one_of(ESTIMATORS)),
    ] = "map",
    cycles: Annotated[int | None, typer.Option(help="Laser cycles that a pixel may have.")] = None,
    microseconds: Annotated[
        float | None, typer.Option(help="Time that a pixel may take, the detector's blind times included.")
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            help="Stop a pixel when its depth (pulse, free-running) or its bin (elimination) is wrong with at most "
            "this probability."
        ),
    ] = None,
    likely: Annotated[
        float | None,
        typer.Option(help="Stop a pixel when its depth is right with this probability by the model: no guarantee."),
    ] = None,
    told: Annotated[
        bool, typer.Option("--told", help="All pixels have just the background of --ambient, and the model knows it.")
    ] = False,
    alone: Annotated[
        bool, typer.Option("--alone", help="Pixels do not begin with what was found around them.")
    ] = False,
    gates: Annotated[
        str,
        _of_sensor(
            "What a gate may be: suffix, suffix:20 (positions), windows:2 or windows:2:1 (ns, and of gaps), any."
        ),
    ] = "suffix",
    dead_time: Annotated[float, _of_sensor("Nanoseconds that the detector is blind after a photon.")] = 100.0,
    dark: Annotated[float, _of_sensor("Photons that the detector makes by itself, per bin and cycle.")] = 0.0,
    jitter: Annotated[float, _of_sensor("Picoseconds of the detector's error in time, a standard deviation.")] = 0.0,
    rise: Annotated[float, _of_sensor("Nanoseconds that a gate takes to open.")] = 0.0,
    afterpulsing: Annotated[float, _of_sensor("Chance that a detection leaves an afterpulse.")] = 0.0,
    afterpulse_time: Annotated[float, _of_sensor("Nanoseconds until it comes, on average.")] = 20.0,
    seed: opt.SeedOption = 0,
    workers: Annotated[int, typer.Option(help="How many processes share the pixels, with --engine numpy.")] = 2,
    engine: Annotated[
        str,
        typer.Option(
            help=f"Who computes: {', '.join(ENGINES)}. compiled is several times as fast as numpy, on all cores; gpu "
            "takes NVIDIA's cards."
        ),
    ] = "numpy",
    picture: Annotated[Path, typer.Option(help="Write the maps side by side to this .png, .svg or .pdf.")] = PICTURE,
    plate: Annotated[
        Path | None, typer.Option(help="Draw how pulse learns of one pixel, to this .png, .svg or .pdf: see --pixel.")
    ] = None,
    pixel: Annotated[str | None, typer.Option(help="Its row and column: 12,30; the middle one unless given.")] = None,
    as_json: opt.Json = False,
    photons: photon_options.PhotonFile = None,
    out: photon_options.Out = None,
    bin_width: photon_options.BinWidth = None,
    pulse: photon_options.PulseFile = None,
    pulse_unit: photon_options.PulseUnit = None,
    pulse_step: photon_options.PulseStep = None,
    mode: photon_options.ModeOfSensor = None,
    background: photon_options.Background = None,
    background_cycles: photon_options.BackgroundCycles = None,
    capture_kind: photon_options.Capture = None,
    array: photon_options.ArrayName = None,
    axes: photon_options.Axes = None,
    shape: photon_options.Shape = None,
    tolerance: photon_options.Tolerance = None,
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

    Without --cycles, --microseconds, --delta and --likely, a pixel may have 1,000 cycles, and delta is 0.05. Without
    --delta no depth is called sure.

    With --photons it reads what a real sensor has counted. There --cycles is how many laser cycles the file holds,
    --bins how many bins a cycle of time stamps has, and --delta is 0.05 unless given.
    """
    given = frozenset(name for name in context.params if _was_given(context, name))
    if photons is not None:
        photon_options.run(photons, context.params, given)
        return
    photon_options.refuse_without_photons(given)
    shown = _read_scene(scene, file, unit).shrunk(size)
    shown = _lit(shown, light, told)
    if {"pulse", "fwhm"} <= given:
        raise InvalidParameter("both --pulse and --fwhm were given; leave one out: a measured pulse has its own width")
    times = {"--dead-time": dead_time, "--jitter": jitter, "--rise": rise, "--afterpulse-time": afterpulse_time}
    for name, time in times.items():
        check_not_negative(name, time)
    far = _default_reach(shown) if reach is None else reach
    if bin_width is not None:
        bins, far = _bins_of_width(bin_width, far, given)
    sensor = Sensor(
        bins=bins,
        fwhm=fwhm,
        ambient=ambient,
        dark=dark,
        reach=far,
        dead_time=1e-9 * dead_time,
        jitter=1e-12 * jitter,
        rise=1e-9 * rise,
        afterpulsing=afterpulsing,
        afterpulse_time=1e-9 * afterpulse_time,
        response=_response(pulse, pulse_unit, pulse_step, Sensor(bins=bins, reach=far)),
        gates=parse_gates(gates),
    )
    if microseconds is not None:
        check_positive("--microseconds", microseconds)
    seconds = None if microseconds is None else 1e-6 * microseconds
    if cycles is None and seconds is not None:
        cycles = ceil(seconds / sensor.period) + 1  # more than fit
    elif cycles is None:
        ends = delta is not None or likely is not None
        cycles, delta = (MOST_CYCLES, delta) if ends else (1000, 0.05)
    task = Task(sensor, signal, cycles, delta, strongest, likely=likely, told=told, borrow=not alone, seconds=seconds)
    methods = method or list(DEFAULT_METHODS)
    for name in methods:
        find_acquisition(faster(task) if name == "auto" else name, task)
    _check_outs(out or [], methods)
    find_estimator(estimator, sensor, signal)
    find_engine(engine)
    _check_pictures({"--picture": picture, "--plate": plate})
    watched = None if plate is None else watch(shown, task, *_pixel(shown, pixel), seed=seed)
    if pixel is not None and plate is None:
        raise InvalidParameter(f"--pixel {pixel} goes with --plate FILE; give one, or leave it out")
    frames: list[Frame] = []
    try:
        with progress_bar(shown.depth.size * len(methods), "pixels") as advance:
            frames.extend(
                capture(
                    shown,
                    task,
                    name,
                    estimator,
                    seed=seed,
                    workers=workers,
                    engine=engine,
                    progress=partial(advance, name),
                )
                for name in methods
            )
    finally:
        # Frames that are whole are shown even if workers die over the next; an interruption is to end at once.
        if frames and not isinstance(sys.exception(), KeyboardInterrupt):
            draw_frames(picture, frames)
            _write(frames[0], out or [], field_of_view)
            _draw_plate(plate, watched)
            written = [picture, *([plate] if plate is not None else []), *(out or [])]
            _show(frames, methods, seed, written, as_json)


def _bins_of_width(text: str, reach: float, given: frozenset[str]) -> tuple[int, float]:
    """How many bins of that width reach so far, and where the last one ends."""
    if "bins" in given:
        raise InvalidParameter(f"both --bin-width {text} and --bins were given; leave one out")
    width = SPEED_OF_LIGHT / 2 * photon_options.read_time("--bin-width", text)
    check_positive("--bin-width", width)
    bins = ceil(reach / width - 1e-9)
    return bins, bins * width


def _response(pulse: Path | None, unit: str | None, step: str | None, sensor: Sensor) -> MeasuredPulse | None:
    if pulse is None:
        if unit is not None or step is not None:
            raise InvalidParameter("--pulse-unit and --pulse-step go with --pulse FILE; give one, or leave them out")
        return None
    return read_pulse(pulse, sensor.bin_seconds, unit=unit, step=photon_options.read_pulse_step(step))


def _lit(scene: Scene, light: str | None, told: bool) -> Scene:
    if light is not None and light not in LIGHTS:
        raise InvalidParameter(f"--light {light} is unknown; choose one of {', '.join(LIGHTS)}")
    if told and light == "sun":
        raise InvalidParameter("--told says that all pixels have the same background, and --light sun that they do not")
    return scene if told or light == "even" else scene.sunlit()


def _check_outs(outs: list[Path], methods: list[str]) -> None:
    if outs and len(methods) > 1:
        raise InvalidParameter(f"--out goes with one --method, and there are {', '.join(methods)}; choose one")
    for out in outs:
        check_depth_file(out)
        opt.check_writable("--out", out)


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


def _write(frame: Frame, outs: list[Path], field_of_view: float) -> None:
    for out in outs:
        write_depth(out, frame.depth_map(), field_of_view=field_of_view)


def _draw_plate(plate: Path | None, watched: Watched | None) -> None:
    if plate is not None and watched is not None:
        draw_plate(plate, watched)


def _was_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _show(frames: list[Frame], asked: list[str], seed: int, written: list[Path], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(_as_data(frames, seed)))
    else:
        _print(frames, asked, written)


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
        "fwhm": round(sensor.pulse.fwhm, 6),
        "gates": sensor.gates.words,
        "ambient": sensor.ambient,
        "dark": sensor.dark,
        "reach": sensor.reach,
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
    }


def _print(frames: list[Frame], asked: list[str], written: list[Path]) -> None:
    console = standard_report()
    first = frames[0]
    sensor = first.task.sensor
    high, wide = first.depth.shape
    console.print(
        f"{first.scene.name}, {wide} x {high} pixels; {sensor.bins} bins of {_centimetres(sensor.bin_depth)}, "
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
    console.print(
        "Time and cycles are of a pixel: the mean, and what 90 % of the pixels stay within, "
        f"with {1e9 * sensor.dead_time:g} ns of blindness after a photon. RMSE and MAE are over the pixels that were "
        "found. Shares: depth within 1 bin (or the ± of its column) of the truth, found at all, and (of all pixels) "
        "sure; blank where nothing guarantees this depth."
    )
    _print_notes(console, frames)
    console.print(f"Depth, error, time and background of every pixel: {written[0]}")
    for path in written[1:]:
        console.print(f"Written: {path}")


def _dark(sensor: Sensor) -> str:
    return f", {sensor.dark:g} dark a bin" if sensor.dark else ""


def _centimetres(metres: float) -> str:
    return f"{100 * metres:.2g} cm" if metres < 0.1 else f"{100 * metres:,.0f} cm"


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
            formatting.count(summary.cycles_mean),
            formatting.count(summary.cycles_90),
            _number(summary.rmse_mm, 0),
            _number(summary.mae_mm, 1),
            *("" if isnan(share) else formatting.percent(share) for share in shares),
            "" if isnan(summary.confident) else formatting.percent(summary.confident),
        )
        lines.append(line)
    return lines


def _number(value: float, digits: int) -> str:
    return "" if isnan(value) else f"{value:,.{digits}f}"


def _print_notes(console: Report, frames: list[Frame]) -> None:
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
