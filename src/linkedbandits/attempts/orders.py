"""In which order to try options, from a log: most success per cost first, given that those before have failed.

If options are independent, trying them by decreasing success per cost is cheapest, whatever else (every success that
some order finds is found by all). If they are not, what an option does behind the failure of others is what matters,
and the log has seen that where just those had failed before it. The order is then greedy: each place goes to what
succeeds most often, per cost, on the requests that are left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from linkedbandits.attempts.log import AttemptLog
from linkedbandits.display import short_repr
from linkedbandits.model import BoolArray, FloatArray, IntArray, Label

GivenCosts = Sequence[float] | Literal["seconds"]
"""What an attempt of each option costs, none for what is on record; or the seconds that attempts have taken."""
Unit = Literal["attempts", "cost", "seconds"]
"""What an order is to take little of."""

ENOUGH = 30
"""Attempts behind the failure of just these others, for their share of successes to be used."""
MOST_OPTIONS_IN_A_SET = 62


@dataclass(frozen=True)
class Place:
    """One place of an order: its option, and how often it succeeds where all before it have failed.

    ``samples`` are the attempts on record in just that situation; 0 where they are too few. Then its share behind at
    least as many failures, of whatever options, stands in for it; and where that is not known, its mean on its own.
    """

    option: Label
    success: float
    cost: float
    samples: int

    __repr__ = short_repr


@dataclass(frozen=True)
class Order:
    """An order for the whole chain. ``settled`` places are proved with the verdict; the others are estimates.

    ``success`` is how often a request succeeds at all, ``cost`` what it costs on average. ``served`` has the share of
    requests that each place serves; they add up to ``success``. ``success_now`` and
    ``cost_now`` are those of the log itself. Without costs on record an attempt costs 1. It is ``partly_guessed`` where
    some place rests on attempts in other situations than its own, or on options being independent. ``seconds`` is how
    long a request takes on average, ``seconds_now`` how long in the log, None where that is not on record. ``unit``
    says what costs are in.
    """

    places: tuple[Place, ...]
    settled: int
    success: float
    cost: float
    success_now: float
    cost_now: float
    partly_guessed: bool
    seconds: float | None = None
    seconds_now: float | None = None
    unit: Unit = "attempts"
    served: tuple[float, ...] = ()

    __repr__ = short_repr

    @property
    def options(self) -> tuple[Label, ...]:
        """From the first to the last."""
        return tuple(place.option for place in self.places)


def best_order(
    log: AttemptLog, means: FloatArray, given: GivenCosts, independent: bool, first: Label | None
) -> Order | None:
    """The greedy order; ``first`` is the option that a verdict gives the first place to. None for an empty log.

    ``means`` are those of every option on its own, ``given`` what attempts cost.
    """
    if not len(log):
        return None
    costs = costs_of(log, given)
    in_time = log.seconds_in_time  # whoever keeps the deadline goes on to the next option when it is over
    # A column of which no cell could be read says nothing.
    seconds = None if in_time is None or not np.isfinite(in_time).any() else _average(log, in_time)
    failed_before = None if independent else _failed_before(log)
    place_in_request = np.arange(len(log)) - np.repeat(log.first, np.diff(log.first, append=len(log)))
    places: list[Place] = []
    tried: list[int] = []
    served: list[float] = []
    reached, cost, lasts, assumed = 1.0, 0.0, 0.0, independent and len(log.options) > 1
    for _ in log.options:
        left = [option for option in range(len(log.options)) if option not in tried]
        samples, chances = np.zeros(len(log.options), dtype=np.int64), means
        if failed_before is not None:
            samples, hits = _counts(log, failed_before == sum(1 << option for option in tried))
            of_many, hits_of_many = _counts(log, place_in_request >= len(tried))
            chances = np.where(of_many >= ENOUGH, hits_of_many / np.maximum(of_many, 1), means)
            chances = np.where(samples >= ENOUGH, hits / np.maximum(samples, 1), chances)
            samples = np.where(samples >= ENOUGH, samples, 0)
        worth = chances / costs
        place = max(left, key=lambda option: (worth[option], -option))
        if first is not None and not tried:
            place = log.number_of(first)
        assumed |= bool(tried) and samples[place] == 0
        places.append(Place(log.options[place], float(chances[place]), float(costs[place]), int(samples[place])))
        served.append(float(reached * chances[place]))
        cost += reached * costs[place]
        lasts += 0.0 if seconds is None else reached * seconds[place]
        reached *= 1 - chances[place]
        tried.append(place)
    success_now = float(log.success.sum() / log.requests)
    tried_at_most = np.diff(log.first, append=len(log))
    failed = ~log.success[log.first + tried_at_most - 1]
    if (tried_at_most[failed] == len(log.options)).all():
        # What fails has failed with all options, so in whatever order it would. Shares by place are estimates, each
        # from requests of its own, which need not add up to that.
        served = _adding_up_to(success_now, served)
    return Order(
        tuple(places),
        settled=int(first is not None),
        success=math.fsum(served),
        cost=float(cost),
        success_now=success_now,
        cost_now=_a_request(log, _on_record(log, given), costs),
        partly_guessed=bool(assumed),
        seconds=None if seconds is None else float(lasts),
        seconds_now=None if seconds is None else _a_request(log, log.seconds, seconds),
        unit="seconds" if given == "seconds" else "attempts" if log.cost is None and not given else "cost",
        served=tuple(served),
    )


def _adding_up_to(success: float, served: list[float]) -> list[float]:
    """Shares of requests by place that add up to what is known of all; what the first serves is known best, and stays.

    >>> [round(share, 3) for share in _adding_up_to(0.9, [0.8, 0.15, 0.05])]
    [0.8, 0.075, 0.025]
    >>> [round(share, 3) for share in _adding_up_to(0.7, [0.8, 0.15])]
    [0.7, 0.0]
    """
    first, behind = served[0], math.fsum(served[1:])
    if behind == 0 or first > success:
        return [success, *(0.0 for _ in served[1:])]
    return [first, *(share * (success - first) / behind for share in served[1:])]


def costs_of(log: AttemptLog, given: GivenCosts) -> FloatArray:
    """What an attempt of every option costs: as given, as on record on average, or 1; where none of an
    option is on record, what attempts cost on average."""
    if given and given != "seconds":
        return np.array(given, dtype=np.float64)
    recorded = log.seconds_in_time if given == "seconds" else log.cost
    return np.ones(len(log.options)) if recorded is None else _average(log, recorded)


def _on_record(log: AttemptLog, given: GivenCosts) -> FloatArray | None:
    """Of each attempt what it has cost, or how long it took if that is the cost; None if costs are given."""
    if given == "seconds":
        return log.seconds
    return None if given else log.cost


def _average(log: AttemptLog, recorded: FloatArray) -> FloatArray:
    """Of what is on record of the attempts of every option, above 0."""
    known = np.flatnonzero(np.isfinite(recorded))
    spent = np.bincount(log.option[known], weights=recorded[known], minlength=len(log.options))
    tries = np.bincount(log.option[known], minlength=len(log.options))
    of_all = spent.sum() / tries.sum() if tries.any() else 1.0
    average = np.divide(spent, tries, out=np.full(len(log.options), of_all), where=tries > 0)
    return np.where(average > 0, average, np.finfo(float).tiny)


def _a_request(log: AttemptLog, recorded: FloatArray | None, usual: FloatArray) -> float:
    """On average, what is on record of each attempt, or else what is usual for its option."""
    of_option = usual[log.option]
    attempts = of_option if recorded is None else np.where(np.isfinite(recorded), recorded, of_option)
    return float(attempts.sum() / log.requests)


def _failed_before(log: AttemptLog) -> IntArray | None:
    """Which options failed before each attempt, a bit each; None where they are too many for that."""
    if len(log.options) > MOST_OPTIONS_IN_A_SET:
        return None
    bits = np.left_shift(np.int64(1), log.option.astype(np.int64))
    # Summed over the whole log, and the sum before each request taken off: numbers that are too large wrap around, and
    # back. No option is twice in a request, so what is added up is a set.
    before = np.cumsum(bits) - bits
    return np.asarray(before - np.repeat(before[log.first], np.diff(log.first, append=len(log))))


def _counts(log: AttemptLog, chosen: BoolArray) -> tuple[IntArray, IntArray]:
    """These attempts of every option, and successes among them."""
    here = np.flatnonzero(chosen)
    options = len(log.options)
    samples = np.bincount(log.option[here], minlength=options)
    hits = np.bincount(log.option[here], weights=log.success[here], minlength=options)
    return samples, hits.astype(np.int64)
