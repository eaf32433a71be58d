"""What a policy is likely to ask for next, while answers to its current request are overdue.

While an answer is missing for long, spare plays for the current request alone would be of little use. So the missing
answers are drawn from what is known of the arms, a copy of the policy goes on with them, and what it asks for, beyond
what the spare plays have, is handed out. There is one such future at a time, and it goes only as far as its plays are
needed. It never touches the policy's own state: it costs or saves plays and never a guarantee
(``docs/late-answers.md``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkedbandits.linkage import Linkage
from linkedbandits.live.requests import (
    NeedsPlan,
    RequestQueue,
    SampleQueue,
    TuplePlan,
    counts_of_ends,
    drawn_ends,
    tuples_of,
)
from linkedbandits.model import Counts, FloatArray, IntArray, Needs, Repeats, Request, Tuples
from linkedbandits.policy import AnyPolicy, LaneState

MOST_STEPS = 16
"""Steps of the policy that one ask takes at most, so that it takes a few milliseconds; the next one goes on."""


class Future:
    """A policy that goes on with answers drawn where they are missing.

    ``_used`` counts what its requests have taken of the spare plays: samples by arm, or plays by tuple.
    """

    def __init__(self, policy: AnyPolicy, linkage: Linkage, state: LaneState) -> None:
        """``state`` belongs to this future from now on: a copy, which has observed the current request."""
        self._policy = policy
        self._linkage = linkage
        self._state = state
        self._used: dict[tuple[int, ...], int] = {}
        self._lacking: _Lacking | None = None

    def hand_out(self, queue: RequestQueue, means: FloatArray, chance: np.random.Generator) -> IntArray | None:
        """The next play that this future lacks; None if it comes to its verdict before, or not yet to such a play."""
        for _ in range(MOST_STEPS):
            if self._state.stopped[0]:
                return None
            request = self._policy.request(self._state)
            if isinstance(request, Needs) != isinstance(queue, SampleQueue):
                return None  # spare plays are of the other kind
            if self._lacking is None:
                self._lacking = _Lacking(request, self._amounts(request, queue), self._linkage)
            arms = self._lacking.hand_out()
            if arms is not None:
                return arms
            self._lacking = None
            self._policy.observe(self._state, self._draw(request, queue, means, chance))
        return None

    def _amounts(self, request: Request, queue: RequestQueue) -> list[int]:
        """What the request wants beyond the spare plays, by arm or by tuple."""
        if isinstance(queue, SampleQueue):
            assert isinstance(request, Needs)
            wanted = request.samples[0].tolist()
            spare = [
                queue.spares_of(arm) - self._used.get((arm,), 0) if wanted[arm] else 0 for arm in range(len(wanted))
            ]
        else:
            assert isinstance(request, Repeats | Tuples)
            tuples, wanted = tuples_of(request)
            spare = [queue.spares_of(tried) - self._used.get(tuple(tried.tolist()), 0) for tried in tuples]
        return [max(count - max(there, 0), 0) for count, there in zip(wanted, spare, strict=True)]

    def _draw(self, request: Request, queue: RequestQueue, means: FloatArray, chance: np.random.Generator) -> Counts:
        """The counts of a request: what is known of spare plays, and the rest drawn with these means."""
        if isinstance(queue, SampleQueue):
            assert isinstance(request, Needs)
            needs = request.samples[0]
            successes = np.zeros_like(needs)
            for arm in np.flatnonzero(needs).tolist():
                back, won = queue.known_spares(arm, self._take((arm,), int(needs[arm])), int(needs[arm]))
                successes[arm] = won + chance.binomial(int(needs[arm]) - back, means[arm])
            return Counts(needs[np.newaxis], successes[np.newaxis])
        assert isinstance(request, Repeats | Tuples)
        tuples, times = tuples_of(request)
        ends = []
        for tried, count in zip(tuples, times, strict=True):
            known = queue.known_spares(tried, self._take(tuple(tried.tolist()), count), count)
            ends.append(np.add(known, drawn_ends(tried, count - sum(known), means, chance)).tolist())
        return counts_of_ends(tuples, ends, means.size, np.array([sum(times)]))

    def _take(self, key: tuple[int, ...], count: int) -> int:
        """Count what a request takes of a queue; returns where that begins."""
        start = self._used.get(key, 0)
        self._used[key] = start + count
        return start

    def to_json(self) -> dict[str, Any]:
        """All of it, for :meth:`from_json`."""
        lacking = self._lacking
        return {
            "state": self._state.to_json(),
            "used": [[list(key), count] for key, count in self._used.items()],
            "lacking": None if lacking is None else [lacking.amounts, lacking.handed_out],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any], policy: AnyPolicy, linkage: Linkage, kind: type[LaneState]) -> Future:
        """What :meth:`to_json` wrote, with states of this ``kind``."""
        read = cls(policy, linkage, kind.from_json(data["state"]))
        read._used = {tuple(key): count for key, count in data["used"]}
        if data["lacking"] is not None:
            amounts, handed_out = data["lacking"]
            read._lacking = _Lacking(policy.request(read._state), amounts, linkage)
            for _ in range(handed_out):
                read._lacking.hand_out()
        return read


class _Lacking:
    """The plays of a request that spare plays do not have, one after the other."""

    def __init__(self, request: Request, amounts: list[int], linkage: Linkage) -> None:
        self.amounts = amounts
        self.handed_out = 0
        self._tuples = None if isinstance(request, Needs) else tuples_of(request)[0]
        self._free = np.array(amounts, dtype=np.int64)
        self._needs = NeedsPlan(linkage)
        self._turns = TuplePlan(amounts, int(request.shuffle[0]) if isinstance(request, Tuples) else 0)

    def hand_out(self) -> IntArray | None:
        """The next play; None after the last."""
        self.handed_out += 1
        if self._tuples is not None:
            number = self._turns.hand_out()
            return None if number is None else self._tuples[number]
        arms = self._needs.hand_out(self._free)
        if arms is not None:
            self._free[self._needs.speaks_for] -= 1
        return arms
