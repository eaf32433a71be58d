"""One request, fulfilled play by play by somebody else: what to hand out next, and what has come back.

The plays in flight are *spoken for*: a request never hands out more plays of an arm than it still needs samples of
it, and it is fulfilled only when all of them are back. So no answer can be left out because it was slow, which
matters where slow answers tend to be the failures.

Somebody who wants more plays in flight than that gets *spare* plays. They belong to the requests that follow,
in the order in which they were handed out, whatever the order of their answers; see :meth:`NeedsInProgress.offer`.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Protocol

import numpy as np

from linkedbandits.linkage import Linkage
from linkedbandits.model import Counts, IntArray, Needs, Repeats, Request

Tape = dict[int, deque[int]]
"""Outcomes of samples that no request has needed yet, oldest first, by arm."""


class InProgress(Protocol):
    """A request that is being played."""

    @property
    def fulfilled(self) -> bool:
        """Has everything come back?"""
        ...

    def hand_out(self) -> IntArray | None:
        """The arms of the next play, or None while everything needed is in flight."""
        ...

    def spare_play(self) -> IntArray:
        """The arms of a play beyond what is needed: the best guess of what the next request will want."""
        ...

    def bring(self, arms: IntArray, reached: int, hit: bool) -> None:
        """A play that was handed out is back: its first ``reached`` arms were tried, the last of them the hit."""
        ...

    def take_back(self, arms: IntArray) -> None:
        """A play that was handed out will not come back."""
        ...

    def offer(self, arms: IntArray, reached: int | None, hit: bool, tape: Tape) -> bool:
        """An earlier spare play, back or still out (``reached`` is None). Is it dealt with from here on?"""
        ...

    def counts(self) -> Counts:
        """What the request brought, as one lane."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        ...


class NeedsInProgress:
    """Needs, played as the linkage plans."""

    def __init__(self, needs: IntArray, linkage: Linkage) -> None:
        self._linkage = linkage
        self._needs = needs
        self._remaining = needs.copy()
        self._free = needs.copy()  # remaining needs that no play in flight speaks for
        self._successes = np.zeros_like(needs)
        self._unmet = int(needs.sum())
        self._order = np.empty(0, dtype=np.int64)
        self._plan_plays = 0
        self._open = self._order  # the arms of the next play,
        self._sure = 0  # and for how many plays they cannot change

    @property
    def fulfilled(self) -> bool:
        """Is every need met?"""
        return self._unmet == 0

    def hand_out(self) -> IntArray | None:
        """The arms of the linkage's plan with a need that nobody speaks for."""
        if self._sure == 0 and not self._settle_next_play():
            return None
        self._sure -= 1
        self._plan_plays -= 1
        self._free[self._open] -= 1
        return self._open

    def _settle_next_play(self) -> bool:
        arms = self._planned_arms() if self._plan_plays else self._order[:0]
        if not arms.size:
            if not self._free.any():
                return False
            plan = self._linkage.plan(self._free[np.newaxis])
            self._order, self._plan_plays = plan.order[0], int(plan.plays[0])
            arms = self._planned_arms()
        if not np.array_equal(arms, self._open):  # the same array tells the caller that it is the same play
            self._open = arms
        self._sure = min(int(self._free[arms].min()), self._plan_plays)
        return True

    def _planned_arms(self) -> IntArray:
        return np.asarray(self._order[self._free[self._order] > 0])

    def spare_play(self) -> IntArray:
        """The plan for what has not come back yet."""
        order: IntArray = self._linkage.plan(self._remaining[np.newaxis]).order[0]
        return np.asarray(order[self._remaining[order] > 0])

    def bring(self, arms: IntArray, reached: int, hit: bool) -> None:
        """Count the samples; arms that the play did not reach are free to be played again."""
        self._remaining[arms[:reached]] -= 1
        self._unmet -= reached
        if hit:
            self._successes[arms[reached - 1]] += 1
            if reached < arms.size:
                self._free[arms[reached:]] += 1
                self._sure = 0

    def take_back(self, arms: IntArray) -> None:
        """Nobody speaks for these arms any more."""
        self._free[arms] += 1
        self._sure = 0

    def use_tape(self, tape: Tape) -> None:
        """Meet needs from samples that came in earlier and that nobody has looked at."""
        for arm in [arm for arm in tape if self._free[arm] > 0]:
            outcomes = tape[arm]
            while outcomes and self._free[arm] > 0:
                self._use_sample(arm, outcomes.popleft())
            if not outcomes:
                del tape[arm]

    def offer(self, arms: IntArray, reached: int | None, hit: bool, tape: Tape) -> bool:
        """Use what an earlier spare play samples, first come first served by when it was handed out.

        A play that is still out is spoken for if it fits; if it might bring more than is needed it stays spare.
        Whether a sample counts here or later thus never depends on its own outcome or delay.
        """
        if reached is None:
            if (self._free[arms] > 0).all():
                self._free[arms] -= 1
                self._sure = 0
                return True
            return False
        for position, arm in enumerate(arms[:reached].tolist()):
            outcome = int(hit and position == reached - 1)
            if self._free[arm] > 0 and arm not in tape:
                self._use_sample(arm, outcome)
            else:
                tape.setdefault(arm, deque()).append(outcome)
        return True

    def _use_sample(self, arm: int, outcome: int) -> None:
        self._remaining[arm] -= 1
        self._free[arm] -= 1
        self._successes[arm] += outcome
        self._unmet -= 1
        self._sure = 0

    def counts(self) -> Counts:
        """What has come back, as one lane."""
        return Counts((self._needs - self._remaining)[np.newaxis], self._successes[np.newaxis])

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "needs": self._needs.tolist(),
            "remaining": self._remaining.tolist(),
            "free": self._free.tolist(),
            "successes": self._successes.tolist(),
            "order": self._order.tolist(),
            "plan_plays": self._plan_plays,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any], linkage: Linkage) -> NeedsInProgress:
        """What :meth:`to_json` wrote."""
        read = cls(np.array(data["needs"], dtype=np.int64), linkage)
        read._remaining = np.array(data["remaining"], dtype=np.int64)
        read._free = np.array(data["free"], dtype=np.int64)
        read._successes = np.array(data["successes"], dtype=np.int64)
        read._unmet = int(read._remaining.sum())
        read._order = np.array(data["order"], dtype=np.int64)
        read._plan_plays = int(data["plan_plays"])
        return read


