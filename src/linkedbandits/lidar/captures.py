"""The public captures of the field, as they are published: what their files mean, which the files do not all say.

``wisc``: WISC-SinglePhoton3DData (Gupta et al. 2019, Gutierrez-Barragan et al. 2022). A folder has a file
``t3mode_CABLE_DELAY_NUMBER.out`` for each pixel, HydraHarp records of 8 ps, and ``positions_file.txt``, a line a pixel:
number, y, x. The laser has 10 MHz and the detector 50 ns of dead time. Folders ``free`` are free-running, ``ext...``
are synchronous; in ``det`` windows are shifted by an order that the files do not say. The histograms made of them are
``raw-hist-img_r-ROWS-c-COLUMNS_tres-8ps_tlen-100000ps.npy``, with ``n-laser-cycles-img_r-ROWS-c-COLUMNS.npy`` beside
them.

``shin-2016``: Photon-efficient imaging with a single-photon camera (Shin et al. 2016). A ``.mat`` with two arrays of
cells, a cell a pixel: ``D`` has the bins of photons, from 0 to 127, of 389 ps, and ``F`` the frame of each. A frame has
many laser pulses and at most one photon a pixel. Which pulse that was of is not in the file.

``sp-transientbench``: SP-TransientBench (Dong et al. 2026): 192 rows, 256 columns and 672 bins of 0.75 ns, as an array
in any format, or as a ``.raw`` of these counts alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from linkedbandits.checks import check_whole
from linkedbandits.errors import CannotRead, InvalidParameter, UnknownName
from linkedbandits.lidar.file_errors import why_not
from linkedbandits.lidar.photon_files import BINS, CYCLES, WIDTH, AnyArray, FileContents, check_said
from linkedbandits.lidar.photons import PhotonMode, Photons
from linkedbandits.lidar.tcspc_files import read_records
from linkedbandits.lidar.time_stamps import NOT_SYNCHRONOUS, Schedule, TimeStamps, check_stamps
from linkedbandits.model import IntArray

CAPTURES = ("wisc", "shin-2016", "sp-transientbench")

WISC_TICK = 8e-12
WISC_PERIOD = 100e-9
WISC_DEAD_TIME = 50e-9
_WISC_FILE = re.compile(r"t3mode_\d+_\d+_(\d+)\.out")
_WISC_HISTOGRAM = re.compile(r"(?:raw-)?hist-img_(r-\d+-c-\d+)_tres-(\d+)ps_tlen-(\d+)ps\.npy")
POSITIONS = "positions_file.txt"

SHIN_BIN = 389e-12
SHIN_BINS = 128

STB_SHAPE = (192, 256, 672)
STB_BIN = 0.75e-9
_STB_TYPES: dict[int, np.dtype[Any]] = {1: np.dtype("u1"), 2: np.dtype("<u2"), 4: np.dtype("<u4")}


@dataclass(frozen=True)
class Settings:
    """What a caller says of a file, where the file does not; seconds throughout. See :func:`read_photons`."""

    cycles: AnyArray | int | None = None
    bin_seconds: float | None = None
    mode: PhotonMode | None = None
    dead_time: float | None = None
    period: float | None = None
    bins: int | None = None
    merge: int = 1
    opens: int = 0
    zero_seconds: float = 0.0
    array: str | None = None
    axes: str | None = None
    shape: tuple[int, int] | None = None
    channel: int | None = None


def count_as_told(stamps: TimeStamps, told: Settings, mode: PhotonMode) -> Photons:
    """The photons of time stamps, with the caller's settings."""
    zero = told.zero_seconds - told.opens * stamps.tick_seconds
    return stamps.opened(told.opens).count(mode=mode, dead_time=told.dead_time, merge=told.merge, zero_seconds=zero)


def check_kind(kind: str | None) -> None:
    """Refuse a capture that there is not."""
    if kind is not None and kind not in CAPTURES:
        raise UnknownName(f"unknown capture {kind!r}; choose one of {', '.join(CAPTURES)}")


def is_wisc_histogram(path: Path) -> bool:
    """Is it a histogram of that capture, by its name?"""
    return _WISC_HISTOGRAM.fullmatch(path.name) is not None


