"""What is still to come: the least that any policy would need here, and what this one is likely to need.

Both are computed as if the present estimates were true. That takes milliseconds to a second, so it is done in a thread
of its own, for experiments that are being watched, and never for more than a small share of the time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from time import monotonic

import numpy as np

from linkedbandits.bounds.lower_bound import lower
from linkedbandits.errors import LinkedBanditError
from linkedbandits.live import Estimate
from linkedbandits.policy import AnyPolicy, Goal
from linkedbandits.service.records import Setup
from linkedbandits.simulation import simulate_lanes

TRIALS = 24
LONGEST_SECONDS = 1.0
"""A simulation that takes longer is given up: no estimate then."""
LEAST_SECONDS_BETWEEN = 3.0
"""for one experiment."""
SHARE_OF_TIME = 0.05
"""How much of the time simulations may take, all experiments together."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """Plays in all; None where there is no such number."""

    lower_bound: float | None = None
    estimate_total: float | None = None


NOTHING_KNOWN = Outlook()


def look_ahead(
    estimates: Sequence[Estimate], policy: AnyPolicy, setup: Setup, plays: int, deadline: float = math.inf
) -> Outlook:
    """The outlook of an experiment whose decision has used ``plays`` plays; ``deadline`` is on the monotonic clock.

    Plays that wait for others before they are used are none of those: how many wait says how late answers are, and not
    that the run is a long one.
    """
    goal = policy.goal
    if goal.delta is None or policy.status_at_stop != "confident" or setup.log is not None:
        return NOTHING_KNOWN  # nor where some plays have come from a log
    # Half a success and half a failure more than were seen: an arm that never succeeded yet is not hopeless.
    means = np.array([(estimate.successes + 0.5) / (estimate.samples + 1) for estimate in estimates])
    # Estimates are rarely as far apart as was told, and one that is told may need fewer plays than those that are not.
    may_need_fewer = _tolerant(goal) or policy.told_difference is not None
    bound = None if may_need_fewer else lower(means, goal.delta, setup.linkage, goal.k, costs=goal.costs)
    if bound is not None and not math.isfinite(bound):
        return NOTHING_KNOWN  # a tie: no number of plays would do

    def look_at_the_clock(*_: object) -> None:
        if monotonic() > deadline:
            raise _TimeIsUp("the simulation takes too long")

    try:
        runs = simulate_lanes(
            np.broadcast_to(means, (TRIALS, means.size)),
            policy,
            linkage=setup.linkage,
            max_plays=setup.max_plays,
            parallel=setup.parallel,
            watch=look_at_the_clock,
        )
    except _TimeIsUp:
        return Outlook(bound)
    # Of the runs that go on longer than this one has, the middle one.
    longer = runs.plays[runs.plays > plays]
    return Outlook(bound, float(np.median(longer)) if longer.size else None)


def _tolerant(goal: Goal) -> bool:
    """Is less than the best arm enough? Then a policy may need fewer plays than any that looks for the best."""
    return goal.tolerance > 0 or goal.neighbours > 0


class _TimeIsUp(LinkedBanditError):
    """Raised inside a simulation, and caught around it."""


@dataclass
class _Kept:
    outlook: Outlook
    plays: int
    next_at: float


class Outlooks:
    """The latest outlook of every experiment that is looked at; a new one is computed in the background."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="outlook")
        self._kept: dict[str, _Kept] = {}
        self._running: Future[None] | None = None
        self._next_at = -math.inf

    def latest(
        self, experiment: str, estimates: Sequence[Estimate], policy: AnyPolicy, setup: Setup, plays: int
    ) -> Outlook:
        """What is known now, with so many plays used. Starts to find out more, if it is time and something changed."""
        kept = self._kept.setdefault(experiment, _Kept(NOTHING_KNOWN, -1, -math.inf))
        now = self._clock()
        free = self._running is None or self._running.done()
        if free and plays != kept.plays and now >= max(kept.next_at, self._next_at):
            self._running = self._worker.submit(self._compute, kept, estimates, policy, setup, plays)
        return kept.outlook

    def close(self) -> None:
        """Begin nothing more."""
        self._worker.shutdown(wait=True, cancel_futures=True)

    def _compute(self, kept: _Kept, estimates: Sequence[Estimate], policy: AnyPolicy, setup: Setup, plays: int) -> None:
        start = monotonic()
        try:
            kept.outlook = look_ahead(estimates, policy, setup, plays, deadline=start + LONGEST_SECONDS)
        finally:
            took = monotonic() - start
            kept.plays = plays
            kept.next_at = self._clock() + LEAST_SECONDS_BETWEEN
            self._next_at = self._clock() + took / SHARE_OF_TIME
