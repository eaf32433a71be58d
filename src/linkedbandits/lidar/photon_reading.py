"""From a file to photons: what the file says, what the caller says, and an error where neither does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from linkedbandits.checks import check_whole
from linkedbandits.errors import CannotRead, InvalidParameter, LinkedBanditError
from linkedbandits.lidar.captures import (
    STB_SHAPE,
    Settings,
    check_kind,
    count_as_told,
    is_wisc_histogram,
    read_cells,
    read_stb_raw,
    read_wisc,
    settings_of_stb,
    settings_of_wisc_histogram,
)
from linkedbandits.lidar.file_errors import why_not
from linkedbandits.lidar.photon_files import (
    BINS,
    CYCLES,
    CYCLES_OF_PIXELS,
    WIDTH,
    AnyArray,
    FileContents,
    Needed,
    check_said,
    cycles_in,
    find_histogram,
    read_contents,
    width_in,
    width_without_unit,
)
from linkedbandits.lidar.photons import PhotonMode, Photons, check_mode, cycles_of
from linkedbandits.lidar.tcspc_files import read_ptu
from linkedbandits.lidar.time_stamps import Schedule, TimeStamps, check_stamps
from linkedbandits.model import IntArray

TIME_NAMES = ("time", "timebins", "tick", "dtime")
"""What a photon's time in whole bins is called;"""
CYCLE_NAMES = ("cycle", "sync", "nsync")
"""its laser cycle;"""
TIME_UNITS = {"times": 1.0, "timeseconds": 1.0, "timeus": 1e-6, "timens": 1e-9, "timeps": 1e-12}
"""and its time in seconds, or parts of them."""


def read_photons(
    path: str | Path,
    *,
    cycles: npt.ArrayLike | None = None,
    bin_seconds: float | None = None,
    mode: PhotonMode | None = None,
    dead_time: float | None = None,
    background: str | Path | None = None,
    background_cycles: npt.ArrayLike | None = None,
    kind: str | None = None,
    array: str | None = None,
    axes: str | None = None,
    shape: tuple[int, int] | None = None,
    bins: int | None = None,
    period: float | None = None,
    merge: int = 1,
    opens: int = 0,
    zero_seconds: float = 0.0,
    channel: int | None = None,
) -> Photons:
    """The photons of a file: a histogram (rows, columns, bins), or time stamps.

    ``cycles`` is how many laser cycles it holds, ``bin_seconds`` how wide a bin is, ``mode`` how the sensor works
    (``synchronous`` unless given): needed where the file does not say. ``free-running`` needs ``dead_time``, in
    seconds. ``background`` is a file of the same kind, taken with the laser off, in ``background_cycles`` cycles, as
    many as the other unless given. ``kind`` names a public capture (``wisc``, ``shin-2016``, ``sp-transientbench``);
    most are recognised.

    ``array`` and ``axes`` say which array of the file it is, and its axes: ``"bins,rows,columns"``. ``shape`` is rows
    and columns, where pixels are a list. Time stamps need ``bins``, or the ``period`` of the laser. ``merge`` puts that
    many neighbouring bins together, ``opens`` is the bin at which the detector's window opens, ``zero_seconds`` when
    light of depth 0 would come, ``channel`` the detector's, of several.
    """
    path = Path(path)
    check_kind(kind)
    if mode is not None:
        check_mode(mode)
    check_whole("merge", merge)
    for name, value in (("bins", bins), ("channel", channel)):
        if value is not None:
            check_whole(name, value, least=0 if name == "channel" else 2)
    told = Settings(
        None if cycles is None else _told_cycles(cycles),
        bin_seconds,
        mode,
        dead_time,
        period,
        bins,
        merge,
        opens,
        zero_seconds,
        array,
        axes,
        shape,
        channel,
    )
    try:
        photons = _read(path, told, kind)
        if background is None:
            return photons
        path = Path(background)
        return photons.with_background(_read_background(path, told, kind, background_cycles))
    except OSError as error:
        if isinstance(error, LinkedBanditError):
            raise
        raise CannotRead(f"{why_not(path, error)}; name a file of photons") from error


