"""Depth from counts that are there already: the likeliest, what it may be, and where that is certain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log

import numpy as np

from linkedbandits import display
from linkedbandits.checks import check_delta, check_positive
from linkedbandits.errors import InvalidParameter, UnknownName
from linkedbandits.extras import need_numba
from linkedbandits.lidar.borrowing import Around
from linkedbandits.lidar.certificate import Certificate
from linkedbandits.lidar.engines import ENGINES
from linkedbandits.lidar.estimators import SIGNAL_SPREAD, model_of
from linkedbandits.lidar.expected import Expected
from linkedbandits.lidar.refining import refine
from linkedbandits.lidar.returns import LEAST_EVIDENCE, ReturnModel, few_at_a_time, shares
from linkedbandits.lidar.sensor import Sensor
from linkedbandits.lidar.two_returns import MORE, gain_of_two
from linkedbandits.model import BoolArray, FloatArray, IntArray

Progress = Callable[[int], None]

BRIGHT = 5.0
"""Photons a cycle: the search is prepared for signals up to this, however few are expected. The counts are there
already, so a wider search costs a little computing and no time of the sensor's."""


@dataclass(frozen=True)
class Located:
    """What counts say of some pixels: a row each, depths in bins.

    ``depth`` is nan where nothing speaks for a return. No depth outside of ``low`` to ``high`` is possible, but for a
    probability of delta: they are 0 and the number of bins where nothing is certain. ``signal`` (photons a cycle) and
    ``background`` (photons a bin and cycle) fit best with the depth. ``confident`` says where an interval is proved,
    the depth lies in it, all of it is within the tolerance of the depth, and nothing speaks for two returns that
    overlap.
    """

    depth: FloatArray
    low: FloatArray
    high: FloatArray
    signal: FloatArray
    background: FloatArray
    confident: BoolArray
    probable: FloatArray
    """How probable the depth is to within the tolerance, by the model's own reckoning; no guarantee rests on it."""

    def __repr__(self) -> str:
        """Without its arrays, which are called ``depth``, ``low``, ``high`` and so on."""
        found, sure = int(np.isfinite(self.depth).sum()), int(np.sum(self.confident))
        return f"Located({display.counted(self.depth.size, 'pixel')}: {found:,} with a depth, {sure:,} of them sure)"


_PIXELS_AT_ONCE = 2**12
"""Pixels that machine code takes together: more would only make progress slow to show."""
_OF_A_RETURN = np.array([0, 3, 5])
"""What there is of a depth, a signal and its probability where nothing speaks for a return: nothing."""


