"""What a policy is likely to ask next, while answers are missing: spare plays are chosen by it.

The policy is led on from a copy of its state, through what was handed out since, in the order in which samples count.
An answer that is missing is drawn with the means known so far. This is one future of many, and a guess: which spare
plays are handed out is decided by the past alone, so a wrong guess costs plays and never a guarantee
(``docs/late-answers.md``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkedbandits.linkage import Linkage
from linkedbandits.live.requests import (
    NeedsInProgress,
    RequestInProgress,
    TuplesInProgress,
    counts_of_ends,
    drawn_ends,
    resume,
    tuples_of,
)
from linkedbandits.live.spares import Spares
from linkedbandits.model import Counts, FloatArray, IntArray, Needs, Repeats, Tuples
from linkedbandits.policy import AnyPolicy, LaneState

MOST_STEPS = 16
"""Steps of the policy that one ask takes at most, so that it takes a few milliseconds; the next one goes on."""


class Future:
    """A policy that goes on with answers drawn where they are missing.

    ``_used`` counts what its requests have taken of the spare plays: samples by arm, or plays by tuple.
    """

    def __init__(self, policy: AnyPolicy, linkage: Linkage, arms: int, state: LaneState) -> None:
        """``state`` belongs to this future from now on: a copy, which has observed the current request."""
        self._policy = policy
        self._linkage = linkage
        self._arms = arms
        self._state = state
        self._used: dict[tuple[int, ...], int] = {}
        self._plan: RequestInProgress | None = None

    def hand_out(self, spares: Spares, means: FloatArray, chance: np.random.Generator) -> IntArray | None:
        """The next play that this future lacks; None if it comes to its verdict before, or not yet to such a play."""
        for _ in range(MOST_STEPS):
            if self._state.stopped[0]:
                return None
            request = self._policy.request(self._state)
            if self._plan is None:
                self._plan = self._lacking(request, spares)
            arms = self._plan.hand_out()
            if arms is not None:
                return arms
            self._plan = None
            if isinstance(request, Needs):
                counts = self._draw_needs(request.samples[0], spares, means, chance)
            else:
                counts = self._draw_tuples(request, spares, means, chance)
            self._policy.observe(self._state, counts)
        return None

    def _lacking(self, request: Needs | Repeats | Tuples, spares: Spares) -> RequestInProgress:
        """What the request wants beyond the spare plays."""
        if isinstance(request, Needs):
            needs = request.samples[0].copy()
            for arm in np.flatnonzero(needs).tolist():
                there = spares.samples_of(arm) - self._used.get((arm,), 0)
                needs[arm] = max(int(needs[arm]) - max(there, 0), 0)
            return NeedsInProgress(needs, self._linkage)
        tuples, times = tuples_of(request)
        lacking = [
            max(count - max(spares.plays_of(tried) - self._used.get(tuple(tried.tolist()), 0), 0), 0)
            for tried, count in zip(tuples, times, strict=True)
        ]
        shuffle = int(request.shuffle[0]) if isinstance(request, Tuples) else 0
        return TuplesInProgress(tuples, lacking, self._arms, shuffle)

    def _draw_needs(self, needs: IntArray, spares: Spares, means: FloatArray, chance: np.random.Generator) -> Counts:
        successes = np.zeros_like(needs)
        for arm in np.flatnonzero(needs).tolist():
            back, won = spares.known_samples(arm, self._take((arm,), int(needs[arm])), int(needs[arm]))
            successes[arm] = won + chance.binomial(int(needs[arm]) - back, means[arm])
        return Counts(needs[np.newaxis], successes[np.newaxis])

    def _draw_tuples(
        self, request: Repeats | Tuples, spares: Spares, means: FloatArray, chance: np.random.Generator
    ) -> Counts:
        tuples, times = tuples_of(request)
        ends = []
        for tried, count in zip(tuples, times, strict=True):
            known = spares.known_ends(tried, self._take(tuple(tried.tolist()), count), count)
            ends.append(np.add(known, drawn_ends(tried, count - sum(known), means, chance)).tolist())
        return counts_of_ends(tuples, ends, self._arms, np.array([sum(times)]))

    def _take(self, key: tuple[int, ...], count: int) -> int:
        """Count what a request takes of a queue; returns where that begins."""
        start = self._used.get(key, 0)
        self._used[key] = start + count
        return start

    def to_json(self) -> dict[str, Any]:
        """All of it, for :meth:`from_json`."""
        return {
            "state": self._state.to_json(),
            "used": [[list(key), count] for key, count in self._used.items()],
            "plan": None if self._plan is None else self._plan.to_json(),
        }

    @classmethod
    def from_json(
        cls, data: dict[str, Any], policy: AnyPolicy, linkage: Linkage, arms: int, kind: type[LaneState]
    ) -> Future:
        """What :meth:`to_json` wrote, with states of this ``kind``."""
        read = cls(policy, linkage, arms, kind.from_json(data["state"]))
        read._used = {tuple(key): count for key, count in data["used"]}
        read._plan = None if data["plan"] is None else resume(data["plan"], linkage)
        return read
