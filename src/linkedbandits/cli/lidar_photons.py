"""``linkedbandits lidar --photons``: what a real sensor has counted becomes a depth map."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from linkedbandits.checks import check_not_negative
from linkedbandits.cli import formatting
from linkedbandits.cli import options as opt
from linkedbandits.cli.progress import progress_bar
from linkedbandits.cli.report import standard_report
from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar import CAPTURES, PHOTON_MODES, DepthMap, Photons, find_depths, read_photons, write_depth
from linkedbandits.lidar.depth_files import WRITERS, check_depth_file
from linkedbandits.lidar.depth_picture import draw_depth
from linkedbandits.lidar.engines import find_engine
from linkedbandits.lidar.photon_files import READERS
from linkedbandits.lidar.picture import check_picture
from linkedbandits.lidar.pulse import UNITS

_PANEL = "Photons of a real sensor"


def _option(help_: str, *names: str) -> Any:
    return typer.Option(*names, help=help_, rich_help_panel=_PANEL)


PhotonFile = Annotated[
    Path | None,
    _option(
        f"A file of photons instead of a scene: {', '.join(READERS)}, .ptu, .out, or the folder of a scan.", "--photons"
    ),
]
Out = Annotated[
    list[Path] | None, _option(f"Write the depth map to this file: {', '.join(WRITERS)}. Repeat it for several.")
]
BinWidth = Annotated[
    str | None, _option("Width of a time bin, with its unit: 55ps, 0.1ns. For scenes instead of --bins, too.")
]
PulseFile = Annotated[
    Path | None,
    _option("The pulse as the detector sees it, measured, its jitter included; or give --fwhm. For scenes, too."),
]
PulseUnit = Annotated[
    str | None, _option(f"The unit of the times in --pulse, where the file does not say: {', '.join(UNITS)}.")
]
PulseStep = Annotated[
    str | None, _option("How far the values in --pulse are apart, where it has no times, with its unit: 50ps.")
]
ModeOfSensor = Annotated[
    str | None,
    _option(f"How the sensor works: {', '.join(PHOTON_MODES)}. Unless given, synchronous, or as the capture says."),
]
Background = Annotated[Path | None, _option("A file of the same kind that was taken with the laser off.")]
BackgroundCycles = Annotated[
    int | None, _option("How many laser cycles that holds; as many as the other unless given.")
]
Capture = Annotated[str | None, _option(f"A public capture: {', '.join(CAPTURES)}. Most are recognised.", "--capture")]
ArrayName = Annotated[str | None, _option("Which array of the file is the histogram.")]
Axes = Annotated[str | None, _option("The axes of that array, in its order: rows,columns,bins.")]
Shape = Annotated[str | None, _option("Rows and columns, where the file has a list of pixels: 32,32.")]
Tolerance = Annotated[
    float | None,
    _option("How many bins a sure depth may be off; 1 unless given, or half of a pulse wider than 5 bins."),
]
Merge = Annotated[int, _option("Put this many neighbouring bins together; --fwhm is in bins after that.")]
FirstBin = Annotated[int | None, _option("Leave out the bins before this one, after merging.")]
LastBin = Annotated[int | None, _option("Leave out the bins behind this one, after merging.")]
Period = Annotated[str | None, _option("Time from a laser pulse to the next, with its unit: 100ns.")]
Opens = Annotated[int, _option("The bin at which the detector's window opens.")]
Zero = Annotated[
    str | None, _option("When light from depth 0 comes, after the first bin begins, with its unit: 3.2ns.")
]
Channel = Annotated[int | None, _option("Which channel of a .ptu.")]
FieldOfView = Annotated[float, _option("Degrees from the first column to the last, for .ply.")]

OF_BOTH = frozenset(
    {"photons", "cycles", "fwhm", "bins", "signal", "delta", "dead_time", "picture", "as_json", "context"}
    | {"out", "pulse", "pulse_unit", "pulse_step", "field_of_view", "alone", "bin_width", "engine"}
)
"""Parameters with a meaning for photons that also have one without them."""
OF_PHOTONS = frozenset(
    {"mode", "background", "background_cycles", "capture_kind", "array", "axes", "shape", "merge"}
    | {"first_bin", "last_bin", "period", "opens", "zero", "channel", "tolerance"}
)
"""Parameters that have none without them."""
_WRITTEN = {"as_json": "--json", "capture_kind": "--capture"}
_UNITS = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}


def _written(name: str) -> str:
    return _WRITTEN.get(name, f"--{name.replace('_', '-')}")


def refuse_without_photons(given: frozenset[str]) -> None:
    """Refuse what has no meaning for a scene."""
    for name in sorted(given & OF_PHOTONS):
        raise InvalidParameter(f"{_written(name)} goes with --photons FILE; give one, or leave it out")


def read_time(option: str, text: str) -> float:
    """A time with its unit, in seconds.

    >>> read_time("--bin-width", "55ps"), read_time("--zero", "-0.5 ns")
    (5.5e-11, -5e-10)
    """
    parts = re.fullmatch(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*([a-zµ]+)\s*", text, flags=re.IGNORECASE)
    unit = None if parts is None else _UNITS.get(parts.group(2).lower())
    if parts is None or unit is None:
        raise InvalidParameter(f"{option} {text!r} is no time with its unit; write {option} 55ps or {option} 0.1ns")
    return round(float(parts.group(1)) * unit, 18)


def read_pulse_step(text: str | None) -> float | None:
    """Seconds between the values of a measured pulse, where they were given."""
    return None if text is None else read_time("--pulse-step", text)


def read_pair(option: str, text: str) -> tuple[int, int]:
    """Two whole numbers.

    >>> read_pair("--shape", "32,48")
    (32, 48)
    """
    parts = re.fullmatch(r"\s*(\d+)\s*[,x]\s*(\d+)\s*", text)
    if parts is None:
        raise InvalidParameter(f"{option} {text!r} is not a row and a column; write {option} 32,32")
    return int(parts.group(1)), int(parts.group(2))


def read_shape(text: str) -> tuple[int, int]:
    """Rows and columns."""
    rows, columns = read_pair("--shape", text)
    if 0 in (rows, columns):
        raise InvalidParameter(f"--shape {text!r} is not rows and columns; write --shape 32,32")
    return rows, columns


def run(file: Path, told: Mapping[str, Any], given: frozenset[str]) -> None:
    """Read, find the depths, write and show."""
    for name in sorted(given - OF_BOTH - OF_PHOTONS):
        raise InvalidParameter(f"both --photons {file} and {_written(name)} were given; leave one out")
    find_engine(told["engine"])
    if "dead_time" in given:
        check_not_negative("--dead-time", told["dead_time"])
    outs: list[Path] = told["out"] or []
    picture: Path | None = told["picture"] if "picture" in given else None
    for out in outs:
        check_depth_file(out)
        opt.check_writable("--out", out)
    if picture is not None:
        check_picture(picture)
        opt.check_writable("--picture", picture)
    times = {
        name: None if told[name] is None else read_time(_written(name), told[name])
        for name in ("bin_width", "period", "zero")
    }
    step = read_pulse_step(told["pulse_step"])
    photons = read_photons(
        file,
        cycles=told["cycles"],
        bin_seconds=times["bin_width"],
        mode=told["mode"],
        dead_time=1e-9 * told["dead_time"] if "dead_time" in given else None,
        background=told["background"],
        background_cycles=told["background_cycles"],
        kind=told["capture_kind"],
        array=told["array"],
        axes=told["axes"],
        shape=None if told["shape"] is None else read_shape(told["shape"]),
        bins=told["bins"] if "bins" in given else None,
        period=times["period"],
        merge=told["merge"],
        opens=told["opens"],
        zero_seconds=times["zero"] or 0.0,
        channel=told["channel"],
    )
    if "dead_time" in given and photons.mode != "free-running":
        raise InvalidParameter(
            f"--dead-time goes with --mode free-running, and {file} is read as {photons.mode}; give that mode, or "
            "leave it out"
        )
    if None not in (told["first_bin"], told["last_bin"]) and told["first_bin"] > told["last_bin"]:
        raise InvalidParameter(
            f"--first-bin {told['first_bin']} is behind --last-bin {told['last_bin']}; give the earlier one first"
        )
    if told["first_bin"] is not None or told["last_bin"] is not None:
        photons = photons.crop(first_bin=told["first_bin"] or 0, last_bin=told["last_bin"])
    with progress_bar(photons.cycles.size, "pixels") as advance:
        found = find_depths(
            photons,
            fwhm=told["fwhm"] if "fwhm" in given else None,
            pulse=told["pulse"],
            pulse_unit=told["pulse_unit"],
            pulse_step=step,
            signal=told["signal"],
            delta=0.05 if told["delta"] is None else told["delta"],
            tolerance=told["tolerance"],
            borrow=not told["alone"],
            engine=told["engine"],
            progress=partial(advance, file.name),
        )
    for out in outs:
        write_depth(out, found, field_of_view=told["field_of_view"])
    if picture is not None:
        draw_depth(picture, found)
    written = [str(path) for path in (*outs, *([picture] if picture else []))]
    if told["as_json"]:
        typer.echo(json.dumps(as_data(photons, found, written)))
    else:
        _print(photons, found, written)


def as_data(photons: Photons, found: DepthMap, written: list[str]) -> dict[str, object]:
    """What was found, ready for ``json.dumps``; None where there is no number."""
    depth = found.depth[found.found]
    return {
        "source": photons.source,
        "shape": list(photons.shape),
        "bins": photons.bins,
        "bin_ps": round(1e12 * photons.bin_seconds, 6),
        "mode": photons.mode,
        "cycles": [int(photons.cycles.min()), int(photons.cycles.max())],
        "photons": int(photons.detections.sum()),
        "found": int(found.found.sum()),
        "sure": int(found.confident.sum()),
        "delta": found.delta,
        "tolerance_m": found.tolerance,
        "depth_m": _range(depth),
        "signal": _range(found.signal[found.found]),
        "background": _range(found.background),
        "notes": list(found.notes),
        "written": written,
    }


def _range(values: Any) -> list[float] | None:
    finite = values[np.isfinite(values)]
    return [float(finite.min()), float(np.median(finite)), float(finite.max())] if finite.size else None


def _print(photons: Photons, found: DepthMap, written: list[str]) -> None:
    console = standard_report()
    high, wide = photons.shape
    console.print(
        f"{photons.source}: {wide} x {high} pixel{'s' * (high * wide > 1)}, {photons.bins} bins of "
        f"{1e12 * photons.bin_seconds:g} ps ({_length(photons.bin_depth)}), {photons.mode}",
        style="bold",
    )
    pixels = found.depth.size
    figures = [
        ("pixels", f"{pixels:,}"),
        ("with a depth", _share(found.found.sum(), pixels)),
        ("with a sure depth", _share(found.confident.sum(), pixels)),
        ("laser cycles a pixel", _span(photons.cycles, "{:,.0f}")),
        ("photons a pixel", _span(photons.detections.sum(axis=2), "{:,.0f}")),
        ("depth, m", _span(found.depth, "{:.3f}")),
        ("width of the interval, m", _span(np.diff(found.interval, axis=2)[found.found], "{:.3f}")),
        ("signal, photons a cycle", _span(found.signal[found.found], "{:.3g}")),
        ("background, photons a bin and cycle", _span(found.background, "{:.2g}")),
    ]
    console.print()
    console.pairs(figures, indent=1)
    console.print()
    console.print(
        "Ranges are from the least to the largest, with the median between. A sure depth is off by more than "
        f"{_length(found.tolerance)} with probability at most {found.delta:g}, if the pulse is as given, a pixel has "
        "one return at most, and its background is the same in all bins. Glass before a target, an edge within a "
        "pixel and afterpulses are outside of that."
    )
    for note in found.notes:
        console.print(note)
    for path in written:
        console.print(f"Written: {path}")
    if not written:
        console.print("Nothing was written; name a file with --out depth.npz, or --picture depth.png.")


def _share(part: int, whole: int) -> str:
    return f"{part:,} ({formatting.percent(part / whole)})"


def _span(values: Any, form: str) -> str:
    span = _range(np.asarray(values, dtype=np.float64))
    if span is None:
        return "none"
    least, middle, most = (form.format(value) for value in span)
    return least if least == most else f"{least} .. {middle} .. {most}"


def _length(metres: float) -> str:
    return f"{1000 * metres:.3g} mm" if metres < 0.1 else f"{100 * metres:.3g} cm"