def _read_background(path: Path, told: Settings, kind: str | None, cycles: npt.ArrayLike | None) -> Photons:
    try:
        return _read(path, replace(told, cycles=told.cycles if cycles is None else _told_cycles(cycles)), kind)
    except (CannotRead, InvalidParameter) as error:
        if "--cycles" not in str(error):
            raise
        raise type(error)(
            f"the background {error}; its own cycles are background_cycles=1000 (--background-cycles 1000)"
        ) from error


def _told_cycles(cycles: npt.ArrayLike) -> AnyArray | int:
    found = np.asarray(cycles)
    return int(found) if found.ndim == 0 and found.dtype.kind in "iu" else found


def _read(path: Path, told: Settings, kind: str | None) -> Photons:
    if not path.exists():
        raise CannotRead(f"there is no file {path}; name a file of photons")
    if path.is_dir() or path.suffix.lower() == ".out":
        return read_wisc(path, told)
    if path.suffix.lower() == ".ptu":
        return _from_ptu(path, told)
    if kind == "sp-transientbench" and path.suffix.lower() in {".raw", ".bin"}:
        contents = read_stb_raw(path, told.axes)
    else:
        contents = read_contents(path)
    if kind == "wisc" or (kind is None and is_wisc_histogram(path)):
        told = settings_of_wisc_histogram(path, told)
    if kind == "sp-transientbench":
        told = settings_of_stb(told)
    if kind == "shin-2016" or (contents.cells and (told.array in contents.cells or not _has_histogram(contents))):
        return read_cells(contents, told, kind)
    if told.array is None and _is_list(contents) and not _has_histogram(contents):
        return _from_list(contents, told)
    return _from_histogram(contents, told, kind)


def _has_histogram(contents: FileContents) -> bool:
    return any(array.ndim == 3 for array in contents.arrays.values())


def _width(contents: FileContents, told: Settings) -> float | None:
    """How wide a bin is, if that is said."""
    said = width_in(contents)
    if told.bin_seconds is not None:
        if said is not None and not np.isclose(said, told.bin_seconds, rtol=1e-3, atol=0):
            raise InvalidParameter(
                f"{contents.source} says that a bin is {1e12 * said:g} ps wide, not {1e12 * told.bin_seconds:g} ps; "
                "leave --bin-width out, or give the file's"
            )
        return told.bin_seconds
    return said


def _needed_width(contents: FileContents) -> Needed:
    """What to say where that is not said; a file may have a number without its unit."""
    bare = width_without_unit(contents)
    return WIDTH if bare is None else WIDTH._replace(what=f"{WIDTH.what}, but for a width of {bare:g} without a unit")


def _cycles(contents: FileContents, told: Settings) -> Any:
    return cycles_in(contents) if told.cycles is None else told.cycles


def _from_histogram(contents: FileContents, told: Settings, kind: str | None) -> Photons:
    counts = find_histogram(contents, told.array, told.axes, told.shape)
    if kind == "sp-transientbench" and counts.shape != STB_SHAPE:
        raise CannotRead(
            f"{contents.source} has shape {counts.shape}, not {STB_SHAPE} as that capture; say what its axes are with "
            "--axes, or leave kind out"
        )
    mode: PhotonMode = told.mode or "synchronous"
    width = _width(contents, told)
    cycles = _cycles(contents, told)
    check_said(contents.source, {CYCLES: cycles, _needed_width(contents): width})
    assert width is not None
    photons = Photons.from_histogram(
        counts,
        cycles=cycles,
        bin_seconds=width,
        mode=mode,
        dead_time=told.dead_time,
        period=told.period,
        opens=told.opens,
        zero_seconds=told.zero_seconds,
        source=contents.source,
    )
    return photons.merged(told.merge)


def _from_ptu(path: Path, told: Settings) -> Photons:
    if told.cycles is not None and not isinstance(told.cycles, int):
        raise InvalidParameter(f"{path}: give one number of cycles, or leave --cycles out: the file says them")
    stamps = read_ptu(path, told.channel, told.cycles, told.shape)
    if told.bin_seconds is not None and not np.isclose(told.bin_seconds, stamps.tick_seconds, rtol=1e-3, atol=0):
        raise InvalidParameter(
            f"{path} says that a bin is {1e12 * stamps.tick_seconds:g} ps wide, not {1e12 * told.bin_seconds:g} ps; "
            "leave --bin-width out, and merge bins with --merge"
        )
    return count_as_told(stamps, told, told.mode or "synchronous")


