"""Real photons replayed: how often an interval from part of a pixel's cycles misses what the other photons say.

The file is named by the environment variable CAPTURE: a ``.mat`` with a cell of time stamps for each pixel, in ticks of
8 ps, as Shin, Kirmani, Goyal and Shapiro (2015) and Shin, Xu, Wong, Shapiro and Goyal (2016) have published them. Where
a pixel has two returns, the variable LAYERS says where they are, in ticks: ``4200-4900,5900-6500``.

What is assumed, because the files do not say it: stamps of a pixel are in the order in which they came; a pixel had
CYCLES laser pulses, and a pulse brought one photon at most; which pulse a photon is from is drawn, all being alike.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from linkedbandits.errors import CannotRead
from linkedbandits.intervals import share_interval
from linkedbandits.lidar import DepthMap, Photons, find_depths, locate
from linkedbandits.lidar.depth_maps import sensor_of
from linkedbandits.lidar.photon_files import read_contents
from linkedbandits.model import BoolArray, FloatArray, IntArray

TICK = 8e-12
MERGE = 8
"""Ticks of a bin."""
DELTA = 0.05
STEP = 9
"""Every so-manieth pixel of every so-manieth row is replayed; others, between them, show what the pulse looks like."""
BEFORE, AFTER, FINE = 12.0, 40.0, 0.5
"""The pulse is measured from so many bins before its middle to so many after it, in steps of so many bins."""
FWHM = 6.0
"""Bins, where the pulse is taken for a Gaussian."""
PARTS = (1 / 8, 1 / 4, 1 / 2)
NARROW = 60.0
"""Bins: a reference whose own interval is wider says too little."""


@dataclass(frozen=True)
class Cells:
    """Time stamps of pixels, (rows, columns) of arrays, in ticks from the first one that is looked at."""

    stamps: np.ndarray[tuple[int, int], np.dtype[np.object_]]
    cycles: int
    bins: int

    @property
    def signal(self) -> float:
        """About how many photons a cycle come back."""
        return float(np.mean([stamps.size for stamps in self.stamps.reshape(-1)])) / self.cycles

    def thinned(self, step: int, first: int) -> Cells:
        """Every so-manieth pixel, from one on."""
        return Cells(self.stamps[first::step, first::step], self.cycles, self.bins)

    def photons(self, share: tuple[float, float], seed: int) -> Photons:
        """Those of the cycles from one share of all to another; the same seed draws the same cycles."""
        rng = np.random.default_rng(seed)
        begin, end = (round(part * self.cycles) for part in share)
        counts: IntArray = np.zeros((*self.stamps.shape, self.bins), dtype=np.int64)
        for pixel in np.ndindex(self.stamps.shape):
            stamps = self.stamps[pixel]
            cycle = np.sort(rng.choice(self.cycles, stamps.size, replace=False))
            place = stamps[(cycle >= begin) & (cycle < end)] // MERGE
            counts[pixel] = np.bincount(place[place < self.bins], minlength=self.bins)
        return Photons.from_histogram(counts, cycles=end - begin, bin_seconds=MERGE * TICK)


def read() -> tuple[Cells, int]:
    """The capture, and its first tick."""
    named = os.environ.get("CAPTURE")
    if named is None:
        raise CannotRead("set CAPTURE to the path of a .mat with time stamps in cells, such as data_face.mat")
    path = Path(named)
    cells = next(iter(read_contents(path).cells.values()))
    first = min(int(stamps.min()) for stamps in cells.reshape(-1) if stamps.size)
    last = max(int(stamps.max()) for stamps in cells.reshape(-1) if stamps.size)
    shifted = np.empty(cells.shape, dtype=object)
    for pixel in np.ndindex(cells.shape):
        shifted[pixel] = np.ravel(cells[pixel]).astype(np.int64) - first
    cycles = int(os.environ.get("CYCLES", "100"))
    found = Cells(shifted, cycles, (last - first) // MERGE + 1)
    many = np.mean([stamps.size for stamps in shifted.reshape(-1)])
    print(f"{path.name}: {cells.shape[0]} x {cells.shape[1]} pixels, {found.bins} bins of {MERGE * TICK * 1e12:g} ps;")
    print(f"{many:.1f} photons a pixel, taken to be of {cycles:,} pulses")
    return found, first


def measured_pulse(cells: Cells, folder: str) -> Path:
    """What a return looks like: photons of pixels that are not replayed, around the depth that all of a pixel say.

    These depths are found with a Gaussian, and have errors of their own: the pulse looks a little wider than it is. To
    find them again with what that shows would not do: depths would follow the first photon, and sharpen its edge.
    """
    photons = cells.photons((0, 1), seed=0)
    sensor = sensor_of(photons, FWHM, None)
    samples, detections = (each.reshape(-1, photons.bins) for each in (photons.samples, photons.detections))
    # Not find_depths, which gives no interval where the photons refute the pulse.
    found = locate(samples, detections, sensor, signal=cells.signal, delta=DELTA, tolerance=sensor.tolerance)
    place = found.depth.reshape(photons.shape)
    sure = zip(*(found.high - found.low <= NARROW).reshape(photons.shape).nonzero(), strict=True)
    away = np.concatenate([cells.stamps[pixel] / MERGE - place[pixel] for pixel in sure])
    edges = np.arange(-BEFORE, AFTER + FINE / 2, FINE)
    values = np.histogram(away + 0.5 / MERGE, edges)[0].astype(np.float64)
    values = np.maximum(values - np.quantile(values, 0.1), 0)
    path = Path(folder) / "pulse.csv"
    times = (edges[:-1] + FINE / 2) * photons.bin_seconds * 1e9
    np.savetxt(path, np.column_stack([times, values]), delimiter=",", header="time_ns,value", comments="")
    return path


def width(found: DepthMap, photons: Photons) -> FloatArray:
    """Of the intervals, in bins."""
    return np.asarray((found.interval[..., 1] - found.interval[..., 0]) / photons.bin_depth)


def main() -> None:
    """Intervals at delta from the first eighth, quarter and half of the cycles, against the second half and all."""
    cells, first = read()
    if "LAYERS" in os.environ:
        ranges = [[int(tick) - first for tick in layer.split("-")] for layer in os.environ["LAYERS"].split(",")]
        two_layers(cells, ranges)
        return
    replayed = cells.thinned(STEP, 0)
    print(
        f"{replayed.stamps.size:,} of them are replayed, at delta {DELTA}. Missed: how many depths from the second half"
    )
    print("of the cycles, and from all of them, are outside of an interval that is not all bins; upper 99 % limits")
    print("(disjoint: the intervals of the first part and of the second half have nothing in common)\n")
    print("| pulse | pixels | cycles | intervals | bins wide | missed (second half) | disjoint | missed (all) |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    with TemporaryDirectory() as folder:
        pulse = measured_pulse(cells.thinned(STEP, STEP // 2), folder)
        replay(replayed, "Gaussian", {"fwhm": FWHM}, borrow=False)
        for borrow in (False, True):
            replay(replayed, "measured", {"pulse": pulse}, borrow)


def replay(cells: Cells, words: str, how: dict[str, object], borrow: bool) -> None:
    def found_from(begin: float, end: float) -> tuple[DepthMap, FloatArray]:
        photons = cells.photons((begin, end), seed=1)
        found = find_depths(photons, **how, signal=cells.signal, delta=DELTA, borrow=borrow)  # type: ignore[arg-type]
        return found, width(found, photons)

    references = [found_from(0.5, 1.0), found_from(0.0, 1.0)]
    for part in PARTS:
        found, wide = found_from(0.0, part)
        says = wide < cells.bins  # an interval of all bins misses nothing
        apart = _apart(found.interval, references[0][0].interval) & says
        missed = []
        for reference, own_width in references:
            told = reference.found & (own_width <= NARROW) & says
            outside = (reference.depth < found.interval[..., 0]) | (reference.depth > found.interval[..., 1])
            count, of = int((outside & told).sum()), int(told.sum())
            missed.append(f"{count} of {of:,} (≤ {share_interval(count, of, confidence=0.98)[1]:.1%})")
        print(
            f"| {words} | {'neighbours' if borrow else 'alone'} | {round(part * cells.cycles)} | {says.mean():.0%} | "
            f"{np.median(wide[says]):.0f} | {missed[0]} | {apart.sum()} | {missed[1]} |",
            flush=True,
        )


def _apart(one: FloatArray, other: FloatArray) -> BoolArray:
    return np.asarray((one[..., 0] > other[..., 1]) | (one[..., 1] < other[..., 0]))


def two_layers(cells: Cells, ranges: list[list[int]]) -> None:
    """Sure depths where every pixel has two returns, and how many of them are at neither.

    Where a layer is, the photons of its own range say, without the others.
    """
    replayed = cells.thinned(2, 0)
    near = np.empty(cells.stamps.shape, dtype=object)
    for pixel in np.ndindex(near.shape):  # the pulse is that of the first layer
        stamps = cells.stamps[pixel]
        near[pixel] = stamps[(stamps >= ranges[0][0]) & (stamps < ranges[0][1])]
    photons = replayed.photons((0, 1), seed=1)
    with TemporaryDirectory() as folder:
        pulse = measured_pulse(Cells(near, cells.cycles, cells.bins).thinned(2, 1), folder)

        def find(photons: Photons) -> DepthMap:
            return find_depths(photons, pulse=pulse, signal=cells.signal, delta=DELTA, borrow=False)

        found = find(photons)
        layers = [find(photons.crop(first_bin=begin // MERGE, last_bin=end // MERGE)) for begin, end in ranges]
    print("\n| within (bins) | sure | at the first | at the second | at neither | of all pixels, 99 % limit |")
    print("|--:|--:|--:|--:|--:|--:|")
    for bins in (6, 12, 24):
        at = [np.abs(found.depth - layer.depth) <= bins * photons.bin_depth for layer in layers]
        sure = found.confident
        neither = int((sure & ~at[0] & ~at[1]).sum())
        limit = share_interval(neither, sure.size, confidence=0.98)[1]
        print(
            f"| {bins} | {sure.sum():,} of {sure.size:,} | {(sure & at[0]).sum():,} | {(sure & at[1]).sum():,} | "
            f"{neither} | {limit:.2%} |"
        )
