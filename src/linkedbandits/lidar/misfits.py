"""Do a pulse and a flat background explain the photons? What plainly does not fit, pooled over all pixels.

A proof about a model that the photons refute proves nothing: with any of these, no depth of the frame is called sure.
"""

from __future__ import annotations

import numpy as np

from linkedbandits.lidar.photons import Photons
from linkedbandits.lidar.pulse import PulseShape
from linkedbandits.model import BoolArray, FloatArray, IntArray

_WITHHELD = "So no depth is called sure, and the interval is all depths."
_PULSE_APART = 1.35
"""A pulse this many times wider or narrower than the one given is worth a word;"""
_VARIANCE_APART = 0.2
"""if it is not a matter of parts of a bin: where all photons are in one bin, their width is not known. In bins squared.
"""
_PULSE_PHOTONS = 300
"""Fewer photons above the background than this say little of the pulse,"""
_ABOVE_NOISE = 25.0
"""and so do those that are not this many times the standard deviation of the background under them."""
_PHOTONS_OF_A_PIXEL = 10
"""A depth from fewer is too near to those few photons."""
_BACKGROUND_APART = 1.25
_BACKGROUND_PHOTONS = 1000
"""Halves with this many photons each differ by that factor by chance once in a million times."""
_MIDDLE = (0.16, 0.84)
"""The pulse's width is between these shares of its photons: second returns of a few pixels hardly move them."""
_PIXELS = 4000
"""More pixels than this say nothing new; they are taken evenly from all."""
_BOXES = 1 / 6
"""The variance that bins, and offsets rounded to whole bins, add to that of a pulse."""


def misfits(photons: Photons, place: FloatArray, pulse: PulseShape) -> list[str]:
    """What does not fit, in plain words; ``place`` has the depth of every pixel in bins, nan where there is none."""
    bins = photons.bins
    samples, detections = (each.reshape(-1, bins) for each in (photons.samples, photons.detections))
    depth = place.reshape(-1)
    some = np.unique(np.linspace(0, len(depth) - 1, min(len(depth), _PIXELS)).astype(np.int64))
    samples, detections, depth = samples[some], detections[some], depth[some]
    offset = np.arange(bins) + 0.5 - depth[:, np.newaxis]
    reach = min(3.0 * (pulse.half + 1), bins / 3)  # also a pulse three times as wide as was said is within that
    near = np.abs(offset) <= reach
    ratio = _late_to_early(np.where(near, 0, samples), np.where(near, 0, detections))
    if ratio is not None and not 1 / _BACKGROUND_APART <= ratio <= _BACKGROUND_APART:
        return [  # and not a word of the pulse: what stands above such a background is not known
            f"The background of the last half of the bins is {ratio:.2g} times that of the first, and should be the "
            f"same: --cycles, --mode or --opens is probably not as given. {_WITHHELD}"
        ]
    width = _pulse_width(samples, detections, offset, near, pulse)
    if width is None:
        return []
    return [
        f"The pulse in the photons is about {width:.2g} bins wide, not {pulse.fwhm:.2g}: look at --fwhm, --pulse and "
        f"--merge. {_WITHHELD}"
    ]


def _pulse_width(
    samples: IntArray, detections: IntArray, offset: FloatArray, near: BoolArray, pulse: PulseShape
) -> float | None:
    """The full width of the pulse in the photons, if that is plainly another than the pulse's; in bins."""
    away = np.where(near, 0, samples).sum(axis=1)
    level = np.where(near, 0, detections).sum(axis=1) / np.maximum(away, 1)
    behind = level[:, np.newaxis] * samples
    above = np.where(near, detections - behind, 0.0).sum(axis=1)
    # Where a bin fires almost always, or is hardly ever reached, its rate is not known.
    known = ((10 * samples >= samples.max(axis=1, keepdims=True)) & (detections < samples)) | ~near
    under = np.where(near, behind, 0.0).sum(axis=1)
    under *= 1 + np.where(near, samples, 0).sum(axis=1) / np.maximum(away, 1)  # the level has an error, too
    enough = above >= _PHOTONS_OF_A_PIXEL + 3 * np.sqrt(under)
    used = enough & (away > 0) & known.all(axis=1)
    noise = np.sqrt(under[used].sum())
    if above[used].sum() < max(_PULSE_PHOTONS, _ABOVE_NOISE * noise):
        return None
    samples, detections, offset, near, level = (
        each[used] for each in (samples, detections, offset, near, np.minimum(level, 1 - 1e-9))
    )
    depth = 0.5 - offset[:, 0]
    rate = -np.log1p(-detections / np.maximum(samples, 1), where=near, out=np.zeros(near.shape))
    rate += np.log1p(-level)[:, np.newaxis]
    looks = samples.max(axis=1, keepdims=True)
    strength = np.maximum(np.where(near, rate, 0.0).sum(axis=1, keepdims=True), 0.0)
    seen = _middle_width(offset, near, looks * rate, looks)
    told = _middle_width(offset, near, looks * strength * pulse.shares(depth, offset.shape[1]), looks)
    if seen is None or told is None or abs(seen**2 - told**2) < _VARIANCE_APART:
        return None
    if 1 / _PULSE_APART <= seen / told <= _PULSE_APART:
        return None
    return float(pulse.fwhm * np.sqrt(max(seen**2 - _BOXES, 0.01) / max(told**2 - _BOXES, 0.01)))


def _middle_width(offset: FloatArray, near: BoolArray, rate: FloatArray, looks: FloatArray) -> float | None:
    """Half the width of the middle of all pixels' light, aligned to their depths: a standard deviation, if normal."""
    whole = np.rint(offset[near]).astype(np.int64)
    first = int(whole.min())
    weight = np.bincount(whole - first, np.broadcast_to(looks, near.shape)[near])
    # An average, because the pixels near an end have no bins beyond it.
    light = np.bincount(whole - first, rate[near]) / np.maximum(weight, 1e-300)
    upto = np.concatenate([[0.0], np.cumsum(light)])
    if upto[-1] <= 0:
        return None
    edges = first - 0.5 + np.arange(len(upto))
    low, high = np.interp(_MIDDLE, np.maximum.accumulate(upto) / upto.max(), edges)
    return float(high - low) / 2


def _late_to_early(samples: IntArray, detections: IntArray) -> float | None:
    """The background of the last half of the bins over that of the first, if there are photons enough.

    Every pixel is compared with itself (Mantel and Haenszel), because brighter ones may have more bins in one half.
    """
    half = samples.shape[1] // 2
    early, late = (
        (detections[:, part].sum(axis=1), samples[:, part].sum(axis=1)) for part in (slice(half), slice(half, None))
    )
    both = (early[1] > 0) & (late[1] > 0)
    if min(early[0][both].sum(), late[0][both].sum()) < _BACKGROUND_PHOTONS:
        return None
    whole = np.maximum(early[1] + late[1], 1)
    return float((late[0] * early[1] / whole).sum() / (early[0] * late[1] / whole).sum())
