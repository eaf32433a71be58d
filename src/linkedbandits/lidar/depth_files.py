"""Depth maps on disk: npz with everything, 16-bit png in millimetres, tiff in metres, ply as points.

A file is written beside its place and then moved there, so that nobody ever reads half of one.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np

from linkedbandits.errors import CannotRead, CannotWrite, InvalidParameter, LinkedBanditError
from linkedbandits.lidar.depth_maps import DepthMap
from linkedbandits.lidar.file_errors import why_not
from linkedbandits.lidar.photon_files import need
from linkedbandits.model import FloatArray

ARRAYS = ("depth", "interval", "signal", "background", "confident", "cycles")
"""What an npz has, under these names; and ``notes``, an array of texts."""
FIELD_OF_VIEW = 40.0
"""Degrees from the first column to the last, for points, unless given."""
_MOST_MILLIMETRES = 65535


def check_depth_file(path: Path) -> None:
    """Refuse before the work what no depth map can be written to."""
    if path.suffix.lower() not in WRITERS or path.is_dir():
        raise CannotWrite(f"the depth map {str(path)!r} cannot be written; name a file in {', '.join(WRITERS)}")


def write_depth(path: str | Path, depth_map: DepthMap, *, field_of_view: float = FIELD_OF_VIEW) -> None:
    """Write a depth map in the format that the file's ending names.

    ``.npz`` has the arrays ``depth``, ``interval``, ``signal``, ``background``, ``confident`` and ``cycles``, and the
    ``notes``; ``.png`` has 16 bits of millimetres, 0 where there is no depth; ``.tif`` has 32-bit metres, nan where
    there is none; ``.ply`` has a point for each pixel that was found, and the notes as comments: a depth is the
    distance along the pixel's ray, and rays are those of a pinhole with ``field_of_view`` degrees from the first column
    to the last; x goes right, y down, z ahead.
    """
    path = Path(path)
    check_depth_file(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        try:
            with beside.open("wb") as file:
                WRITERS[path.suffix.lower()](file, path, depth_map, field_of_view)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        if isinstance(error, LinkedBanditError):
            raise
        raise CannotWrite(
            f"the depth map {path} cannot be written ({error.strerror}); name a file in a folder with room in it"
        ) from error


def read_depth(path: str | Path) -> DepthMap:
    """A depth map that was written as ``.npz``."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            arrays = np.load(file, allow_pickle=False)
            if isinstance(arrays, np.ndarray):
                raise CannotRead(f"{path} has one array, without a name; give an .npz that write_depth has written")
            missing = [name for name in ARRAYS if name not in arrays.files]
            if missing:
                raise CannotRead(f"{path} has no array {missing[0]}; give an .npz that write_depth has written")
            notes = tuple(arrays["notes"].tolist()) if "notes" in arrays.files else ()
            return DepthMap(**{name: arrays[name] for name in ARRAYS}, source=str(path), notes=notes)
    except InvalidParameter as error:
        raise CannotRead(f"{path} is no depth map: {error}") from error
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        if isinstance(error, LinkedBanditError):
            raise
        raise CannotRead(f"{why_not(path, error)}; give an .npz that write_depth has written") from error


def _write_npz(file: IO[bytes], path: Path, depth_map: DepthMap, field_of_view: float) -> None:
    arrays = {name: getattr(depth_map, name) for name in ARRAYS}
    np.savez_compressed(file, **arrays, notes=np.array(depth_map.notes, dtype=np.str_))


def _write_png(file: IO[bytes], path: Path, depth_map: DepthMap, field_of_view: float) -> None:
    image = need("PIL.Image", f"writing {path}")
    depth = np.where(depth_map.found, depth_map.depth, 0.0)
    if depth.max() * 1000 > _MOST_MILLIMETRES:
        raise CannotWrite(
            f"the depth map {path} has depths up to {depth.max():.4g} m, and 16 bits of millimetres end at 65.535 "
            "m; write it as .npz or .tif"
        )
    millimetres = np.where(depth > 0, np.maximum(np.rint(1000 * depth), 1), 0)
    image.fromarray(millimetres.astype(np.uint16)).save(file, format="png")


def _write_tiff(file: IO[bytes], path: Path, depth_map: DepthMap, field_of_view: float) -> None:
    need("tifffile", f"writing {path}").imwrite(file, depth_map.depth.astype(np.float32))


def _write_ply(file: IO[bytes], path: Path, depth_map: DepthMap, field_of_view: float) -> None:
    found = depth_map.found
    points = np.empty(
        int(found.sum()),
        dtype=[("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("signal", "<f4"), ("background", "<f4"), ("confident", "u1")],
    )
    places = rays(found.shape, field_of_view) * depth_map.depth[..., np.newaxis]
    for number, axis in enumerate("xyz"):
        points[axis] = places[..., number][found]
    for name in ("signal", "background", "confident"):
        points[name] = getattr(depth_map, name)[found]
    lines = [
        "ply",
        "format binary_little_endian 1.0",
        "comment metres; x right, y down, z ahead",
        f"comment field of view {field_of_view:g} degrees",
        *(f"comment {note}" for note in depth_map.notes),
        f"element vertex {points.size}",
        *(f"property {'uchar' if name == 'confident' else 'float'} {name}" for name in points.dtype.names or ()),
        "end_header",
    ]
    file.write("\n".join(lines).encode("ascii", "replace") + b"\n" + points.tobytes())


def rays(shape: tuple[int, ...], field_of_view: float) -> FloatArray:
    """Where each pixel of a pinhole looks, as vectors of length 1: (rows, columns, 3).

    >>> rays((1, 3), field_of_view=90.0).round(2)
    array([[[-0.55,  0.  ,  0.83],
            [ 0.  ,  0.  ,  1.  ],
            [ 0.55,  0.  ,  0.83]]])
    """
    if not (isinstance(field_of_view, int | float) and 0 < field_of_view < 180):
        raise InvalidParameter(
            f"field_of_view={field_of_view!r} is not between 0 and 180 degrees; give --field-of-view 40"
        )
    rows, columns = shape
    half = np.tan(np.radians(field_of_view) / 2)
    across = (np.arange(columns) + 0.5 - columns / 2) * (2 * half / columns)
    down = (np.arange(rows) + 0.5 - rows / 2) * (2 * half / columns)
    x, y = np.meshgrid(across, down)
    ray = np.stack([x, y, np.ones_like(x)], axis=-1)
    return np.asarray(ray / np.linalg.norm(ray, axis=-1, keepdims=True))


WRITERS: dict[str, Callable[[IO[bytes], Path, DepthMap, float], None]] = {
    ".npz": _write_npz,
    ".png": _write_png,
    ".tif": _write_tiff,
    ".tiff": _write_tiff,
    ".ply": _write_ply,
}
