"""What attempts cost and how long they take, from a log: means with limits, option by option.

They are of the attempts that are samples of an option's mean, as the estimates of success are. A log does not say how
large a cost can be, so limits are those that hold for whoever begins to look after enough attempts
(:func:`linkedbandits.intervals.asymptotic_mean_interval`). Seconds under a deadline are no more than that, and their
limits hold at all times (:func:`linkedbandits.intervals.bounded_mean_interval`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkedbandits.attempts.log import AttemptLog
from linkedbandits.attempts.orders import GivenCosts
from linkedbandits.intervals import (
    LATE_ENOUGH,
    Estimated,
    anytime_interval,
    asymptotic_mean_interval,
    bounded_mean_interval,
)
from linkedbandits.model import FloatArray, IntArray


class Prices(NamedTuple):
    """Of one option; None where nothing is known."""

    cost: Estimated | None
    seconds: Estimated | None
    success_per_cost: Estimated | None


def prices_of(log: AttemptLog, samples: IntArray, given: GivenCosts, confidence: float) -> list[Prices]:
    """Of every option, from these attempts. Each limit has this confidence."""
    options = len(log.options)
    recorded = log.seconds_in_time if given == "seconds" else log.cost
    known = given if given and given != "seconds" else None
    each = confidence if known is not None else (1 + confidence) / 2  # two limits, each wrong half as often
    tries = np.bincount(log.option[samples], minlength=options).tolist()
    hits = np.bincount(log.option[samples], weights=log.success[samples], minlength=options).tolist()

    def costs(confidence: float) -> list[Estimated | None]:
        if known is not None:
            return [Estimated(float(cost), float(cost), float(cost), proved=True) for cost in known]
        return _means(log, samples, recorded, confidence, log.deadline if given == "seconds" else None)

    found = []
    of_ratio = costs(each)
    for option, (cost, seconds) in enumerate(
        zip(costs(confidence), _means(log, samples, log.seconds_in_time, confidence, log.deadline), strict=True)
    ):
        price = of_ratio[option]
        if price is None or not tries[option]:
            found.append(Prices(cost, seconds, None))
            continue
        low, high = anytime_interval(int(hits[option]), tries[option], each)
        success = Estimated(hits[option] / tries[option], low, high, proved=True)
        found.append(Prices(cost, seconds, success.per(price)))
    return found


def _means(
    log: AttemptLog, samples: IntArray, recorded: FloatArray | None, confidence: float, most: float | None
) -> list[Estimated | None]:
    """Of what is on record of these attempts, option by option; ``most`` is the most that it can be, if known."""
    if recorded is None:
        return [None] * len(log.options)
    kept = samples[np.isfinite(recorded[samples])]
    by_option = np.argsort(log.option[kept], kind="stable")
    ends = np.cumsum(np.bincount(log.option[kept], minlength=len(log.options)))
    return [_mean(numbers, confidence, most) for numbers in np.split(recorded[kept][by_option], ends[:-1])]


def _mean(numbers: FloatArray, confidence: float, most: float | None) -> Estimated | None:
    """Of numbers in the order of the log."""
    count, total = numbers.size, float(numbers.sum())
    if count == 0:
        return None
    mean = total / count
    if most is not None:
        scaled = numbers / most
        predicted = (0.5 + np.cumsum(scaled) - scaled) / np.arange(1, count + 1)
        low, high = bounded_mean_interval(count, total / most, float(((scaled - predicted) ** 2).sum()), confidence)
        return Estimated(mean, low * most, high * most, proved=True)
    if count < LATE_ENOUGH:
        return Estimated(mean, None, None, proved=False)
    low, high = asymptotic_mean_interval(count, total, float(((numbers - mean) ** 2).sum()), confidence)
    return Estimated(mean, max(low, 0.0), high, proved=False)