def _is_list(contents: FileContents) -> bool:
    """Are these photons one by one? A file may also say a time of exposure, which is one number."""
    times = contents.named(*TIME_NAMES, *TIME_UNITS)
    return times is not None and (times.size > 1 or contents.named(*CYCLE_NAMES) is not None)


def _from_list(contents: FileContents, told: Settings) -> Photons:
    """Time stamps: an array each for pixel (or row and column), cycle and time."""
    source = contents.source
    width = _width(contents, told)
    cycles = _cycles(contents, told)
    of_period = None if told.period is None else round(told.period / width) if width else told.period
    bins = told.bins or of_period or _number(contents, "bins", "nbins")
    check_said(source, {CYCLES_OF_PIXELS: cycles, _needed_width(contents): width, BINS: bins})
    assert width is not None
    assert isinstance(bins, int)
    tick = _ticks(contents, width)
    cycle = contents.named(*CYCLE_NAMES)
    if cycle is None or cycle.size != tick.size:
        raise CannotRead(f"{source} has times without the laser cycle of each; give an array named cycle beside time")
    place, shape = _places(contents, told, tick.size)
    cycle = _whole(cycle, "cycles", source)
    per_pixel = cycles_of(np.asarray(cycles), shape, source).reshape(-1)
    check_stamps(cycle, tick, bins, per_pixel[place], source)
    schedule = Schedule.one_after_another(per_pixel)
    stamps = TimeStamps(
        cycle=schedule.start[place] + cycle,
        tick=tick,
        schedule=schedule,
        shape=shape,
        tick_seconds=width,
        ticks=bins,
        period=told.period or bins * width,
        source=source,
    )
    return count_as_told(stamps, told, told.mode or "synchronous")


def _ticks(contents: FileContents, width: float) -> IntArray:
    for name, unit in TIME_UNITS.items():
        found = contents.named(name)
        if found is not None:
            seconds = _finite(found, contents.source) * unit
            return np.floor(seconds / width + 1e-9).astype(np.int64)
    bare = contents.named(*TIME_NAMES)
    assert bare is not None
    bare = _finite(bare, contents.source)
    if (bare != np.rint(bare)).any():
        raise CannotRead(
            f"{contents.source}: times with fractions have no unit; call them time_ps or time_ns, or give whole bins"
        )
    return bare.astype(np.int64)


def _finite(array: AnyArray, source: str) -> AnyArray:
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise InvalidParameter(f"{source}: some times are not finite numbers; leave out what is no photon")
    return np.ravel(array)


def _whole(array: AnyArray, what: str, source: str) -> IntArray:
    if array.dtype.kind not in "iuf" or not (np.isfinite(array) & (array == np.rint(array))).all():
        raise InvalidParameter(f"{source}: {what} are not whole numbers; count them from 0")
    return np.ravel(array).astype(np.int64)


def _number(contents: FileContents, *names: str) -> int | None:
    found = contents.named(*names)
    return int(found.reshape(-1)[0]) if found is not None and found.size == 1 else None


def _places(contents: FileContents, told: Settings, photons: int) -> tuple[IntArray, tuple[int, int]]:
    """The pixel of each photon, and rows and columns."""
    source = contents.source
    row, column, pixel = contents.named("row"), contents.named("column"), contents.named("pixel")
    if row is not None and column is not None:
        rows, columns = _whole(row, "rows", source), _whole(column, "columns", source)
        shape = told.shape or (int(rows.max(initial=0)) + 1, int(columns.max(initial=0)) + 1)
        place = rows * shape[1] + columns
        outside = (rows < 0) | (rows >= shape[0]) | (columns < 0) | (columns >= shape[1])
    else:
        place = np.zeros(photons, dtype=np.int64) if pixel is None else _whole(pixel, "pixels", source)
        if told.shape is None and place.max(initial=0) > 0:
            raise CannotRead(f"{source} numbers its pixels; say how many rows and columns they are: --shape 32,32")
        shape = told.shape or (1, 1)
        outside = (place < 0) | (place >= shape[0] * shape[1])
    if place.size != photons:
        raise CannotRead(f"{source} has {photons:,} times and {place.size:,} pixels; give one of each for every photon")
    if outside.any():
        raise CannotRead(
            f"{source} has photons outside of {shape[0]} rows and {shape[1]} columns; give another --shape"
        )
    return place, shape
