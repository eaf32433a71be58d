"""LinkedTrackAndStop: sample in the proportions of the characteristic time, as far as they are known.

The best that any policy can do asymptotically is to sample in certain proportions (the characteristic time of the arms
under the linkage; Garivier and Kaufmann 2016 for the standard bandit). This policy approximates them anew, from its
current predictions, at every round of blocks, and stops by evidence, as LinkedElimination does
(:mod:`linkedbandits.policies.linked_elimination`).

Approximately, for three reasons. The evidence of a pair is taken as a harmonic mean, which has a closed form where
the exact one has a root to find. Gaps are widened by their standard errors. And no rival that is still in gets less
than a third of what the hardest one does, because a rival thought easy by mistake would otherwise hold up the run. So
no asymptotic optimality is claimed; measured, it is within 1.35 to 1.55 of the bound at delta = 1e-12 on the paper's
scenarios.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from linkedbandits.checks import check_delta
from linkedbandits.linkage import Asks, Ordered, Price
from linkedbandits.model import BoolArray, FloatArray
from linkedbandits.policies.linked_elimination import EvidenceRace, RaceState, guarded_divergences

SEARCH_STEPS = 12
SEARCH_RANGE = 3.5
GOLDEN = (5**0.5 - 1) / 2
LEAST_SHARE = 1 / 3
"""A rival that is still in is taken to need at least this share of what the hardest one does."""
MOST_OF_LEADER = 8.0
"""At most this many samples of the leader for one of the rival asked most."""


@dataclass(frozen=True)
class LinkedTrackAndStop(EvidenceRace):
    """Find the best arm; wrong with probability at most ``delta``.

    ``price`` is set by the linkage that the policy runs under: the proportions are those of that linkage.

    >>> import linkedbandits as lb
    >>> runs = lb.simulate(lb.scenarios.increasing(10), lb.LinkedTrackAndStop(delta=0.1), trials=200, seed=1)
    >>> bool(runs.error_rate() <= 0.1), bool(runs.plays.mean() < 1000)
    (True, True)
    """

    delta: float
    parallel: int = field(default=1, kw_only=True, repr=False)
    price: Price = field(default=Ordered.price, repr=False, compare=False, metadata={"saved": False})

    name: ClassVar[str] = "linked-track-and-stop"
    asks: ClassVar[Asks] = "needs"

    def __post_init__(self) -> None:
        check_delta(self.delta)

    def allocate(self, state: RaceState, rivals: BoolArray, leading: BoolArray) -> FloatArray:
        """The cheapest samples that refute every rival to the same degree, scaled to 1 for the rival asked most.

        With s samples of the leader, rival a needs t_a(s) = (A/B) u s/(s - u), u = 1/A, for evidence 1/(1/(s A) +
        1/(t B)) = 1, where A and B are the divergences between the two means in either direction. The plays are a
        convex function of s; golden-section search over the logarithm of s beyond its least value.
        """
        prediction, leader = state.prediction, state.leaders
        leader_prediction = np.take_along_axis(prediction, leader, axis=1)
        leader_samples = np.take_along_axis(state.samples, leader, axis=1)
        towards, back = guarded_divergences(prediction, state.samples, leader_prediction, leader_samples)
        least = np.where(rivals, 1 / towards, 0.0)
        hardest = np.maximum(least.max(axis=1, keepdims=True), 1e-9)
        least = np.where(rivals, np.maximum(least, hardest * LEAST_SHARE), 0.0)
        scale = np.clip(towards / back, 0.1, 10.0) * least

        def samples_at(log_excess: FloatArray) -> FloatArray:
            of_leader = hardest * (1 + np.exp(log_excess))[:, np.newaxis]
            amounts = scale * of_leader / (of_leader - least)
            np.put_along_axis(amounts, leader, of_leader, axis=1)
            return np.asarray(amounts)

        found = samples_at(_least_point(lambda at: self.price(samples_at(at), prediction), rivals.shape[0]))
        most = np.where(rivals, found, 0.0).max(axis=1, keepdims=True)
        amounts = found / np.maximum(most, 1e-300)
        of_leader = np.clip(np.take_along_axis(amounts, leader, axis=1), 1 / state.step[:, np.newaxis], MOST_OF_LEADER)
        np.put_along_axis(amounts, leader, of_leader, axis=1)
        return np.asarray(np.where(rivals | leading, amounts, 0.0))


def _least_point(cost: Callable[[FloatArray], FloatArray], lanes: int) -> FloatArray:
    """Where a convex function of one number per lane is least, by golden-section search."""
    low, high = np.full(lanes, -SEARCH_RANGE), np.full(lanes, SEARCH_RANGE)
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = cost(left), cost(right)
    for _ in range(SEARCH_STEPS):
        go_left = at_left <= at_right
        low, high = np.where(go_left, low, left), np.where(go_left, right, high)
        fresh = np.where(go_left, high - GOLDEN * (high - low), low + GOLDEN * (high - low))
        at_fresh = cost(fresh)
        left, right = np.where(go_left, fresh, right), np.where(go_left, left, fresh)
        at_left, at_right = np.where(go_left, at_fresh, at_right), np.where(go_left, at_left, at_fresh)
    return np.asarray((low + high) / 2)
