"""A policy reads a log: it asks, the log answers as far as it goes, and there is a verdict or not yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from linkedbandits.attempts.log import AttemptLog, Which
from linkedbandits.attempts.queues import PairQueues, Queues
from linkedbandits.errors import InvalidAttempts
from linkedbandits.loop import play_on
from linkedbandits.model import Counts, FloatArray, IntArray, Needs, Request, Tuples
from linkedbandits.policy import AnyPolicy, LaneState
from linkedbandits.streams import LaneStreams

SEED = 0
"""That of an experiment unless another is given: by the same policy it goes on where the reading of the log ended."""
MOST_POINTS = 400
"""Of the course of evidence that is kept for pictures."""


class Answers(Protocol):
    """What a log answers with."""

    def counts(self, request: Request) -> Counts | None:
        """Of one lane; None, and nothing is read, if the log has not as much."""
        ...

    def lacking(self, request: Request) -> IntArray:
        """How many samples of every option the log lacks for this."""
        ...

    def requests_read(self) -> int:
        """How many requests of the log it took to read what was read."""
        ...

    def samples_read(self) -> IntArray:
        """Of every option, what was read."""
        ...


class FromQueues:
    """Needs, answered sample by sample."""

    def __init__(self, queues: Queues) -> None:
        self.queues = queues

    def counts(self, request: Request) -> Counts | None:
        """Read from the fronts of the queues."""
        needs = _needs_of(request)
        successes = self.queues.take(needs)
        return None if successes is None else Counts(needs[np.newaxis], successes[np.newaxis])

    def lacking(self, request: Request) -> IntArray:
        """What is asked beyond what is left."""
        return np.asarray(np.maximum(_needs_of(request) - self.queues.left, 0))

    def requests_read(self) -> int:
        """Up to the last sample that was read."""
        return self.queues.requests_read()

    def samples_read(self) -> IntArray:
        """Of every option."""
        return self.queues.read


class FromPairs:
    """Tuples of two, answered by requests on which these two were offered first."""

    def __init__(self, pairs: PairQueues, options: int) -> None:
        self.pairs = pairs
        self._options = options

    def counts(self, request: Request) -> Counts | None:
        """Read from the fronts of the queues; first tries are samples."""
        order, times = _pairs_of(request)
        hits = self.pairs.hits(order, times)
        if hits is None:
            return None
        samples, successes = np.zeros((2, self._options), dtype=np.int64)
        tried = np.column_stack([times, times - hits[:, 0]])
        np.add.at(samples, order, np.where(order < 0, 0, tried))
        np.add.at(successes, order, hits)
        return Counts(samples[np.newaxis], successes[np.newaxis], np.array([times.sum()]), hits[np.newaxis])

    def lacking(self, request: Request) -> IntArray:
        """Requests that would have to begin with each option."""
        return np.asarray(self.pairs.lacking(*_pairs_of(request)).sum(axis=1))

    def requests_read(self) -> int:
        """Up to the last one that was read."""
        return self.pairs.requests_read()

    def samples_read(self) -> IntArray:
        """Requests that began with each option."""
        return np.asarray(self.pairs.read.reshape(self._options, -1).sum(axis=1))


def _needs_of(request: Request) -> IntArray:
    if not isinstance(request, Needs):
        raise InvalidAttempts(
            "this policy asks for tuples, and a log answers those with attempts='duels' alone, if they are pairs; use "
            "LinkedElimination, LinkedLead, or another policy that asks for needs"
        )
    return np.asarray(request.samples[0])


def _pairs_of(request: Request) -> tuple[IntArray, IntArray]:
    if not isinstance(request, Tuples) or request.order.shape[2] != 2:
        raise InvalidAttempts("attempts='duels' answers pairs alone; leave the policy out, or use LinkedDuels")
    return request.order[0], request.times[0]


@dataclass
class Reading:
    """How far a policy came on a log.

    ``course`` has the evidence against every option as a power of ten, after so many requests of the log; it is empty
    where the policy keeps none. ``lacking`` is what the next request would have needed more of every option.
    """

    policy: AnyPolicy
    state: LaneState
    answers: Answers
    stopped: bool
    lacking: IntArray
    course: list[tuple[int, FloatArray]] = field(default_factory=list)

    @property
    def requests(self) -> int:
        """How many requests were read."""
        return self.answers.requests_read()


def read_with(policy: AnyPolicy, log: AttemptLog, answers: Answers) -> Reading:
    """Have the policy read from the front of the log until it stops, or the log has not what it asks for."""
    options = len(log.options)
    state = policy.start(1, options, LaneStreams(SEED, options, range(1)).policy_seeds())
    course: list[tuple[int, FloatArray]] = []

    def goes_on() -> bool:
        evidence = policy.log10_evidence(state)
        if evidence is not None:
            course.append((answers.requests_read(), evidence[0]))
        return not state.stopped[0]

    open_request = play_on(policy, state, answers.counts, goes_on)
    stopped = open_request is None
    lacking = np.zeros(options, dtype=np.int64) if open_request is None else answers.lacking(open_request)
    return Reading(policy, state, answers, stopped, lacking, _thinned(course))


def _thinned(course: list[Any]) -> list[Any]:
    """Evenly, with both ends."""
    if len(course) <= MOST_POINTS:
        return course
    return [course[place] for place in np.linspace(0, len(course) - 1, MOST_POINTS).astype(int)]


def samples_of(log: AttemptLog, which: Which) -> IntArray:
    """The attempts that are samples of their options' means, by their places in the log."""
    return np.arange(len(log)) if which == "all" else log.first
