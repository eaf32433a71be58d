"""What every policy has to keep to, whatever it decides."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import numpy as np

from linkedbandits.errors import InvalidNeeds, LinkedBanditError, TooManyInFlight
from linkedbandits.linkage import LINKAGES, Linkage, fulfil
from linkedbandits.live import Experiment, Play
from linkedbandits.model import Counts, FloatArray, Request
from linkedbandits.policy import AnyPolicy, LaneState
from linkedbandits.simulation import simulate
from linkedbandits.streams import LaneStreams
from linkedbandits.world import CoinFlips

Trace = list[tuple[tuple[object, ...], object]]


class PolicyCheckFailed(LinkedBanditError, AssertionError):
    """A policy breaks the contract; the message says which part of it."""


def check_policy(
    policy: AnyPolicy,
    *,
    means: Sequence[float] = (0.15, 0.6, 0.3, 0.3),
    seed: int = 0,
    max_plays: int = 20_000,
) -> None:
    """Hold a policy to the contract, under every linkage that allows what it asks for.

    - The same seed gives the same trace, in simulation and live.
    - A request changes nothing, and neither does asking without telling.
    - The state survives JSON, at any moment, and so does a live experiment with plays in flight.
    - A lane does not depend on the lanes beside it.
    - Every run reaches a verdict or its budget: with ties, with means of 0 and of 1, with two arms; and names an arm.
    - Requests are whole, not negative, and never for nothing.

    Raises PolicyCheckFailed at the first violation.

    >>> import linkedbandits as lb
    >>> check_policy(lb.UniformSampling(samples=20))
    """
    try:
        _check_under_every_linkage(policy, means, seed, max_plays)
    except InvalidNeeds as error:
        raise PolicyCheckFailed(f"{policy!r}: {error}") from error


def _check_under_every_linkage(policy: AnyPolicy, means: Sequence[float], seed: int, max_plays: int) -> None:
    linkages = [linkage for linkage in LINKAGES.values() if linkage.allows(policy.asks)]
    if not linkages:
        raise PolicyCheckFailed(f"no linkage allows what the policy asks for, {policy.asks!r}")
    for linkage in linkages:
        _check_same_seed_same_runs(policy, linkage, means, seed, max_plays)
        _check_requests_change_nothing(policy, linkage, means, seed)
        _check_lanes_are_independent(policy, linkage, means, seed)
        _check_live_trace_survives_json(policy, linkage, means, seed)
        _check_every_run_ends(policy, linkage, seed, max_plays)


def _require(holds: bool, policy: AnyPolicy, linkage: Linkage, promise: str) -> None:
    if not holds:
        raise PolicyCheckFailed(f"{policy!r} under linkage {linkage.name!r}: {promise}")


def _check_same_seed_same_runs(
    policy: AnyPolicy, linkage: Linkage, means: Sequence[float], seed: int, max_plays: int
) -> None:
    first, second = (
        simulate(means, policy, linkage=linkage, trials=20, seed=seed, max_plays=max_plays) for _ in range(2)
    )
    same = np.array_equal(first.arm, second.arm) and np.array_equal(first.samples, second.samples)
    _require(same, policy, linkage, "the same seed must give the same runs")


def _check_requests_change_nothing(policy: AnyPolicy, linkage: Linkage, means: Sequence[float], seed: int) -> None:
    for state, request, _ in _steps(policy, linkage, np.array(means), lanes=3, seed=seed):
        before = state.to_json()
        again = policy.request(state)
        _require(_same_request(request, again), policy, linkage, "request() must give the same twice in a row")
        _require(state.to_json() == before, policy, linkage, "request() must not change the state")
        read = type(state).from_json(json.loads(json.dumps(before)))
        _require(read.to_json() == before, policy, linkage, "the state must survive JSON")
        _require(
            _same_request(request, policy.request(read)), policy, linkage, "a state read from JSON must ask the same"
        )


def _check_lanes_are_independent(policy: AnyPolicy, linkage: Linkage, means: Sequence[float], seed: int) -> None:
    seeds = _policy_seeds(seed, len(means), lanes=3)
    alone = policy.start(1, len(means), seeds[1:2])
    for _, request, counts in _steps(policy, linkage, np.array(means), lanes=3, seed=seed):
        if alone.stopped[0]:
            break
        own = policy.request(alone)
        same = _same_request(own, request.take(np.array([1])))
        _require(same, policy, linkage, "a lane must ask the same alone as beside others")
        policy.observe(alone, counts.take(np.array([1])))


def _check_live_trace_survives_json(policy: AnyPolicy, linkage: Linkage, means: Sequence[float], seed: int) -> None:
    """Play by play with two plays in flight; a copy is saved and read back, and made to ask, on the way."""
    straight = _live_trace(policy, linkage, means, seed, between=lambda exp: exp)
    again = _live_trace(policy, linkage, means, seed, between=lambda exp: exp)
    _require(straight == again, policy, linkage, "the same answers must give the same plays")

    def save_and_read(exp: Experiment) -> Experiment:
        text = exp.to_json()
        return Experiment.from_json(text, policy=policy)

    resumed = _live_trace(policy, linkage, means, seed, between=save_and_read)
    _require(straight == resumed, policy, linkage, "a saved experiment must go on exactly where it stopped")

    exp = Experiment(range(len(means)), policy, linkage=linkage, seed=seed)
    before = exp.run.state_as_json()
    with suppress(TooManyInFlight):  # a policy with a small budget hands out no more than that
        for _ in range(50):
            exp.ask()
    _require(exp.run.state_as_json() == before, policy, linkage, "asking without telling must not change the state")


def _live_trace(
    policy: AnyPolicy,
    linkage: Linkage,
    means: Sequence[float],
    seed: int,
    between: Callable[[Experiment], Experiment],
    plays: int = 200,
) -> Trace:
    flips = np.random.default_rng(seed)
    exp = Experiment(range(len(means)), policy, linkage=linkage, seed=seed)
    trace: Trace = []
    waiting: list[Play] = []
    for _ in range(plays):
        if exp.done:
            break
        with suppress(TooManyInFlight):
            waiting.append(exp.ask())
        exp = between(exp)
        if len(waiting) == 2 or exp.plays + exp.in_flight == getattr(policy, "plays", None):
            play = waiting.pop(0)
            heads = flips.random(len(means)) < means
            hit = next((arm for arm in play.arms if heads[arm]), None)  # type: ignore[call-overload]
            exp.tell(play.id, hit)
            trace.append((play.arms, hit))
    trace.append(((), exp.recommend()))
    return trace


def _check_every_run_ends(policy: AnyPolicy, linkage: Linkage, seed: int, max_plays: int) -> None:
    for means in ([0.5, 0.5], [0.0, 0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.2, 0.1], [0.1, 0.2, 0.9, 0.9]):
        if len(means) <= max(getattr(policy, "k", 1), 2 * getattr(policy, "neighbours", 0) + 1):
            continue  # nothing to decide
        runs = simulate(means, policy, linkage=linkage, trials=10, seed=seed, max_plays=max_plays)
        _require(bool((runs.plays <= max_plays).all()), policy, linkage, f"no run may pass max_plays={max_plays}")
        _require(bool((runs.plays > 0).all()), policy, linkage, "every run must play")
        named = bool(((runs.top >= 0) & (runs.top < len(means))).all())
        _require(named, policy, linkage, f"the answer must be one of the arms 0 to {len(means) - 1}")


def _steps(
    policy: AnyPolicy, linkage: Linkage, means: FloatArray, lanes: int, seed: int, most: int = 40
) -> Iterator[tuple[LaneState, Request, Counts]]:
    """The states before each request, the request, and the counts that answer it, until a lane stops."""
    streams = LaneStreams(seed, means.size, range(lanes))
    world = CoinFlips(np.broadcast_to(means, (lanes, means.size)), streams)
    state = policy.start(lanes, means.size, _policy_seeds(seed, means.size, lanes))
    limit = np.full(lanes, 2**60)
    for _ in range(most):
        if state.stopped.any():
            return
        request = policy.request(state)
        counts = fulfil(request, limit, means.size, linkage, world).counts
        yield state, request, counts
        policy.observe(state, counts)


def _policy_seeds(seed: int, arms: int, lanes: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return LaneStreams(seed, arms, range(lanes)).policy_seeds()


def _same_request(one: Request, other: Request) -> bool:
    return type(one) is type(other) and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in type(one).__dataclass_fields__
    )
