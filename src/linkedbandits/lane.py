"""The policy's side of a live experiment: one lane of the loop that simulation runs, played by somebody else.

Arms are numbers here, and plays are trusted; labels, tickets and repeated answers are the experiment's own business.
"""

from __future__ import annotations

import numpy as np

from linkedbandits.answer import best_guess
from linkedbandits.answers import NO_HIT
from linkedbandits.linkage import Linkage
from linkedbandits.live import InProgress, begin
from linkedbandits.model import Counts, IntArray, check_request
from linkedbandits.policy import AnyPolicy
from linkedbandits.spares import Spares
from linkedbandits.streams import LaneStreams
from linkedbandits.tickets import Ticket


class Lane:
    """A policy's state, the request that is being played, the spare plays, and what everything brought.

    ``samples`` and ``successes`` are those of finished requests and of plays that no request has used; the current
    request has the rest. What came too late for the decision is apart, in ``late_samples`` and ``late_successes``.
    """

    def __init__(self, policy: AnyPolicy, linkage: Linkage, arms: int, seed: int) -> None:
        self.policy = policy
        self.linkage = linkage
        self.state = policy.start(1, arms, LaneStreams(seed, arms, range(1)).policy_seeds())
        self.spares = Spares(arms)
        self.samples = np.zeros(arms, dtype=np.int64)
        self.successes = np.zeros(arms, dtype=np.int64)
        self.late_samples = np.zeros(arms, dtype=np.int64)
        self.late_successes = np.zeros(arms, dtype=np.int64)
        self.plays_observed = 0  # of which the policy has been told
        self.request: InProgress = self._begin()

    @property
    def stopped(self) -> bool:
        """Has the policy finished by its own rule?"""
        return bool(self.state.stopped[0])

    def hand_out(self, play: int) -> Ticket:
        """The next play of the current request, or a spare one."""
        arms = self.request.hand_out()
        if arms is not None:
            return Ticket(arms, "current", self.request.claimed)
        arms = self.request.spare_play()
        self.spares.put(play, arms)
        return Ticket(arms, "spare")

    def bring(self, play: int, ticket: Ticket, reached: int, hit_arm: int) -> None:
        """A play is back: its first ``reached`` arms were tried, the last of them the hit if there was one."""
        if ticket.role == "spare":
            self.spares.come_back(play, reached, hit_arm)
            self.add(ticket.arms[:reached], hit_arm)
        elif ticket.claimed is None:
            self.request.bring(ticket.arms, reached, hit_arm != NO_HIT)
        else:
            # The request counts the arms it claimed; samples of the others wait in their place for a later one.
            tried = ticket.arms[:reached]
            others = tried[~np.isin(tried, ticket.claimed)]
            self.add(others, hit_arm if hit_arm in others else NO_HIT)
            self.request.bring_claimed(ticket.claimed, ticket.arms, reached, hit_arm != NO_HIT)
            self.spares.come_back(play, reached, hit_arm)

    def add(self, tried: IntArray, hit_arm: int) -> None:
        """Samples beside any request."""
        self.samples[tried] += 1
        if hit_arm != NO_HIT:
            self.successes[hit_arm] += 1

    def add_late(self, tried: IntArray, hit_arm: int) -> None:
        """Samples for the estimates alone."""
        self.late_samples[tried] += 1
        if hit_arm != NO_HIT:
            self.late_successes[hit_arm] += 1

    def give_up(self, play: int, ticket: Ticket) -> None:
        """A play will not come back, or too late to count."""
        self.spares.give_up(play)
        if ticket.role == "current":
            self.request.take_back(ticket.arms if ticket.claimed is None else ticket.claimed)

    def observe(self, plays: int) -> None:
        """The request is fulfilled: let the policy see it. ``plays`` is how many were told so far in time."""
        counts = self.request.counts()
        self.samples += counts.samples[0]
        self.successes += counts.successes[0]
        # Spare plays count, too, so that they add up to those of the verdict.
        since = np.array([plays - self.plays_observed])
        self.plays_observed = plays
        self.policy.observe(self.state, Counts(counts.samples, counts.successes, since))

    def begin_next(self) -> list[tuple[int, IntArray | None]]:
        """State the next request, and let it claim what spare plays have brought or will bring.

        Returns the plays still out that belong to it now, with the arms that they speak for, or None for all.
        """
        self.request = self._begin()
        if not self.spares:
            return []
        claim = self.request.claim(self.spares)
        # What the request took over is its own to count; it was in the totals since it was told.
        self.samples -= claim.samples
        self.successes -= claim.successes
        return claim.out

    def totals(self) -> tuple[IntArray, IntArray]:
        """Samples and successes of every arm in all plays told so far, the late ones among them."""
        samples, successes = self._in_time()
        return samples + self.late_samples, successes + self.late_successes

    def leading(self) -> IntArray:
        """The best guess before the policy has decided, best first; what came late has no say in it."""
        samples, successes = self._in_time()
        leading: IntArray = best_guess(self.policy, self.state, samples[np.newaxis], successes[np.newaxis])[0]
        return leading

    def _in_time(self) -> tuple[IntArray, IntArray]:
        if self.stopped:
            return self.samples, self.successes
        counts = self.request.counts()
        return self.samples + counts.samples[0], self.successes + counts.successes[0]

    def _begin(self) -> InProgress:
        request = self.policy.request(self.state)
        check_request(request)
        return begin(request, self.samples.size, self.linkage)
