"""In which order to try options, from a log: most success per cost first, given that those before have failed.

If options are independent, trying them by decreasing success per cost is cheapest, whatever else (every success that
some order finds is found by all). If they are not, what an option does behind the failure of others is what matters,
and the log has seen that where just those had failed before it. The order is then greedy: each place goes to what
succeeds most often, per cost, on the requests that are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linkedbandits.attempts.log import AttemptLog
from linkedbandits.model import BoolArray, FloatArray, IntArray, Label

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


@dataclass(frozen=True)
class Order:
    """An order for the whole chain. ``settled`` places are proved with the verdict; the others are estimates.

    ``success`` is how often a request succeeds at all, ``cost`` what it costs on average. ``success_now`` and
    ``cost_now`` are those of the log itself. Without costs on record an attempt costs 1. It is ``partly_guessed`` where
    some place rests on attempts in other situations than its own, or on options being independent.
    """

    places: tuple[Place, ...]
    settled: int
    success: float
    cost: float
    success_now: float
    cost_now: float
    partly_guessed: bool

    @property
    def options(self) -> tuple[Label, ...]:
        """From the first to the last."""
        return tuple(place.option for place in self.places)


def best_order(
    log: AttemptLog, means: FloatArray, costs: FloatArray, independent: bool, first: Label | None
) -> Order | None:
    """The greedy order; ``first`` is the option that a verdict gives the first place to. None for an empty log.

    ``means`` and ``costs`` are those of every option on its own.
    """
    if not len(log):
        return None
    failed_before = None if independent else _failed_before(log)
    place_in_request = np.arange(len(log)) - np.repeat(log.first, np.diff(log.first, append=len(log)))
    places: list[Place] = []
    tried: list[int] = []
    reached, success, cost, assumed = 1.0, 0.0, 0.0, independent and len(log.options) > 1
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
        success += reached * chances[place]
        cost += reached * costs[place]
        reached *= 1 - chances[place]
        tried.append(place)
    success_now = float(log.success.sum() / log.requests)
    tried_at_most = np.diff(log.first, append=len(log))
    failed = ~log.success[log.first + tried_at_most - 1]
    if (tried_at_most[failed] == len(log.options)).all():
        success = success_now  # what fails has failed with all options, so in whatever order it would
    return Order(
        tuple(places),
        settled=int(first is not None),
        success=float(success),
        cost=float(cost),
        success_now=success_now,
        cost_now=float(_costs_of_attempts(log, costs).sum() / log.requests),
        partly_guessed=bool(assumed),
    )


def costs_of(log: AttemptLog, costs: Sequence[float]) -> FloatArray:
    """What an attempt of every option costs: as given, as on record on average, or 1; where none of an
    option is on record, what attempts cost on average."""
    if costs:
        return np.array(costs, dtype=np.float64)
    if log.cost is None:
        return np.ones(len(log.options))
    known = np.flatnonzero(np.isfinite(log.cost))
    spent = np.bincount(log.option[known], weights=log.cost[known], minlength=len(log.options))
    tries = np.bincount(log.option[known], minlength=len(log.options))
    of_all = spent.sum() / tries.sum() if tries.any() else 1.0
    average = np.divide(spent, tries, out=np.full(len(log.options), of_all), where=tries > 0)
    return np.where(average > 0, average, np.finfo(float).tiny)


def _costs_of_attempts(log: AttemptLog, costs: FloatArray) -> FloatArray:
    """Of each: what is on record, or else what its option costs."""
    usual = costs[log.option]
    return usual if log.cost is None else np.where(np.isfinite(log.cost), log.cost, usual)


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
