"""What stands before the sensor: a depth and a reflectivity for every pixel.

A depth that is not finite is missing: nothing comes back from there.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from linkedbandits.checks import check_whole
from linkedbandits.display import counted, number, paragraph
from linkedbandits.errors import CannotRead, InvalidParameter, LinkedBanditError, MissingExtra, UnknownName
from linkedbandits.figures.images import Image, depth_picture
from linkedbandits.lidar.file_errors import why_not
from linkedbandits.lidar.sensor import MOST_REACH
from linkedbandits.model import FloatArray

LEAST_DEPTH = 1e-6
"""Metres: what is nearer touches the sensor."""
LEAST_REFLECTIVITY = 0.02
"""Nothing is darker than soot."""
UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001}
"""Metres in what depths of a file may be counted in."""
_FAR = 100.0
"""Metres: where most of a file without a unit is farther, it is taken to be in another one."""


@dataclass(frozen=True)
class Scene:
    """Depth in metres and reflectivity from 0 to 1, two images of the same shape.

    A reflectivity below 0.02 counts as 0.02, which is soot's. Where nothing comes back, say that the depth is nan.
    ``light`` says how bright the background is in every pixel, in any unit; without it, it is the same in all.
    """

    name: str
    depth: FloatArray
    reflectivity: FloatArray
    light: FloatArray | None = None

    def __post_init__(self) -> None:
        for name in ("depth", "reflectivity"):
            try:
                image = np.asarray(getattr(self, name), dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise InvalidParameter(f"the scene's {name} is no array of numbers ({error}); give one") from None
            object.__setattr__(self, name, image)
        if self.depth.ndim != 2 or self.depth.size == 0:
            raise InvalidParameter(f"a depth map of shape {self.depth.shape} is no image; give rows and columns")
        if self.reflectivity.shape != self.depth.shape:
            raise InvalidParameter(
                f"reflectivity of shape {self.reflectivity.shape} does not fit depth of shape {self.depth.shape}; "
                "give both for the same pixels"
            )
        if self.light is not None:
            light = np.asarray(self.light, dtype=np.float64)
            object.__setattr__(self, "light", light)
            if light.shape != self.depth.shape or not (np.isfinite(light) & (light >= 0)).all() or not light.any():
                raise InvalidParameter(
                    f"the light of shape {light.shape} has to have numbers from 0 on, not all 0, for the pixels of a "
                    f"depth map of shape {self.depth.shape}; give it so, or leave it out"
                )
        depth, reflectivity = self.depth[self.present], self.reflectivity[self.present]
        if not ((depth >= LEAST_DEPTH) & (depth <= MOST_REACH)).all():
            raise InvalidParameter(
                f"depths from {depth.min():g} to {depth.max():g} are no distances from {LEAST_DEPTH:g} to "
                f"{MOST_REACH:g} m; mark missing ones as nan, or 0 in a .png"
            )
        if not ((reflectivity >= 0) & (reflectivity <= 1)).all():
            raise InvalidParameter(
                f"reflectivity goes from {reflectivity.min():g} to {reflectivity.max():g}; give shares from 0 to 1"
            )

    def __repr__(self) -> str:
        """Without its images."""
        depth = self.depth[self.present]
        far = f"{number(float(depth.min()))} to {number(float(depth.max()))} m deep" if depth.size else "no depths"
        lost = int(self.depth.size - depth.size)
        missing = f", {counted(lost, 'pixel')} missing" if lost else ""
        lit = ", with light of its own" if self.light is not None else ""
        return f"Scene({self.name!r}, {self.depth.shape[0]} x {self.depth.shape[1]}, {far}{missing}{lit})"

    def _repr_html_(self) -> str:
        return f"{paragraph(repr(self))}{depth_picture(Image('depth (m)', self.depth, 'viridis'))}"

    @property
    def present(self) -> npt.NDArray[np.bool_]:
        """Where there is a depth."""
        return np.isfinite(self.depth)

    def shrunk(self, size: int) -> Scene:
        """Every so-manieth pixel, so that neither side has more than ``size``."""
        check_whole("size", size)
        step = -(-max(self.depth.shape) // size)
        light = None if self.light is None else self.light[::step, ::step]
        reflectivity = self.reflectivity[::step, ::step]
        return replace(self, depth=self.depth[::step, ::step], reflectivity=reflectivity, light=light)

    def sunlit(self) -> Scene:
        """The same in the sun: background comes back from every pixel in proportion to its reflectivity."""
        shade = np.nan_to_num(self.reflectivity, nan=1.0)
        return replace(self, light=np.maximum(shade, LEAST_REFLECTIVITY))

    def ambients(self, mean: float) -> FloatArray:
        """Background photons a cycle of every pixel; ``mean`` on average."""
        if self.light is None:
            return np.full(self.depth.shape, mean)
        return np.asarray(self.light * (mean / self.light.mean()))

    def signals(self, mean: float, reach: float = MOST_REACH) -> FloatArray:
        """Photons a cycle that come back from every pixel: in proportion to reflectivity over depth squared.

        It is ``mean`` on average over the pixels within reach; from the others nothing comes back in time.
        """
        seen = self.depth < reach
        returned = np.zeros(self.depth.shape)
        returned[seen] = np.maximum(self.reflectivity[seen], LEAST_REFLECTIVITY) / self.depth[seen] ** 2
        return returned * (mean / returned[seen].mean()) if seen.any() else returned


def motorcycle() -> Scene:
    """The motorcycle of the Middlebury stereo data, 500 x 741 (Scharstein et al. 2014), from scikit-image's wheel."""
    try:
        from skimage.data import stereo_motorcycle  # takes a second to import, and not everybody looks
    except ModuleNotFoundError as error:
        raise MissingExtra(
            "the motorcycle comes with scikit-image; install it with: pip install 'linkedbandits[lidar]'"
        ) from error
    read: Callable[[], tuple[npt.NDArray[np.uint8], Any, npt.NDArray[np.float32]]] = stereo_motorcycle
    left, _, disparity = read()
    # Focal length in pixels, base line in metres, and the offset between the two cameras' centres, as calibrated.
    depth = 994.978 * 0.193001 / (disparity.astype(np.float64) + 31.086)
    depth[~np.isfinite(disparity)] = np.nan
    return Scene("motorcycle", depth, left.mean(axis=2) / 255)


