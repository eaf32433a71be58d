"""The arrays in a file of photons, whatever its format, and which of them is meant.

Formats: ``.npy``, ``.npz``, ``.mat`` (version 5, and 7.3, which is HDF5), ``.h5`` and ``.hdf5``, ``.csv`` and ``.txt``,
``.tif`` and ``.tiff``. What they need beyond numpy and scipy comes with the extra ``lidar`` and is imported when used.
"""

from __future__ import annotations

import csv
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from itertools import islice
from math import isqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from linkedbandits.errors import CannotRead, InvalidParameter, LinkedBanditError, MissingExtra

AnyArray = npt.NDArray[Any]

AXES = ("rows", "columns", "bins")
HISTOGRAM_NAMES = (
    *("histogram", "histograms", "hist", "hists", "histimg", "histogramimage", "counts", "photoncounts"),
    *("photons", "detections", "transient", "transients", "waveform", "waveforms", "spad", "cube", "data"),
)
"""What people call a histogram, in lower case and without underscores; the first that a file has is meant."""
CYCLES_NAMES = ("cycles", "ncycles", "numcycles", "lasercycles", "nlasercycles", "pulses", "npulses", "numpulses")
WIDTH_NAMES = {
    "binseconds": 1.0,
    "binwidths": 1.0,
    "binwidthseconds": 1.0,
    "binwidthms": 1e-3,
    "binwidthus": 1e-6,
    "binwidthns": 1e-9,
    "binwidthps": 1e-12,
    "binns": 1e-9,
    "binps": 1e-12,
}
WIDTHS_WITHOUT_UNIT = ("binwidth", "binsize", "tbin", "tres", "resolution")


@dataclass(frozen=True)
class FileContents:
    """The arrays of a file by name, an unnamed one as ``""``; ``axes`` where the format itself says them."""

    source: str
    arrays: dict[str, AnyArray]
    axes: tuple[str, ...] | None = None
    cells: dict[str, AnyArray] = field(default_factory=dict)
    """Arrays of arrays, as MATLAB's cells: time stamps pixel by pixel."""

    def named(self, *names: str) -> AnyArray | None:
        """The first array that has one of these names, however it is written."""
        found = {plain(name): array for name, array in self.arrays.items()}
        return next((found[name] for name in names if name in found), None)

    def listed(self) -> str:
        """The arrays in a sentence."""
        parts = [f"{name or 'an array'} {array.shape}" for name, array in self.arrays.items()]
        parts += [f"{name} {cell.shape} of cells" for name, cell in self.cells.items()]
        return ", ".join(parts) or "nothing"


class Needed(NamedTuple):
    """Something that photons are nothing without: what it is, and how to give it."""

    what: str
    remedy: str


CYCLES = Needed("how many laser cycles it holds", "cycles=1000 (--cycles 1000)")
CYCLES_OF_PIXELS = Needed(
    "how many laser cycles each pixel had, also those without a photon", "cycles=1000 (--cycles 1000)"
)
WIDTH = Needed("how wide its bins are", "bin_seconds=55e-12 (--bin-width 55ps)")
BINS = Needed("how many bins a cycle has", "bins=1000 (--bins 1000)")


class NotSaid(CannotRead):
    """A file that does not say what it has to, and nobody else does."""


def check_said(source: str, found: Mapping[Needed, object]) -> None:
    """Refuse what is not said, all of it at once."""
    missing = [needed for needed, value in found.items() if value is None]
    if missing:
        what, remedies = (
            f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]
            for parts in ([each.what for each in missing], [each.remedy for each in missing])
        )
        raise NotSaid(f"{source} does not say {what}; give {remedies}")


def plain(name: str) -> str:
    """A name without what people write differently."""
    return "".join(letter for letter in name.rsplit("/", 1)[-1].lower() if letter.isalnum())


def read_contents(path: Path) -> FileContents:
    """All arrays of a file; an error names the file and what to do."""
    ending = path.suffix.lower()
    if ending not in READERS:
        raise CannotRead(
            f"{path} is no file of photons that can be read; give one in {', '.join(READERS)}, .ptu or .out"
        )
    try:
        if path.stat().st_size == 0:
            raise CannotRead(f"{path} is empty; export or copy it again")
        return READERS[ending](path)
    except LinkedBanditError:
        raise
    except FileNotFoundError as error:
        raise CannotRead(f"there is no file {path}; name one that is there") from error
    except MemoryError as error:
        raise CannotRead(f"{path} does not fit into memory; export fewer rows or bins at a time") from error
    except Exception as error:  # what readers raise at broken files has no common type
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        if "allow_pickle" in said:
            raise CannotRead(
                f"{path} cannot be read: it has Python objects in it, or is of another format; save an array of "
                "whole numbers with np.save"
            ) from error
        raise CannotRead(f"{path} cannot be read ({said}); it may be cut short: export or copy it again") from error