class RepeatsInProgress:
    """One tuple, played so many times."""

    def __init__(self, order: IntArray, times: int, arms: int) -> None:
        self._order = order
        self._remaining = times
        self._free = times
        self._samples = np.zeros(arms, dtype=np.int64)
        self._successes = np.zeros(arms, dtype=np.int64)

    @property
    def fulfilled(self) -> bool:
        """Are all plays back?"""
        return self._remaining == 0

    def hand_out(self) -> IntArray | None:
        """The tuple, as often as asked."""
        if self._free == 0:
            return None
        self._free -= 1
        return self._order

    def spare_play(self) -> IntArray:
        """The same tuple once more."""
        return self._order

    def bring(self, arms: IntArray, reached: int, hit: bool) -> None:
        """Count the play."""
        self._remaining -= 1
        self._samples[arms[:reached]] += 1
        if hit:
            self._successes[arms[reached - 1]] += 1

    def take_back(self, arms: IntArray) -> None:
        """The play has to be made again."""
        self._free += 1

    def offer(self, arms: IntArray, reached: int | None, hit: bool, tape: Tape) -> bool:
        """A spare play of the same tuple counts as one of the plays asked for."""
        if self._free == 0 or not np.array_equal(arms, self._order):
            return False
        self._free -= 1
        if reached is not None:
            self.bring(arms, reached, hit)
        return True

    def counts(self) -> Counts:
        """What has come back, as one lane."""
        return Counts(self._samples[np.newaxis], self._successes[np.newaxis])

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "tuple": self._order.tolist(),
            "remaining": self._remaining,
            "free": self._free,
            "samples": self._samples.tolist(),
            "successes": self._successes.tolist(),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> RepeatsInProgress:
        """What :meth:`to_json` wrote."""
        read = cls(np.array(data["tuple"], dtype=np.int64), int(data["remaining"]), len(data["samples"]))
        read._free = int(data["free"])
        read._samples = np.array(data["samples"], dtype=np.int64)
        read._successes = np.array(data["successes"], dtype=np.int64)
        return read


def begin(request: Request, arms: int, linkage: Linkage, tape: Tape) -> InProgress:
    """Start to play the request of a single lane, with what is on the tape."""
    match request:
        case Needs(samples=needs):
            progress = NeedsInProgress(needs[0], linkage)
            progress.use_tape(tape)
            return progress
        case Repeats(order=order, times=times):
            return RepeatsInProgress(order[0][order[0] >= 0], int(times[0]), arms)


def resume(data: dict[str, Any], linkage: Linkage) -> InProgress:
    """Go on with a request that was saved by its ``to_json``."""
    if "tuple" in data:
        return RepeatsInProgress.from_json(data)
    return NeedsInProgress.from_json(data, linkage)
