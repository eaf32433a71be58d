"""What a log lacks for a verdict: the rest of the run, tried out with coins of the means seen so far.

A forecast, not a promise: if the two best options are in truth closer than they look, it takes longer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from linkedbandits.attempts.deciding import Reading
from linkedbandits.display import short_repr
from linkedbandits.loop import play_on
from linkedbandits.model import BoolArray, Counts, FloatArray, IntArray, Label, Needs, Request, Tuples
from linkedbandits.policy import AnyPolicy, LaneState

LANES = 16
"""Runs to the end that are tried out."""
MOST_BLOCKS = 3_000
MOST_SAMPLES = 10**12
"""Beyond either, no end is in sight."""
SEED = 20_240_501


@dataclass(frozen=True)
class Missing:
    """How many more first attempts (or attempts, where all count) of an option a verdict is likely to take.

    ``requests`` is how many more requests bring that many at the log's rate, ``seconds`` how long that takes; infinite
    where the log never has what is missing, None where it has no times. ``samples`` is None where no end is in sight.
    """

    option: Label
    samples: int | None
    requests: float
    seconds: float | None

    __repr__ = short_repr


def outlook(
    reading: Reading,
    policy: AnyPolicy,
    means: FloatArray,
    options: tuple[Label, ...],
    left: IntArray,
    rates: FloatArray,
    seconds_a_request: float | None,
) -> tuple[Missing, ...]:
    """For every option of which something is missing, if the policy goes on like this.

    ``rates`` are samples of each option a request, ``left`` those that were not read.
    """
    if reading.stopped:
        return ()
    needed = _needed(policy, reading.state, means)
    close = _too_close(means / (policy.goal.costs or 1.0), policy.goal.k)
    found = []
    for option, label in enumerate(options):
        lacks = int(reading.lacking[option])
        more = None if needed is None else max(math.ceil(needed[option] - left[option]), lacks)
        if more == 0 or (more is None and not close[option] and (lacks == 0 or rates[option] > 0)):
            continue
        requests = math.inf if more is None or rates[option] == 0 else more / float(rates[option])
        seconds = None if seconds_a_request is None else requests * seconds_a_request
        found.append(Missing(label, more, requests, seconds))
    return tuple(found)


def _too_close(worth: FloatArray, k: int) -> BoolArray:
    """Which options cannot be told apart, where no end is in sight: the k-th best, the one behind it, and their equals.

    >>> _too_close(np.array([0.3, 0.9, 0.8, 0.8]), 1).tolist()
    [False, True, True, True]
    """
    return np.isin(worth, np.sort(worth)[::-1][k - 1 : k + 1])


def _needed(policy: AnyPolicy, now: LaneState, means: FloatArray) -> FloatArray | None:
    """The median of samples asked from here to the end, of every option; None where most runs come to none."""
    state = now.take(np.zeros(LANES, dtype=np.int64))
    lane = np.arange(LANES)
    asked = np.zeros((LANES, means.size))
    rng = np.random.default_rng(SEED)
    steps = 0

    def answer(request: Request) -> Counts | None:
        if asked.max() > MOST_SAMPLES or steps == MOST_BLOCKS:
            return None
        if isinstance(request, Needs):
            asked[lane] += request.samples
            return Counts(request.samples, rng.binomial(request.samples, means))
        if isinstance(request, Tuples):
            asked[lane] += _as_first(request, means.size)
            return _duels(request, means, rng)
        return None

    def goes_on() -> bool:
        nonlocal lane, steps
        steps += 1
        if state.stopped.any():
            lane = lane[~state.stopped]
            state.keep(~state.stopped)
        return lane.size > LANES // 2

    if play_on(policy, state, answer, goes_on) is not None:
        return None
    ended = np.setdiff1d(np.arange(LANES), lane)
    return np.asarray(np.median(asked[ended], axis=0))


def _duels(request: Tuples, means: FloatArray, rng: np.random.Generator) -> Counts:
    """As if options were independent: it decides nothing but the forecast."""
    first, second = request.order[..., 0], request.order[..., 1]
    won = rng.binomial(request.times, means[first])
    rescued = rng.binomial(request.times - won, np.where(second < 0, 0.0, means[second]))
    samples, successes = np.zeros((2, first.shape[0], means.size), dtype=np.int64)
    lane = np.arange(first.shape[0])[:, np.newaxis]
    np.add.at(samples, (lane, first), request.times)
    np.add.at(successes, (lane, first), won)
    np.add.at(samples, (lane, second), np.where(second < 0, 0, request.times - won))
    np.add.at(successes, (lane, second), rescued)
    return Counts(samples, successes, request.times.sum(axis=1), np.stack([won, rescued], axis=-1))


def _as_first(request: Tuples, options: int) -> FloatArray:
    firsts = np.zeros((request.order.shape[0], options))
    np.add.at(firsts, (np.arange(firsts.shape[0])[:, np.newaxis], request.order[..., 0]), request.times)
    return firsts