def need(module: str, for_what: str) -> Any:
    """A module of the extra, or an error that names the extra."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtra(f"{for_what} needs {module}; install it with: pip install 'linkedbandits[lidar]'") from error


def _read_npy(path: Path) -> FileContents:
    with path.open("rb") as file:
        array: AnyArray = np.load(file, allow_pickle=False)
    if array.dtype.names:
        return FileContents(str(path), {name: array[name] for name in array.dtype.names})
    return FileContents(str(path), {"": array})


def _read_npz(path: Path) -> FileContents:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return FileContents(str(path), {name: arrays[name] for name in arrays.files})


def _read_mat(path: Path) -> FileContents:
    with path.open("rb") as file:
        if b"MATLAB 7.3" in file.read(128):
            return _read_hdf5(path, reverse=True)
    from scipy.io import loadmat  # slow to import

    loaded: dict[str, Any] = loadmat(str(path))
    arrays, cells = {}, {}
    for name, value in loaded.items():
        if name.startswith("__") or not isinstance(value, np.ndarray):
            continue
        if value.dtype == object:
            cells[name] = value
        elif value.dtype.kind in "biuf":
            arrays[name] = value
    return FileContents(str(path), arrays, cells=cells)


def _read_hdf5(path: Path, reverse: bool = False) -> FileContents:
    """``reverse``: MATLAB has the first axis running fastest, so HDF5 has its axes the other way round."""
    h5py = need("h5py", f"reading {path}")
    arrays: dict[str, AnyArray] = {}
    cells: dict[str, AnyArray] = {}
    with h5py.File(path, "r") as file:

        def keep(name: str, item: Any) -> None:
            for key, value in item.attrs.items():
                if not key.startswith("MATLAB") and np.asarray(value).dtype.kind in "biuf":
                    arrays.setdefault(f"{name}/{key}", np.asarray(value))
            if not isinstance(item, h5py.Dataset) or name.startswith("#"):
                return
            if item.dtype.kind in "biuf":
                arrays[name] = _turned(item[()], reverse)
            elif h5py.check_ref_dtype(item.dtype) is h5py.Reference:
                cells[name] = _turned(_dereferenced(file, item[()]), reverse)

        keep("", file)
        file.visititems(keep)
    return FileContents(str(path), arrays, cells=cells)


def _dereferenced(file: Any, references: AnyArray) -> AnyArray:
    cells = np.empty(references.shape, dtype=object)
    for place, reference in np.ndenumerate(references):
        cell = file[reference]
        cells[place] = np.empty(0) if "MATLAB_empty" in cell.attrs else np.ravel(cell[()])
    return cells


def _turned(array: Any, reverse: bool) -> AnyArray:
    found: AnyArray = np.asarray(array)
    return found.T if reverse else found


def _read_tiff(path: Path) -> FileContents:
    tifffile = need("tifffile", f"reading {path}")
    complaints = Complaints()
    with complaints.of("tifffile"), tifffile.TiffFile(path) as tiff:
        if not tiff.series:
            raise CannotRead(f"{path} has no image in it; export it again")
        series = tiff.series[0]
        array, names = series.asarray(), series.axes
    if complaints.said:  # it goes on with the pages that are whole
        raise ValueError(complaints.said[0])
    if "S" in names:
        raise CannotRead(f"{path} is a colour picture; give counts, a grey page for each bin")
    return FileContents(str(path), {"": np.asarray(array)}, ("bins", "rows", "columns") if array.ndim == 3 else None)


class Complaints(logging.Handler):
    """What a library says is wrong, and goes on."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        self.said.append(record.getMessage())

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Listen to the library of that name, instead of all others."""
        logger = logging.getLogger(name)
        passed_on = logger.propagate
        logger.addHandler(self)
        logger.propagate = False
        try:
            yield
        finally:
            logger.removeHandler(self)
            logger.propagate = passed_on


def _read_csv(path: Path) -> FileContents:
    with path.open(encoding="utf-8-sig", newline="") as file:
        sample = file.read(65536)
        first = sample.splitlines()[0] if sample.strip() else ""
        if not first:
            raise CannotRead(f"{path} is empty; export or copy it again")
        separator = next((mark for mark in (";", "\t", ",") if mark in first), None)
        names = next(csv.reader([first], delimiter=separator)) if separator else first.split()
        headed = not all(_is_number(name) for name in names)
        file.seek(0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that there is no data: it is said below, and what to do
                table = np.loadtxt(file, delimiter=separator, skiprows=int(headed), ndmin=2, comments="#")
        except ValueError as error:
            wrong = _first_wrong_line(path, separator, headed)
            if wrong is None:
                raise
            raise CannotRead(f"{path} cannot be read: {wrong}") from error
    if table.size == 0:
        raise CannotRead(f"{path} has a heading and no rows; export it again")
    if not headed:
        return FileContents(str(path), {"": table}, ("pixels", "bins"))
    columns = {plain(name): table[:, place] for place, name in enumerate(names)}
    if any(name.startswith("time") for name in columns):
        return FileContents(str(path), columns)
    places = {"row", "column", "pixel"}
    counts = table[:, [place for place, name in enumerate(names) if plain(name) not in places]]
    if {"row", "column"} <= set(columns):
        return FileContents(str(path), {"": _placed(path, columns, counts, headed)}, AXES)
    return FileContents(str(path), {"": counts}, ("pixels", "bins"))


def _lines_with_data(path: Path, headed: bool) -> Iterator[tuple[int, str]]:
    """The lines that have numbers, as people count lines: from 1 on, with the heading and those without anything."""
    with path.open(encoding="utf-8-sig", newline=None) as file:
        for number, line in enumerate(file, start=1):
            text = line.partition("#")[0].strip()
            if text and not (headed and number == 1):
                yield number, text


def _first_wrong_line(path: Path, separator: str | None, headed: bool) -> str | None:
    """What is wrong with the first line that is no row of as many numbers as the first has; None if none is."""
    wanted: tuple[int, int] | None = None
    for number, text in _lines_with_data(path, headed):
        cells = text.split(separator)
        for column, cell in enumerate(cells, start=1):
            if not _is_number(cell):
                return (
                    f"{cell.strip()!r} in line {number}, column {column} is no number; leave only counts below the "
                    "heading"
                )
        if wanted is not None and len(cells) != wanted[1]:
            return f"line {number} has {len(cells)} columns, and line {wanted[0]} has {wanted[1]}; give all as many"
        wanted = wanted or (number, len(cells))
    return None


def _placed(path: Path, columns: dict[str, AnyArray], counts: AnyArray, headed: bool) -> AnyArray:
    """The image from one line a pixel, in any order."""
    places = np.stack([columns["row"], columns["column"]])
    if (places < 0).any() or (places != np.rint(places)).any():
        raise CannotRead(f"{path}: row and column are not whole numbers from 0 on; number pixels so")
    row, column = places.astype(np.int64)
    shape = (int(row.max()) + 1, int(column.max()) + 1)
    pixel = row * shape[1] + column
    known, first_at = np.unique(pixel, return_index=True)
    if known.size != row.size or row.size != shape[0] * shape[1]:
        if known.size != row.size:
            again = int(np.setdiff1d(np.arange(row.size), first_at)[0])
            lines = [number for number, _ in islice(_lines_with_data(path, headed), again + 1)]
            before = lines[int(first_at[np.searchsorted(known, pixel[again])])]
            which = f"row {row[again]}, column {column[again]} is in line {before} and again in line {lines[again]}"
        else:
            missing = int(np.flatnonzero(np.append(known, -1) != np.arange(known.size + 1))[0])
            which = f"row {missing // shape[1]}, column {missing % shape[1]} has none"
        raise CannotRead(
            f"{path}: {row.size:,} lines are not one for each of the {shape[0]} x {shape[1]} pixels: {which}; give "
            "each pixel one line, counted from 0"
        )
    image: AnyArray = np.empty((*shape, counts.shape[1]))
    image[row, column] = counts
    return image


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


READERS: dict[str, Callable[[Path], FileContents]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".mat": _read_mat,
    ".h5": _read_hdf5,
    ".hdf5": _read_hdf5,
    ".csv": _read_csv,
    ".txt": _read_csv,
    ".tif": _read_tiff,
    ".tiff": _read_tiff,
}


def find_histogram(
    contents: FileContents, array: str | None, axes: str | None, shape: tuple[int, int] | None
) -> AnyArray:
    """The histogram of a file, as (rows, columns, bins)."""
    found = _pick(contents, array)
    return _in_order(found, _axes_of(found, contents, axes), shape, contents.source)


def _pick(contents: FileContents, array: str | None) -> AnyArray:
    arrays = contents.arrays
    if array is not None:
        if array not in arrays:
            raise CannotRead(
                f"{contents.source} has no array {array!r}; it has {contents.listed()}: name one with --array"
            )
        return arrays[array]
    large = {name: found for name, found in arrays.items() if found.size > 1 and plain(name) not in CYCLES_NAMES}
    for wanted in HISTOGRAM_NAMES:
        named = [found for name, found in large.items() if plain(name) == wanted]
        if len(named) == 1:
            return named[0]
    deep = [found for found in large.values() if found.ndim == 3]
    if len(deep) == 1:
        return deep[0]
    if not deep and len(large) == 1:
        return next(iter(large.values()))
    raise CannotRead(
        f"which array of {contents.source} is the histogram? It has {contents.listed()}; name one with --array NAME"
    )


def _axes_of(array: AnyArray, contents: FileContents, axes: str | None) -> tuple[str, ...]:
    remedy = _axes_remedy(array.shape)
    if axes is not None:
        named = tuple(part.strip() for part in axes.split(","))
        known = set(named) <= {*AXES, "pixels"} and len(set(named)) == len(named) and "bins" in named
        if not known or ("pixels" in named and len(named) != 2):
            raise InvalidParameter(
                f"axes={axes!r} are no axes of a histogram; give rows, columns and bins in the order of the file, or "
                "pixels,bins, as --axes bins,rows,columns"
            )
        if len(named) != array.ndim:
            raise InvalidParameter(
                f"{contents.source}: axes={axes!r} are {len(named)}, but its array of shape {array.shape} has "
                f"{array.ndim}; {remedy}"
            )
        return named
    if contents.axes is not None and len(contents.axes) == array.ndim:
        return contents.axes
    if array.ndim == 1:
        return ("bins",)
    if array.ndim == 3 and array.shape[2] > max(array.shape[:2]):
        return AXES
    raise CannotRead(f"{contents.source}: which axis of {array.shape} has the bins is not clear; {remedy}")


def _axes_remedy(shape: tuple[int, ...]) -> str:
    """What to say of axes; the longest is probably that of the bins, but people have to say so."""
    longest = int(np.argmax(shape)) if shape.count(max(shape, default=0)) == 1 else len(shape) - 1
    if len(shape) == 1:
        return "say what it is: --axes bins"
    if len(shape) == 2:
        pixels, columns = (",".join([name, "bins"][:: 1 if longest else -1]) for name in ("pixels", "columns"))
        shape_of = likely_shape(shape[1 - longest])
        return f"say what they are, as --axes {pixels} with --shape {shape_of}, or --axes {columns} for one row"
    if len(shape) == 3:
        others = ["rows", "columns"]
        others.insert(longest, "bins")
        return f"say what they are, as --axes {','.join(others)}"
    return "give an array with rows, columns and bins and no other axis"


def likely_shape(pixels: int) -> str:
    """Rows and columns that so many pixels could be, as an example: as square as can be.

    >>> likely_shape(384), likely_shape(7)
    ('16,24', '1,7')
    """
    rows = next(rows for rows in range(isqrt(pixels), 0, -1) if pixels % rows == 0)
    return f"{rows},{pixels // rows}"


def _in_order(array: AnyArray, axes: tuple[str, ...], shape: tuple[int, int] | None, source: str) -> AnyArray:
    if "pixels" in axes:
        array = array if axes[1] == "bins" else array.T
        if shape is None and len(array) == 1:
            shape = (1, 1)
        if shape is None:
            raise CannotRead(
                f"{source} has {len(array):,} pixels; say how many rows and columns they are: --shape "
                f"{likely_shape(len(array))}"
            )
        if shape[0] * shape[1] != len(array):
            raise CannotRead(
                f"{source} has {len(array):,} pixel{'s' * (len(array) > 1)}, and not {shape[0]} rows of {shape[1]}; "
                "give another --shape"
            )
        return array.reshape(*shape, array.shape[1])
    for place, axis in enumerate(AXES):
        if axis not in axes:
            array, axes = np.expand_dims(array, place), (*axes[:place], axis, *axes[place:])
    image = array.transpose([axes.index(axis) for axis in AXES])
    if shape is not None and shape != image.shape[:2]:
        raise CannotRead(
            f"{source} has {image.shape[0]} x {image.shape[1]} pixels, and not {shape[0]} x {shape[1]}; leave --shape "
            "out, or say what the axes are with --axes"
        )
    return image


def width_in(contents: FileContents) -> float | None:
    """The bin width that a file says, in seconds; None where it says none with its unit."""
    for name, unit in WIDTH_NAMES.items():
        found = contents.named(name)
        if found is not None and found.size == 1:
            return float(found.reshape(-1)[0]) * unit
    return None


def width_without_unit(contents: FileContents) -> float | None:
    """A bin width that a file says without its unit."""
    found = contents.named(*WIDTHS_WITHOUT_UNIT)
    return float(found.reshape(-1)[0]) if found is not None and found.size == 1 else None


def cycles_in(contents: FileContents) -> AnyArray | None:
    """The laser cycles that a file says."""
    return contents.named(*CYCLES_NAMES)
