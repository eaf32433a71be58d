"""The options of ``linkedbandits lidar``: groups of them as the help shows them, each said in a line or two.

What takes longer to say is in docs/lidar-command.md, which the help names.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from linkedbandits.cli import options as opt
from linkedbandits.cli.options import time_in
from linkedbandits.lidar import ACQUISITIONS, CAPTURES, ESTIMATORS, PHOTON_MODES, SCENES
from linkedbandits.lidar.depth_files import WRITERS
from linkedbandits.lidar.engines import ENGINES
from linkedbandits.lidar.photon_files import READERS
from linkedbandits.lidar.pulse import UNITS as TIMES
from linkedbandits.lidar.scene import UNITS as LENGTHS

DEFAULT_METHODS = ("synchronous", "free-running", "pulse")
LIGHTS = ("sun", "even")

_SCENE = "A scene to simulate"
_PHOTONS = "Or photons of a real sensor"
_SENSOR = "The sensor"
_LIGHT = "The light of a scene"
_ACQUIRING = "The way of acquiring"
_ENDING = "When a pixel ends"
_WRITING = "What is written"
_COMPUTING = "Who computes"


def _option(group: str, metavar: str, help_: str, *names: str, words: Any = None) -> Any:
    completion = None if words is None else opt.one_of(words)
    return typer.Option(*names, help=help_, metavar=metavar, rich_help_panel=group, autocompletion=completion)


def _time(group: str, metavar: str, help_: str) -> Any:
    """A number in the unit that the metavar names, or a time with its own."""
    return typer.Option(help=help_, metavar=metavar, rich_help_panel=group, parser=time_in(metavar.lower()))


def _flag(group: str, help_: str, name: str) -> Any:
    return typer.Option(name, help=help_, rich_help_panel=group)


SceneName = Annotated[
    str | None, _option(_SCENE, "NAME", f"{', '.join(SCENES)}; motorcycle unless given.", words=SCENES)
]
File = Annotated[
    Path | None, _option(_SCENE, "FILE", "A depth map of your own: .npy, .npz (metres), .png (16-bit millimetres).")
]
Unit = Annotated[str | None, _option(_SCENE, "UNIT", f"The unit of --file, if another: {', '.join(LENGTHS)}.")]
Size = Annotated[int, _option(_SCENE, "N", "At most so many rows and columns; others are skipped.")]

PhotonFile = Annotated[
    Path | None,
    _option(_PHOTONS, "FILE", f"{', '.join(READERS)}, .ptu, .out, or the folder of a scan.", "--photons"),
]
ModeOfSensor = Annotated[
    str | None, _option(_PHOTONS, "MODE", f"How the sensor counts: {', '.join(PHOTON_MODES)}.", words=PHOTON_MODES)
]
ArrayName = Annotated[str | None, _option(_PHOTONS, "NAME", "Which array of the file.")]
Axes = Annotated[str | None, _option(_PHOTONS, "NAMES", "Its axes in order: rows,columns,bins.")]
Shape = Annotated[str | None, _option(_PHOTONS, "R,C", "Rows and columns of a list of pixels: 16,24.")]
Merge = Annotated[int, _option(_PHOTONS, "N", "Put so many bins together.")]
FirstBin = Annotated[int | None, _option(_PHOTONS, "BIN", "Leave out earlier bins, after merging.")]
LastBin = Annotated[int | None, _option(_PHOTONS, "BIN", "Leave out later bins, after merging.")]
Opens = Annotated[int, _option(_PHOTONS, "BIN", "Where the detector's window opens.")]
Period = Annotated[str | None, _option(_PHOTONS, "TIME", "From a laser pulse to the next: 100ns.")]
Zero = Annotated[str | None, _option(_PHOTONS, "TIME", "When light from depth 0 comes: 3.2ns.")]
Background = Annotated[Path | None, _option(_PHOTONS, "FILE", "The same with the laser off.")]
BackgroundCycles = Annotated[int | None, _option(_PHOTONS, "N", "Its laser cycles, if others.")]
Tolerance = Annotated[float | None, _option(_PHOTONS, "BINS", "How far off a sure depth may be.")]
Capture = Annotated[
    str | None,
    _option(_PHOTONS, "NAME", f"A public capture: {', '.join(CAPTURES)}.", "--capture", words=CAPTURES),
]
Channel = Annotated[int | None, _option(_PHOTONS, "N", "Which channel of a .ptu.")]

Bins = Annotated[int, _option(_SENSOR, "N", "Time bins of a laser cycle.")]
BinWidth = Annotated[str | None, _option(_SENSOR, "TIME", "Or how wide a bin is: 55ps, 0.1ns.")]
Reach = Annotated[float | None, _option(_SENSOR, "METRES", "Where the last bin ends; the scene's unless given.")]
Fwhm = Annotated[float, _option(_SENSOR, "BINS", "Full width of the pulse at half maximum.")]
PulseFile = Annotated[Path | None, _option(_SENSOR, "FILE", "Or the pulse as it was measured.")]
PulseUnit = Annotated[str | None, _option(_SENSOR, "UNIT", f"Of times in --pulse: {', '.join(TIMES)}.")]
PulseStep = Annotated[str | None, _option(_SENSOR, "TIME", "Between values in --pulse without times: 50ps.")]
DeadTime = Annotated[float, _time(_SENSOR, "NS", "Blind after a photon.")]
Gates = Annotated[str, _option(_SENSOR, "GATES", "suffix, suffix:20, windows:2:1 (ns) or any.")]
Dark = Annotated[float, _option(_SENSOR, "PHOTONS", "Of its own, a bin and cycle.")]
Jitter = Annotated[float, _time(_SENSOR, "PS", "Error in time (sigma).")]
Rise = Annotated[float, _time(_SENSOR, "NS", "That a gate takes to open.")]
Afterpulsing = Annotated[float, _option(_SENSOR, "CHANCE", "Of an afterpulse.")]
AfterpulseTime = Annotated[float, _time(_SENSOR, "NS", "Until it comes, on average.")]

Ambient = Annotated[float, _option(_LIGHT, "PHOTONS", "Background of a cycle, mean of pixels.")]
Signal = Annotated[float, _option(_LIGHT, "PHOTONS", "Of the pulse, mean of pixels.")]
Light = Annotated[
    str | None, _option(_LIGHT, "sun|even", "Background like reflectivity (unless --told), or even.", words=LIGHTS)
]
Strongest = Annotated[float | None, _option(_LIGHT, "PHOTONS", "No signal is larger, on your word.")]
Told = Annotated[bool, _flag(_LIGHT, "The background is even, and known.", "--told")]

Method = Annotated[
    list[str] | None,
    _option(
        _ACQUIRING,
        "NAME",
        f"{', '.join(ACQUISITIONS)} or auto. Repeat it to compare; unless given, {', '.join(DEFAULT_METHODS)}.",
        words=[*ACQUISITIONS, "auto"],
    ),
]
EstimatorName = Annotated[
    str, _option(_ACQUIRING, "NAME", f"How depth is found: {', '.join(ESTIMATORS)}.", words=ESTIMATORS)
]
Alone = Annotated[bool, _flag(_ACQUIRING, "Without what was found around a pixel.", "--alone")]

Cycles = Annotated[int | None, _option(_ENDING, "N", "Laser cycles of a pixel; those in --photons.")]
Microseconds = Annotated[float | None, _time(_ENDING, "US", "Time of a pixel, blind times included.")]
Delta = Annotated[
    float | None, _option(_ENDING, "CHANCE", "When its depth is sure: wrong with at most this probability.")
]
Likely = Annotated[
    float | None, _option(_ENDING, "CHANCE", "When its depth is right so probably, by the model: no guarantee.")
]

Out = Annotated[list[Path] | None, _option(_WRITING, "FILE", f"The depths: {', '.join(WRITERS)}. May be repeated.")]
Picture = Annotated[Path | None, _option(_WRITING, "FILE", "Images side by side: .png, .svg, .pdf.")]
Plate = Annotated[Path | None, _option(_WRITING, "FILE", "How pulse learns of one pixel, likewise.")]
Pixel = Annotated[str | None, _option(_WRITING, "R,C", "Its row and column; the middle unless given.")]
FieldOfView = Annotated[float, _option(_WRITING, "DEGREES", "Across all columns, for .ply.")]
Json = Annotated[bool, _flag(_WRITING, "JSON, and nothing else.", "--json")]

EngineName = Annotated[
    str, _option(_COMPUTING, "NAME", f"{', '.join(ENGINES)}: compiled is faster, gpu the fastest.", words=ENGINES)
]
Workers = Annotated[int | None, _option(_COMPUTING, "N", "Processes (numpy) or threads (compiled).")]
Seed = Annotated[int, _option(_COMPUTING, "N", "The same seed gives the same results.")]
