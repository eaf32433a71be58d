"""From counts to depth: the field's estimators, each usable after every acquisition.

An estimator takes samples and successes, (pixels, bins) each, and the bins that the policy itself named, and returns a
depth in bins for every pixel: bin i covers the depths from i to i + 1. Where nothing was detected at all there is no
depth, and it returns nan. All but ``answer`` go by the counts alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from linkedbandits.errors import UnknownName
from linkedbandits.lidar.returns import ReturnModel, few_at_a_time, return_model, surroundings
from linkedbandits.lidar.sensor import Sensor
from linkedbandits.model import FloatArray, IntArray, empirical_means

Estimator = Callable[[IntArray, IntArray, IntArray], FloatArray]

SIGNAL_SPREAD = 10.0
"""Pixels may be this many times brighter or darker than the signal that a model is told."""
_STEPS = 8
"""How many places within a bin the matched filter tries."""


def histogram_peak(samples: IntArray, successes: IntArray) -> FloatArray:
    """The middle of the bin with the most photons: the raw histogram, which favours early bins."""
    return _where_seen(successes, successes.argmax(axis=1).astype(np.float64) + 0.5)


def coates_peak(samples: IntArray, successes: IntArray) -> FloatArray:
    """The middle of the bin with the highest rate after Coates's correction for pile-up.

    The correction (Coates 1968) divides the photons of a bin by the cycles that reached it. Those are its samples: the
    corrected histogram is the empirical means of the arms, and log(1 / (1 - mean)) the rates.
    """
    return _where_seen(successes, empirical_means(samples, successes).argmax(axis=1).astype(np.float64) + 0.5)


def corrected_rates(samples: IntArray, successes: IntArray) -> FloatArray:
    """Photons a cycle in every bin, corrected for pile-up; 0 where nothing was sampled.

    A bin that fired every time has half a sample added, without which its rate would be infinite.
    """
    sampled = np.maximum(samples, 1) + 0.5 * (samples == successes)
    return np.asarray(-np.log1p(-successes / sampled))


def matched_filter(samples: IntArray, successes: IntArray, *, model: ReturnModel) -> FloatArray:
    """The depth at which the pulse fits the corrected rates best: the highest correlation, to a fraction of a bin.

    The background is what the bins away from the brightest one say.
    """
    lanes, bins = samples.shape
    pulse = model.pulse
    phases = (np.arange(_STEPS) + 0.5) / _STEPS
    first = np.arange(-pulse.half, pulse.half + 1) - phases[:, np.newaxis]
    shares = pulse.cumulative(first + 1) - pulse.cumulative(first)
    background = background_around(samples, successes, coates_peak(samples, successes), model)
    depth = np.empty(lanes)
    for some in few_at_a_time(lanes, shares.shape[1] * bins):
        above = corrected_rates(samples[some], successes[some]) - background[some, np.newaxis]
        above = np.where(samples[some] > 0, above, 0.0)
        score = (shares @ surroundings(above, pulse.half)).swapaxes(1, 2)
        depth[some] = (score.reshape(-1, bins * _STEPS).argmax(axis=1) + 0.5) / _STEPS
    return _where_seen(successes, depth)


def maximum_a_posteriori(samples: IntArray, successes: IntArray, *, model: ReturnModel) -> FloatArray:
    """The likeliest depth, with the pulse known, and signal and background not: what ``PulseGating`` answers with."""
    depth = np.empty(samples.shape[0])
    expected = np.full(depth.shape, model.expected_background)
    for some in few_at_a_time(depth.size, model.cells_per_bin * samples.shape[1]):
        depth[some], _ = model.fitted(samples[some], successes[some], expected[some])
    return _where_seen(successes, depth)


def centroid(samples: IntArray, successes: IntArray, answer: IntArray, model: ReturnModel) -> FloatArray:
    """A bin refined: the centre of the light above the background, within a pulse's width around it.

    Where there is no such light it is the middle of the bin.
    """
    bins = np.arange(samples.shape[1])
    near = np.abs(bins - answer[:, np.newaxis]) <= np.ceil(model.pulse.fwhm)
    background = background_around(samples, successes, answer.astype(np.float64) + 0.5, model)[:, np.newaxis]
    above = np.maximum(corrected_rates(samples, successes) - background, 0.0) * (near & (samples > 0))
    total = above.sum(axis=1)
    middle = (above * (bins + 0.5)).sum(axis=1) / np.maximum(total, np.finfo(np.float64).tiny)
    return _where_seen(successes, np.where(total > 0, middle, answer + 0.5))


def background_around(samples: IntArray, successes: IntArray, depth: FloatArray, model: ReturnModel) -> FloatArray:
    """Photons a bin away from a depth; away from the first bin where there is none."""
    expected = np.full(samples.shape[0], model.expected_background)
    somewhere: FloatArray = np.nan_to_num(depth)
    return model.background_elsewhere(samples, successes, somewhere, expected)


def _where_seen(successes: IntArray, depth: FloatArray) -> FloatArray:
    return np.asarray(np.where(successes.any(axis=1), depth, np.nan))


def signal_range(signal: float, strongest: float | None) -> tuple[float, float]:
    """The weakest and the strongest signal to be prepared for, where ``signal`` is the mean over pixels."""
    return signal / SIGNAL_SPREAD, signal * SIGNAL_SPREAD if strongest is None else strongest


def model_of(sensor: Sensor, signal: float, strongest: float | None = None, told: bool = False) -> ReturnModel:
    """What a return looks like to this sensor, with signals around ``signal``, up to ``strongest`` if given."""
    return return_model(sensor.pulse, sensor.background, *signal_range(signal, strongest), told)


def find_estimator(
    name: str, sensor: Sensor, signal: float, strongest: float | None = None, told: bool = False
) -> Estimator:
    """The estimator of that name, told the sensor's pulse and what signals and background to expect.

    With ``told`` the background of every pixel is the sensor's.
    """
    model = model_of(sensor, signal, strongest, told)
    estimators: dict[str, Estimator] = {
        "histogram": _by_counts(histogram_peak),
        "coates": _by_counts(coates_peak),
        "matched": _by_counts(partial(matched_filter, model=model)),
        "map": _by_counts(partial(maximum_a_posteriori, model=model)),
        "answer": partial(centroid, model=model),
    }
    try:
        return estimators[name]
    except KeyError:
        raise UnknownName(f"unknown estimator {name!r}; choose one of {', '.join(ESTIMATORS)}") from None


def _by_counts(estimate: Callable[[IntArray, IntArray], FloatArray]) -> Estimator:
    return lambda samples, successes, answer: estimate(samples, successes)


ESTIMATORS = ("histogram", "coates", "matched", "map", "answer")