def settings_of_wisc_histogram(path: Path, told: Settings) -> Settings:
    """What the name of a histogram says, and the file with its cycles; what a caller says goes first."""
    named = _WISC_HISTOGRAM.fullmatch(path.name)
    if named is None:
        raise CannotRead(f"{path} is no raw-hist-img_r-..-c-.._tres-..ps_tlen-..ps.npy; leave kind out")
    size, width, length = named.groups()
    beside = path.with_name(f"n-laser-cycles-img_{size}.npy")
    cycles = told.cycles
    if cycles is None and beside.exists():
        cycles = np.load(beside, allow_pickle=False)
    mode = told.mode or _wisc_mode(path.parent)
    return replace(
        told,
        cycles=cycles,
        bin_seconds=told.bin_seconds or int(width) * 1e-12,
        period=told.period or int(length) * 1e-12,
        mode=mode,
        dead_time=WISC_DEAD_TIME if told.dead_time is None and mode == "free-running" else told.dead_time,
        axes=told.axes or "rows,columns,bins",
    )


def _wisc_mode(folder: Path) -> PhotonMode:
    name = folder.name
    if name == "det":
        raise CannotRead(
            f"{folder} was taken with shifted windows, in an order that its files do not say; give mode (--mode) if "
            "you know better"
        )
    return "free-running" if name == "free" else "synchronous"


def read_wisc(path: Path, told: Settings) -> Photons:
    """A scan of that capture: the folder, or the file of one pixel."""
    folder = path if path.is_dir() else path.parent
    mode = told.mode or _wisc_mode(folder)
    if told.dead_time is None:
        told = replace(told, dead_time=WISC_DEAD_TIME)
    tick = told.bin_seconds or WISC_TICK
    period = told.period or WISC_PERIOD
    ticks = told.bins or round(period / tick)
    files, shape, turned = _scan_of(path) if path.is_dir() else ([path], (1, 1), np.zeros((1, 1), dtype=np.int64))
    pixels = []
    for file in files:
        cycle, place = read_records(file)
        whole = told.cycles if told.cycles is not None else int(cycle.max(initial=0)) + 1
        check_whole("cycles", whole if isinstance(whole, int) else 0)
        check_stamps(cycle, place, 2**15, np.asarray(whole), str(file))
        kept = place < ticks
        stamps = TimeStamps(
            cycle=cycle[kept],
            tick=place[kept],
            schedule=Schedule(*(np.array([number]) for number in (0, int(whole), 0))),
            shape=(1, 1),
            tick_seconds=tick,
            ticks=ticks,
            period=period,
            source=str(file),
        )
        pixels.append(count_as_told(stamps, told, mode))
    order = turned.reshape(-1)
    inexact = sum(not pixel.exact for pixel in pixels)
    photons = Photons(
        detections=np.concatenate([pixels[number].detections for number in order]).reshape(*shape, -1),
        samples=np.concatenate([pixels[number].samples for number in order]).reshape(*shape, -1),
        bin_seconds=pixels[0].bin_seconds,
        cycles=np.array([int(pixels[number].cycles[0, 0]) for number in order]).reshape(shape),
        source=str(path),
        mode=mode,
        zero_seconds=pixels[0].zero_seconds,
        exact=not inexact,
    ).noting("Cycles of a pixel are counted up to its last photon, as the files do not say how many there were.")
    if not inexact:
        return photons
    return photons.noting(
        f"In {inexact:,} of {len(pixels):,} pixels photons behind the first of their cycle were left out. "
        f"{NOT_SYNCHRONOUS}"
    )


def _scan_of(folder: Path) -> tuple[list[Path], tuple[int, int], IntArray]:
    """The files in the order of the scan, rows and columns of the image, and which file each pixel has."""
    found = {int(named.group(1)): file for file in folder.iterdir() if (named := _WISC_FILE.fullmatch(file.name))}
    if not found:
        raise CannotRead(f"{folder} has no files t3mode_.._.._...out; name the folder of a scan, such as .../free")
    files = [found[number] for number in sorted(found)]
    positions = folder / POSITIONS
    try:
        table = np.loadtxt(positions, delimiter=",", ndmin=2)
    except (OSError, ValueError) as error:
        raise CannotRead(f"{why_not(positions, error)}; it says where the pixels are: copy it too") from error
    if table.shape[1] < 3 or len(table) != len(files):
        raise CannotRead(
            f"{positions} has {len(table):,} lines for {len(files):,} pixels; copy the whole folder of the scan again"
        )
    high, wide = np.unique(table[:, 1]).size, np.unique(table[:, 2]).size
    if high * wide != len(files):
        raise CannotRead(
            f"{positions}: {len(files):,} pixels are no grid of {high} x {wide}; copy the whole folder again"
        )
    # The scan goes through the second coordinate first, and the image has it upwards.
    turned = np.flipud(np.arange(len(files)).reshape(high, wide).T)
    return files, (wide, high), turned


def is_shin(contents: FileContents) -> bool:
    """Are these the cells of that capture?"""
    return {"D", "F"} <= set(contents.cells)


