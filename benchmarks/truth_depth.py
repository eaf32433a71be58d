"""What is claimed of depths from photons: each lies in its own interval, and no certificate stands against a misfit.

Photons come from :mod:`tools.photon_arrivals`, which knows nothing of the package's model: arrivals in continuous time.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from linkedbandits.lidar import DepthMap, Photons, find_depths, read_photons
from linkedbandits.model import BoolArray, FloatArray
from tools.claims import Claims, Row
from tools.photon_arrivals import Light, first_photons, stamps_of_free_running

SIGNALS = (1.4, 2.8, 5.6, 8.0)
BIN = 1e-9
SHAPE = (10, 10)
FITS = "all as it is"


def outside_own_interval(claims: Claims) -> Iterator[Row]:
    """Depths outside of their own interval, where the signal is told as 0.5 photons a cycle."""
    rng = np.random.default_rng(1)
    for signal in SIGNALS:
        depth = rng.uniform(20, 80, SHAPE)
        photons = _synchronous(Light(signal, 1.0, 3.0, 100, 20_000), depth, rng)
        found = find_depths(photons, fwhm=3.0)
        outside = _outside(found, found.depth)
        claims.check(not outside.any(), f"depths lie in their own intervals at a signal of {signal:g}")
        error = np.sqrt(np.nanmean((found.depth - photons.depth(depth)) ** 2)) / photons.bin_depth
        yield (
            f"depth outside of its own interval, signal {signal:g}",
            "31 to 99 %",
            f"{_percent(outside)}; root mean square error {error:.3f} bins",
        )


def certified_without_interval(claims: Claims) -> Iterator[Row]:
    """Certified pixels whose interval is all depths, with a tolerance larger than that."""
    rng = np.random.default_rng(2)
    photons = _synchronous(Light(0.1, 1.0, 3.0, 100, 300), rng.uniform(20, 80, SHAPE), rng)
    found = find_depths(photons, fwhm=3.0, tolerance=200.0, borrow=False)
    everything = np.isclose(np.diff(found.interval, axis=2)[..., 0], photons.bins * photons.bin_depth)
    claims.check(not found.confident[everything].any(), "an interval of all depths is not certified")
    now = f"{_percent(found.confident[everything & found.found])} of {int((everything & found.found).sum())}"
    yield "certified though the interval is all depths", "100 %", now


def under_misfits(claims: Claims) -> Iterator[Row]:
    """Certified pixels, and those whose true depth is outside of the interval, where a note says what does not fit."""
    rng = np.random.default_rng(3)
    light, brighter = Light(1.0, 1.0, 4.0, 120, 3000), Light(2.0, 0.3, 4.0, 120, 3000)
    depth = rng.uniform(20, 100, (4, 4))
    for name, photons, fwhm, missed in (
        ("a pulse three times as wide", _synchronous(light, depth, rng), 12.0, ", missed 100 %"),
        ("free-running stamps as synchronous", _free(brighter, depth, 150.0, rng), 4.0, ", missed 100 %"),
        ("ten times the cycles", _synchronous(light, depth, rng, told=30_000), 4.0, ", missed 100 %"),
        (FITS, _synchronous(light, depth, rng), 4.0, ", missed 0 %"),
    ):
        found = find_depths(photons, fwhm=fwhm)
        claims.check(bool(found.confident.any()) == (name == FITS), f"certificates where told: {name}")
        said = sum("no depth is called sure" in note for note in found.notes)
        now = f"certified {_percent(found.confident)}, missed {_percent(_outside(found, photons.depth(depth)))}"
        yield f"told: {name}", f"certified 100 %{missed}", f"{now}, withheld in {said} note(s)"


def _synchronous(light: Light, depth: FloatArray, rng: np.random.Generator, told: int | None = None) -> Photons:
    counts = first_photons(light, depth.reshape(-1), rng).reshape(*depth.shape, light.bins)
    return Photons.from_histogram(counts, cycles=told or light.cycles, bin_seconds=BIN)


def _free(light: Light, depth: FloatArray, dead: float, rng: np.random.Generator) -> Photons:
    """A free-running detector's stamps in a file, read as if the first photon ended a cycle."""
    pixel, cycle, place = stamps_of_free_running(light, depth.reshape(-1), dead, rng)
    with TemporaryDirectory() as folder:
        path = Path(folder, "stamps.npz")
        np.savez(path, pixel=pixel, cycle=cycle, time=place)
        rows, columns = depth.shape
        return read_photons(
            path, mode="synchronous", cycles=light.cycles, bins=light.bins, bin_seconds=BIN, shape=(rows, columns)
        )


def _outside(found: DepthMap, depth: FloatArray) -> BoolArray:
    return (depth < found.interval[..., 0]) | (depth > found.interval[..., 1])


def _percent(which: BoolArray) -> str:
    return f"{100 * which.mean():.0f} %"


MEASURES = (outside_own_interval, certified_without_interval, under_misfits)