def ramp() -> Scene:
    """A wall that recedes from 1 to 5 metres, with stripes of three shades."""
    rows, columns = 96, 128
    depth = np.tile(np.linspace(1.0, 5.0, columns), (rows, 1))
    shade = np.array([0.2, 0.5, 0.9])[np.arange(rows) * 3 // rows]
    return Scene("ramp", depth, np.tile(shade[:, np.newaxis], (1, columns)))


def room() -> Scene:
    """A room with a tiled floor, a striped wall, a dark box and a bright ball, seen from above eye level."""
    rows, columns = 96, 128
    down, right = np.meshgrid(np.linspace(-0.45, 0.45, rows), np.linspace(-0.6, 0.6, columns), indexing="ij")
    # Rays from the eye go through (right, down, 1); depth is counted along the axis that the eye looks along.
    depth = np.full((rows, columns), 5.2)
    shade = np.where((right * depth * 4).astype(np.int64) % 2 == 0, 0.55, 0.35)  # the wall behind
    floor = 1.1 / np.maximum(down, 1e-3)  # 1.1 m below the eye
    tiles = np.where(((right * floor * 2).round() + (floor * 2).round()) % 2 == 0, 0.85, 0.25)
    shade, depth = np.where(floor < depth, tiles, shade), np.minimum(floor, depth)
    left = 2.1 / np.maximum(-right, 1e-3)
    shade, depth = np.where(left < depth, 0.75, shade), np.minimum(left, depth)
    box = (np.abs(right * 2.4 - 0.5) < 0.45) & (down * 2.4 > 0.2) & (down * 2.4 < 1.0)
    shade, depth = np.where(box, 0.12, shade), np.where(box, 2.4, depth)
    # The ball: the nearer root of |t * ray - centre| = radius.
    centre, radius = np.array([-0.45, 0.35, 3.0]), 0.5
    length = right**2 + down**2 + 1
    along = (right * centre[0] + down * centre[1] + centre[2]) / length
    under = along**2 - ((centre**2).sum() - radius**2) / length
    ball = np.where(under >= 0, along - np.sqrt(np.maximum(under, 0.0)), np.inf)
    shade, depth = np.where(ball < depth, 0.9, shade), np.minimum(ball, depth)
    return Scene("room", depth, shade)


def leaves() -> Scene:
    """Three hundred discs of all shades in front of a wall, at all depths: edges everywhere."""
    rows, columns = 96, 128
    generator = np.random.default_rng(20)
    down, right = np.indices((rows, columns))
    depth, shade = np.full((rows, columns), 5.6), np.full((rows, columns), 0.5)
    for away in np.sort(generator.uniform(1.2, 5.3, 300))[::-1]:
        middle = generator.uniform(0, (rows, columns))
        inside = (down - middle[0]) ** 2 + (right - middle[1]) ** 2 < generator.uniform(3, 9) ** 2
        tilt = generator.uniform(-0.02, 0.02)
        depth = np.where(inside, away + tilt * (right - middle[1]), depth)
        shade = np.where(inside, generator.uniform(0.05, 0.95), shade)
    return Scene("leaves", depth, shade)


SCENES: dict[str, Callable[[], Scene]] = {"motorcycle": motorcycle, "ramp": ramp, "room": room, "leaves": leaves}


def find_scene(name: str) -> Scene:
    """The scene of that name."""
    try:
        make = SCENES[name]
    except KeyError:
        raise UnknownName(f"unknown scene {name!r}; choose one of {', '.join(SCENES)}, or give a file") from None
    return make()


def read_scene(path: str | Path, unit: str | None = None) -> Scene:
    """Read a depth map of your own.

    ``.npy`` has depths; ``.npz`` has them as ``depth`` and may have ``reflectivity``; ``.png`` has 16 bits a pixel, and
    0 where depth is missing. ``unit`` is m, cm or mm: unless given, a ``.png`` is in millimetres and the others are in
    metres. Where most of such a map is farther than 100 it is refused, as it is hardly in metres; say that it is with
    ``unit="m"``.
    """
    path = Path(path)
    readers = {".npy": _read_numpy, ".npz": _read_numpy, ".png": _read_png}
    ending = path.suffix.lower()
    if ending not in readers:
        raise CannotRead(f"{path} is no depth map that can be read; give a file in {', '.join(readers)}")
    if unit is not None and unit not in UNITS:
        raise UnknownName(f"unknown unit {unit!r}; choose one of {', '.join(UNITS)}")
    try:
        depth, reflectivity = readers[ending](path)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        if isinstance(error, LinkedBanditError):
            raise
        raise CannotRead(f"{why_not(path, error)}; give a depth map in .npy, .npz or 16-bit .png") from error
    depth = depth * UNITS[unit or ("mm" if ending == ".png" else "m")]
    far = depth[np.isfinite(depth)] > _FAR
    if unit is None and far.sum() > far.size / 2:
        raise CannotRead(
            f"most depths of {path} are beyond {_FAR:g} m, up to "
            f"{np.nanmax(np.where(np.isfinite(depth), depth, 0)):g}; say what they are in: --unit mm, --unit cm, or "
            "--unit m if they are so far"
        )
    return Scene(path.stem, depth, np.ones(depth.shape) if reflectivity is None else reflectivity)


def _read_numpy(path: Path) -> tuple[FloatArray, FloatArray | None]:
    with path.open("rb") as file:
        loaded = np.load(file)
        if isinstance(loaded, np.ndarray):
            return _real(loaded), None
        with loaded as arrays:
            if "depth" not in arrays:
                raise ValueError(f"it has {', '.join(arrays.files) or 'nothing'}, and no array depth")
            return _real(arrays["depth"]), _real(arrays["reflectivity"]) if "reflectivity" in arrays else None


def _real(array: npt.NDArray[Any]) -> FloatArray:
    if array.dtype.kind not in "fiu":
        raise ValueError(f"it holds {array.dtype}, not real numbers")
    return array.astype(np.float64)


def _read_png(path: Path) -> tuple[FloatArray, None]:
    try:
        from PIL import Image  # comes with the extra
    except ModuleNotFoundError as error:
        raise MissingExtra("pictures need pillow; install it with: pip install 'linkedbandits[lidar]'") from error
    with Image.open(path) as image:
        if not image.mode.startswith("I"):
            raise ValueError(f"it has mode {image.mode}, not 16 bits of grey")
        depth = np.array(image, dtype=np.float64)
    return np.where(depth > 0, depth, np.nan), None