def read_cells(contents: FileContents, told: Settings, kind: str | None) -> Photons:
    """Time stamps in cells, one cell a pixel: of the capture ``shin-2016``, or without frames."""
    source = contents.source
    shin = kind == "shin-2016" or (kind is None and told.array is None and is_shin(contents))
    if shin and not is_shin(contents):
        raise CannotRead(f"{source} has {contents.listed()}, not the cells D and F of that capture; leave kind out")
    name = "D" if shin else _only_cell(contents, told.array)
    cells = contents.cells[name]
    if cells.ndim != 2:
        raise CannotRead(f"{source}: cells of shape {cells.shape} are no rows and columns; export them as an image")
    stamps = [_whole(np.ravel(cell), source) for cell in cells.reshape(-1)]
    width = told.bin_seconds or (SHIN_BIN if shin else None)
    bins = told.bins or (SHIN_BINS if shin else None)
    cycles = told.cycles
    if shin and cycles is None:
        frames = [_whole(np.ravel(cell), source) for cell in contents.cells["F"].reshape(-1)]
        if [frame.size for frame in frames] != [stamp.size for stamp in stamps]:
            raise CannotRead(f"{source}: D and F have different numbers of photons; export the file again")
        cycles = max(int(frame.max(initial=0)) for frame in frames) + 1
    check_said(source, {CYCLES: cycles, WIDTH: width, BINS: bins})
    assert width is not None
    assert bins is not None
    assert cycles is not None
    pixel = np.repeat(np.arange(len(stamps)), [stamp.size for stamp in stamps])
    tick = np.concatenate(stamps) if stamps else np.empty(0, dtype=np.int64)
    check_stamps(np.zeros_like(tick), tick, bins, 1, source)
    groups = bins // told.merge
    kept = tick < groups * told.merge
    counts = np.bincount(pixel[kept] * groups + tick[kept] // told.merge, minlength=len(stamps) * groups)
    mode: PhotonMode = told.mode or ("every" if shin else "synchronous")
    photons = Photons.from_histogram(
        counts.reshape(*cells.shape, groups),
        cycles=cycles,
        bin_seconds=width * told.merge,
        mode=mode,
        dead_time=told.dead_time,
        period=told.period,
        opens=told.opens,
        zero_seconds=told.zero_seconds,
        source=source,
    )
    if not shin:
        return photons
    return replace(photons, exact=photons.exact and told.mode is not None).noting(
        "A cycle is a frame, which has many laser pulses and one photon a pixel at most. Bins are taken to be "
        "independent of each other, which is near the truth where photons are few; so no depth is called sure."
    )


def _only_cell(contents: FileContents, array: str | None) -> str:
    if array is not None and array in contents.cells:
        return array
    if array is None and len(contents.cells) == 1:
        return next(iter(contents.cells))
    raise CannotRead(
        f"which cells of {contents.source} are time stamps? It has {contents.listed()}; name one with --array"
    )


def _whole(stamps: AnyArray, source: str) -> IntArray:
    if stamps.size and (stamps.dtype.kind not in "iuf" or (stamps != np.rint(stamps)).any()):
        raise InvalidParameter(
            f"{source}: time stamps are not whole numbers of bins; give them in bins, counted from 0"
        )
    return stamps.astype(np.int64)


def settings_of_stb(told: Settings) -> Settings:
    """What that capture's files do not say."""
    return replace(told, bin_seconds=told.bin_seconds or STB_BIN)


def read_stb_raw(path: Path, axes: str | None) -> FileContents:
    """Counts without a header: of how many bytes is told by the size of the file, in what order by the caller."""
    try:
        size = path.stat().st_size
    except OSError as error:
        raise CannotRead(f"{path} cannot be read ({error.strerror}); name a file that is there") from error
    pixels = int(np.prod(STB_SHAPE))
    kind = _STB_TYPES.get(size // pixels) if size and size % pixels == 0 else None
    if kind is None:
        raise CannotRead(
            f"{path} has {size:,} bytes, which are not {' x '.join(map(str, STB_SHAPE))} counts of 1, 2 or 4 bytes; "
            "copy it again"
        )
    if axes is None:
        raise CannotRead(f"{path} has no header that says its axes; say them, as --axes rows,columns,bins")
    lengths = dict(zip(("rows", "columns", "bins"), STB_SHAPE, strict=True))
    named = tuple(part.strip() for part in axes.split(","))
    if sorted(named) != sorted(lengths):
        raise InvalidParameter(
            f"axes={axes!r} are not rows, columns and bins in some order; give --axes rows,columns,bins"
        )
    counts: AnyArray = np.fromfile(path, dtype=kind).reshape([lengths[name] for name in named])
    return FileContents(str(path), {"": counts})
