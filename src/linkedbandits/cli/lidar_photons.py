"""``linkedbandits lidar --photons``: what a real sensor has counted becomes a depth map."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import typer

from linkedbandits.checks import check_not_negative
from linkedbandits.cli import options as opt
from linkedbandits.cli import tables
from linkedbandits.cli.options import in_unit
from linkedbandits.cli.tables import progress_bar, standard_report
from linkedbandits.display import readable
from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar import DepthMap, Photons, find_depths, read_photons, write_depth
from linkedbandits.lidar.depth_files import check_depth_file, rays
from linkedbandits.lidar.depth_picture import draw_depth
from linkedbandits.lidar.engines import find_engine
from linkedbandits.lidar.photon_files import NotSaid
from linkedbandits.lidar.photons import LEAST_BIN, MOST_BIN
from linkedbandits.lidar.picture import check_picture

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
MOST_DEAD_TIME = 1e6
"""Nanoseconds: no detector is blind for longer."""
MORE = 'More on all of this: the page "The command lidar" of the documentation.'
"""Where the output is explained."""
_PULSE_MISSING = "say how wide the pulse is at half maximum, in bins: --fwhm 3, or give a measured one: --pulse FILE"
_WRITTEN = {"as_json": "--json", "capture_kind": "--capture"}


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
    seconds = in_unit(text, "s")
    if seconds is None:
        raise InvalidParameter(f"{option} {text!r} is no time with its unit; write {option} 55ps or {option} 0.1ns")
    if not isfinite(seconds):
        raise InvalidParameter(f"{option} {text} is no time that a sensor has; write {option} 55ps or {option} 0.1ns")
    return round(seconds, 18)


def read_duration(option: str, text: str) -> float:
    """A time that is longer than none."""
    seconds = read_time(option, text)
    if seconds <= 0:
        raise InvalidParameter(f"{option} {text} is no time that passes; give one above 0, as {option} 50ps")
    return seconds


def read_bin_width(text: str) -> float:
    """The width of a bin in seconds."""
    seconds = read_time("--bin-width", text)
    if not LEAST_BIN <= seconds <= MOST_BIN:
        raise InvalidParameter(f"--bin-width {text} is no bin width from 1 ps to 1 us; give one, as --bin-width 55ps")
    return seconds


def read_pulse_step(text: str | None) -> float | None:
    """Seconds between the values of a measured pulse, where they were given."""
    return None if text is None else read_duration("--pulse-step", text)


def check_pulse(given: frozenset[str]) -> None:
    """Refuse two pulses, or what belongs to a file that was not given."""
    if {"pulse", "fwhm"} <= given:
        raise InvalidParameter("both --pulse and --fwhm were given; leave one out: a measured pulse has its own width")
    if given & {"pulse_unit", "pulse_step"} and "pulse" not in given:
        raise InvalidParameter("--pulse-unit and --pulse-step go with --pulse FILE; give one, or leave them out")


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
        raise InvalidParameter(
            f"both --photons {file} and {_written(name)} were given, and {_written(name)} is for scenes that are "
            "simulated; leave one out"
        )
    find_engine(told["engine"])
    check_pulse(given)
    if "dead_time" in given:
        check_not_negative("--dead-time", told["dead_time"])
        if told["dead_time"] > MOST_DEAD_TIME:
            raise InvalidParameter(
                f"--dead-time {told['dead_time']:g} ns is more than a millisecond; give nanoseconds, as --dead-time 50"
            )
    outs: list[Path] = told["out"] or []
    picture: Path | None = told["picture"]
    check_outs(outs, told["field_of_view"])
    if picture is not None:
        check_picture(picture)
        opt.check_writable("--picture", picture)
    replaced = files_there([*outs, *([picture] if picture else [])])
    step = read_pulse_step(told["pulse_step"])
    photons = _read(file, told, given)
    if not given & {"fwhm", "pulse"}:
        raise InvalidParameter(f"{file}: {_PULSE_MISSING}")
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
    written = [*outs, *([picture] if picture else [])]
    if told["as_json"]:
        typer.echo(json.dumps(as_data(photons, found, written)))
    else:
        _print(photons, found, written_lines(written, replaced))


def check_outs(outs: list[Path], field_of_view: float) -> None:
    """Refuse before the work what cannot be written after it."""
    for out in outs:
        check_depth_file(out)
        opt.check_writable("--out", out)
        if out.suffix.lower() == ".ply":
            rays((1, 1), field_of_view)


def files_there(paths: list[Path]) -> frozenset[Path]:
    """Those of them that are there already, and will be replaced."""
    return frozenset(path for path in paths if path.exists())


def written_lines(paths: list[Path], replaced: frozenset[Path]) -> list[str]:
    """What is said of files: nobody loses one without being told."""
    return [f"Written: {path}" + (", in place of the file that was there" * (path in replaced)) for path in paths]


def _read(file: Path, told: Mapping[str, Any], given: frozenset[str]) -> Photons:
    """The photons of the file; what it does not say is asked for together with the pulse, if that is missing too."""
    try:
        return read_photons(
            file,
            cycles=told["cycles"],
            bin_seconds=None if told["bin_width"] is None else read_bin_width(told["bin_width"]),
            mode=told["mode"],
            dead_time=1e-9 * told["dead_time"] if "dead_time" in given else None,
            background=told["background"],
            background_cycles=told["background_cycles"],
            kind=told["capture_kind"],
            array=told["array"],
            axes=told["axes"],
            shape=None if told["shape"] is None else read_shape(told["shape"]),
            bins=told["bins"] if "bins" in given else None,
            period=None if told["period"] is None else read_duration("--period", told["period"]),
            merge=told["merge"],
            opens=told["opens"],
            zero_seconds=0.0 if told["zero"] is None else read_time("--zero", told["zero"]),
            channel=told["channel"],
        )
    except NotSaid as error:
        missing = [str(error)]
        if told["mode"] == "free-running" and "dead_time" not in given:
            missing.append("say how many nanoseconds the detector is blind after a photon: --dead-time 50")
        if not given & {"fwhm", "pulse"}:
            missing.append(_PULSE_MISSING)
        raise NotSaid("; ".join(missing)) from error


def as_data(photons: Photons, found: DepthMap, written: list[Path]) -> dict[str, object]:
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
        "tolerance_m": readable(found.tolerance),
        "depth_m": _range(depth),
        "signal": _range(found.signal[found.found]),
        "background": _range(found.background),
        "notes": list(found.notes),
        "written": [str(path) for path in written],
    }


def _range(values: Any) -> list[float] | None:
    finite = values[np.isfinite(values)]
    if not finite.size:
        return None
    return [readable(float(value)) for value in (finite.min(), np.median(finite), finite.max())]


def _print(photons: Photons, found: DepthMap, written: list[str]) -> None:
    """What was found, in a table, and what its words mean."""
    console = standard_report()
    high, wide = photons.shape
    console.print(
        f"{photons.source}: {high} x {wide} pixel{'s' * (high * wide > 1)}, {photons.bins} bins of "
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
        "Pixels are rows x columns. Ranges are from the least to the largest, with the median between. With a depth: "
        "the photons speak for a return. A sure depth is off by more than "
        f"{_length(found.tolerance)} with probability at most {found.delta:g} (--delta), if the pulse is as given, a "
        "pixel has one return at most, and its background is the same in all bins. Glass before a target, an edge "
        "within a pixel and afterpulses are outside of that. The interval is where the depth is, but for that "
        f"probability. {MORE}"
    )
    for note in found.notes:
        console.print(note)
    for line in written:
        console.print(line)
    if not written:
        console.print("Nothing was written; name a file with --out depth.npz, or --picture depth.png.")


def _share(part: int, whole: int) -> str:
    return f"{part:,} ({tables.percent(part / whole)})"


def _span(values: Any, form: str) -> str:
    span = _range(np.asarray(values, dtype=np.float64))
    if span is None:
        return "none"
    least, middle, most = (form.format(value) for value in span)
    return least if least == most else f"{least} .. {middle} .. {most}"


def _length(metres: float) -> str:
    return f"{1000 * metres:.3g} mm" if metres < 0.1 else f"{100 * metres:.3g} cm"
