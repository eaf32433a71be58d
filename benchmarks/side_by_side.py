"""Many logs read side by side, a lane each: what each comes to is what it comes to alone, in a fraction of the time.

A policy on one log works with arrays of a few numbers, and most of its time goes into calling numpy. On a thousand logs
it makes the same calls. The logs themselves are still read one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

import linkedbandits as lb
from linkedbandits.attempts import Attempts
from linkedbandits.attempts.deciding import Answers, FromPairs, FromQueues, samples_of
from linkedbandits.attempts.log import Which
from linkedbandits.attempts.queues import PairQueues, Queues
from linkedbandits.attempts.race import RaceOnALog
from linkedbandits.attempts.second_test import SHARE, decided_by_all_samples
from linkedbandits.linkage import find_linkage
from linkedbandits.model import BoolArray, Counts, FloatArray
from linkedbandits.policies.linked_elimination import RaceState
from linkedbandits.policy import AnyPolicy


@dataclass
class Found:
    """What a log came to: the option it decided for, if any, after so many requests.

    ``stopped`` says whether the policy itself came to an end, ``used`` how many samples of every option it has read.
    """

    option: int | None
    requests: int
    stopped: bool
    used: np.ndarray


@dataclass(frozen=True)
class RaceOnLogs(RaceOnALog):
    """A :class:`RaceOnALog` in every lane, each of which is asked what its own log has."""

    alone: list[RaceOnALog] = field(default_factory=list)

    def allocate(self, state: RaceState, rivals: BoolArray, leading: BoolArray) -> FloatArray:
        """Lane by lane, as each would by itself."""
        amounts = np.zeros(rivals.shape)
        for lane, policy in enumerate(self.alone):
            here = slice(lane, lane + 1)
            amounts[here] = policy.allocate(OneLane(state.step[here]), rivals[here], leading[here])
        return amounts


@dataclass
class OneLane:
    """All that is read of a state to allocate: how long a block is."""

    step: np.ndarray


def read_all(logs: Sequence[Attempts], which: Which, delta: float) -> list[Found]:
    """As ``Attempts.verdict`` reads each of them. All have the same options."""
    if which == "duels":
        policy = lb.LinkedDuels(delta).fitted_to(find_linkage("free"), None)
        return _read(policy, [FromPairs(PairQueues(log), len(log.options)) for log in logs], logs, [])
    queues = [Queues(log, samples_of(log, which)) for log in logs]
    second = [decided_by_all_samples(queue, SHARE * delta) for queue in queues]
    alone = [RaceOnALog(delta, queue.shares, share=1 - SHARE) for queue in queues]
    together = RaceOnLogs(delta, queues[0].shares, share=1 - SHARE, alone=list(alone))
    found = _read(together, [FromQueues(queue) for queue in queues], logs, together.alone)
    for one, other in zip(found, second, strict=True):
        if other is not None and not (one.stopped and one.requests <= other.requests):
            one.option, one.requests = other
    return found


def _read(policy: AnyPolicy, answers: list[Answers], logs: Sequence[Attempts], beside: list[RaceOnALog]) -> list[Found]:
    """Until every policy has stopped, or its log has not what it asks for; ``beside`` is thinned as the lanes are."""
    lanes = np.arange(len(logs))
    state = policy.start(lanes.size, len(logs[0].options), np.zeros(lanes.size, dtype=np.uint64))
    found: list[Found | None] = [None] * lanes.size

    def thin(going_on: np.ndarray) -> None:
        nonlocal lanes
        for place in np.flatnonzero(~going_on):
            answer, stopped = answers[lanes[place]], bool(state.stopped[place])
            option = int(state.arm[place]) if stopped else None
            found[lanes[place]] = Found(option, answer.requests_read(), stopped, answer.samples_read())
        state.keep(going_on)
        beside[:] = [one for one, goes_on in zip(beside, going_on, strict=False) if goes_on]
        lanes = lanes[going_on]

    while lanes.size:
        request = policy.request(state)
        answered = [answers[lane].counts(request.take(np.array([place]))) for place, lane in enumerate(lanes)]
        enough = np.array([counts is not None for counts in answered])
        if not enough.all():
            thin(enough)
        if lanes.size:
            policy.observe(state, _joined([counts for counts in answered if counts is not None]))
            if state.stopped.any():
                thin(~state.stopped)
    return [one for one in found if one is not None]


def _joined(counts: list[Counts]) -> Counts:
    def of(name: str) -> np.ndarray | None:
        parts = [getattr(one, name) for one in counts]
        return None if parts[0] is None else np.concatenate(parts)

    return Counts(of("samples"), of("successes"), of("plays"), of("hits"))