def locate(
    samples: IntArray,
    detections: IntArray,
    sensor: Sensor,
    *,
    signal: float = 0.5,
    strongest: float | None = None,
    delta: float = 0.05,
    tolerance: float = 1.0,
    expected: Expected | Around | None = None,
    engine: str = "numpy",
    progress: Progress | None = None,
) -> Located:
    """The depth of every pixel whose bins were sampled and fired so often, (pixels, bins) each.

    ``sensor`` has the pulse and about what background to expect; ``signal`` is about what comes back. ``expected`` says
    more of every pixel, or what those around it say of it, and must not come from its own counts. None of them has to
    be right: they are where the search begins, and the guarantee does not rest on them. It rests on the pulse, on one
    return at most, and on bins that fire independently of each other. ``engine`` says who computes it
    (:mod:`linkedbandits.lidar.engines`): the numbers are the same, to rounding.
    """
    check_delta(delta)
    check_positive("tolerance", tolerance)
    pixels, bins = samples.shape
    model = model_of(sensor, signal, max(SIGNAL_SPREAD * signal, BRIGHT) if strongest is None else strongest)
    certificate = Certificate(sensor.pulse, tolerance, inf if strongest is None else strongest, within_range=False)
    if expected is None:
        expected = Expected.alike(pixels, bins, signal, model.expected_background)
    expected.check()
    if len(expected.signal) != pixels:
        raise InvalidParameter(
            f"counts of {pixels} pixels, and of {len(expected.signal)} it is said what to expect; give a row for each"
        )
    if engine == "compiled":
        found = _in_machine_code(samples, detections, sensor, model, expected, delta, tolerance, strongest, progress)
        return _judged(found, samples, detections, expected, certificate)
    if engine == "gpu":
        from linkedbandits.lidar.engines.gpu.locating import locate_counts

        found = locate_counts(
            samples,
            detections,
            sensor.pulse,
            model,
            expected,
            needed=log(1 / delta),
            tolerance=tolerance,
            strongest=certificate.strongest,
            progress=progress,
        )
        return _judged(found, samples, detections, expected, certificate)
    if engine != "numpy":
        raise UnknownName(f"unknown engine {engine!r}; choose one of {', '.join(ENGINES)}")
    found = np.full((7, pixels), np.nan)
    expected = _over_bins(expected, bins)
    for some in few_at_a_time(pixels, model.cells_per_bin * bins):
        tried, fired, these = samples[some], detections[some], expected.take(some)
        depth, level = model.fitted(tried, fired, these.background, these.log_prior)
        seen = model.evidence(tried, fired, level, depth, these.log_prior) > LEAST_EVIDENCE
        low, high = certificate.interval(tried, fired, depth, log(1 / delta), these)
        strength, background = certificate.fit_at(tried, fired, depth, these)
        two = gain_of_two(sensor.pulse, tried, fired, depth, tolerance, strength, background)
        weight = model.log_likelihood(tried, fired, level, rough=True)
        weight += these.log_prior[:, np.newaxis, np.newaxis]
        probable, _ = shares(weight, model.none_better(tried, fired, level, depth), tolerance)
        found[:, some] = depth, low, high, strength, background, probable, two
        found[np.ix_(_OF_A_RETURN, np.arange(pixels)[some][~seen])] = [[np.nan], [0.0], [0.0]]
        if progress is not None:
            progress(len(tried))
    return _judged(found, samples, detections, expected, certificate)


def _in_machine_code(
    samples: IntArray,
    detections: IntArray,
    sensor: Sensor,
    model: ReturnModel,
    expected: Expected | Around,
    delta: float,
    tolerance: float,
    strongest: float | None,
    progress: Progress | None,
) -> FloatArray:
    """What is found of every pixel, by the engine ``compiled``."""
    need_numba()
    from linkedbandits.lidar.engines.compiled.locating import locate_block

    found = np.full((7, len(samples)), np.nan)
    for first in range(0, len(samples), _PIXELS_AT_ONCE):
        some = slice(first, first + _PIXELS_AT_ONCE)
        depth, evidence, *rest = locate_block(
            samples[some],
            detections[some],
            sensor,
            model,
            _over_bins(expected.take(some), sensor.bins),
            delta=delta,
            tolerance=tolerance,
            strongest=strongest,
        )
        found[:, some] = depth, *rest
        nothing = np.flatnonzero(evidence <= LEAST_EVIDENCE) + first
        found[np.ix_(_OF_A_RETURN, nothing)] = [[np.nan], [0.0], [0.0]]
        if progress is not None:
            progress(depth.size)
    return found


def _over_bins(expected: Expected | Around, bins: int) -> Expected:
    """The weights of all bins."""
    return expected if isinstance(expected, Expected) else expected.expected(bins)


def _judged(
    found: FloatArray,
    samples: IntArray,
    detections: IntArray,
    expected: Expected | Around,
    certificate: Certificate,
) -> Located:
    """The likeliest depth near the one found, whichever engine found it; and where it is certain."""
    bins, tolerance = samples.shape[1], certificate.tolerance
    fit = found[[0, 3, 4]]
    found[[0, 3, 4]] = refine(certificate.pulse, samples, detections, expected, fit, certificate.strongest)
    depth, low, high, strength, background, probable, two = found
    proved = (low > 0) | (high < bins)  # all depths are what is left where no interval is proved
    inside = (low <= depth) & (depth <= high)
    narrow = (low >= depth - tolerance) & (high <= depth + tolerance)
    low, high = np.clip(low, 0.0, bins), np.clip(high, 0.0, bins)  # what lies beyond was never looked at
    return Located(depth, low, high, strength, background, proved & inside & narrow & (two <= MORE), probable)
