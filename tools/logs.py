"""Logs of attempts to try things on: made of outcomes of options on requests, and of orders to try options in.

    rng = np.random.default_rng(1)
    log = log_of(outcomes([0.8, 0.6], 1000, rng), shuffled(1000, 2, rng))

Options are independent where they are given as means, and depend on each other as a law of ``joint_worlds`` says.
Outcomes that are put together with ``np.concatenate`` have a change where they meet. Orders are arrays with a row for
each request; adaptive ones are made for many logs side by side, since each request has to wait for the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from linkedbandits.attempts import Attempts
from linkedbandits.joint_worlds import KindsOfRequests

Outcomes = npt.NDArray[np.bool_]
"""Whether each option would work on each request: a row for each request, after an axis of logs if there are many."""
Orders = npt.NDArray[np.int16]
"""The options of each request in the order they are tried in, shaped like outcomes."""


def outcomes(law: KindsOfRequests | npt.ArrayLike, requests: int, rng: np.random.Generator) -> Outcomes:
    """What independent options with these means do, or options of this law."""
    if not isinstance(law, KindsOfRequests):
        means = np.asarray(law, dtype=np.float64)
        return np.asarray(rng.random((requests, means.size), dtype=np.float32) < means)
    kind = rng.choice(law.weights.size, requests, p=law.weights)
    return np.asarray(rng.random((requests, law.chances.shape[1])) < law.chances[kind])


def with_memory(mean: float, after_failure: float, requests: int, rng: np.random.Generator) -> Outcomes:
    """One option, a column, which works as often as ``after_failure`` if it failed before, and ``mean`` if not."""
    chance = rng.random(requests)
    column = np.zeros((requests, 1), dtype=np.bool_)
    worked = True
    for request, drawn in enumerate(chance.tolist()):
        worked = drawn < (mean if worked else after_failure)
        column[request] = worked
    return column


def fixed(requests: int, options: int) -> Orders:
    """All in one order."""
    return np.tile(np.arange(options, dtype=np.int16), (requests, 1))


def shuffled(requests: int, options: int, rng: np.random.Generator) -> Orders:
    """Each in an order of its own, all orders equally likely."""
    return np.asarray(rng.permuted(fixed(requests, options), axis=1))


def mostly_fixed(requests: int, options: int, share: float, rng: np.random.Generator) -> Orders:
    """One order, but a share of the requests begins with an option at random."""
    orders = fixed(requests, options)
    first = np.where(rng.random(requests) < share, rng.integers(options, size=requests), 0)
    key = np.where(np.arange(options) == first[:, np.newaxis], -1, orders)
    return np.argsort(key, axis=1, kind="stable").astype(np.int16)


Choice = Callable[[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], np.random.Generator], npt.NDArray[Any]]
"""From attempts and successes of each option so far, and the last option tried and whether it worked: what is tried
first is what has the lowest number. All have a row for each log."""


def win_stay(
    tried: npt.NDArray[Any], worked: npt.NDArray[Any], last: npt.NDArray[Any], rng: np.random.Generator
) -> npt.NDArray[Any]:
    """What worked last is tried first, and the others after it in a circle."""
    options = tried.shape[1]
    return np.asarray((np.arange(options) - last[:, np.newaxis]) % options)


def epsilon_greedy(
    tried: npt.NDArray[Any],
    worked: npt.NDArray[Any],
    last: npt.NDArray[Any],
    rng: np.random.Generator,
    epsilon: float = 0.1,
) -> npt.NDArray[Any]:
    """What has worked most often first; in one request of ten an option at random before all others."""
    logs, options = tried.shape
    key = -(worked + 1) / (tried + 2)
    at_random = np.flatnonzero(rng.random(logs) < epsilon)
    key[at_random, rng.integers(options, size=at_random.size)] = -2.0
    return np.asarray(key)


def adaptive(would: Outcomes, choose: Choice, rng: np.random.Generator) -> Orders:
    """Orders that follow what was seen: ``would[log, request, option]``, of which only attempts are shown."""
    logs, requests, options = would.shape
    orders = np.zeros(would.shape, dtype=np.int16)
    tried, worked = np.zeros((logs, options)), np.zeros((logs, options))
    last = np.zeros(logs, dtype=np.int64)
    for request in range(requests):
        order = np.argsort(choose(tried, worked, last, rng), axis=1, kind="stable")
        orders[:, request] = order
        outcome = np.take_along_axis(would[:, request], order, axis=1)
        reached: Outcomes = np.cumsum(outcome, axis=1) - outcome == 0
        in_place = np.argsort(order, axis=1)
        hit = np.take_along_axis(outcome & reached, in_place, axis=1)
        tried += np.take_along_axis(reached, in_place, axis=1)
        worked += hit
        # The option that worked, or where none did the one after the one that began.
        last = np.where(hit.any(axis=1), hit.argmax(axis=1), (order[:, 0] + 1) % options)
    return orders


def log_of(would: Outcomes, orders: Orders, options: Sequence[Hashable] | None = None) -> Attempts:
    """The log of chains that end at the first success.

    >>> log_of(np.array([[True, False], [False, True]]), np.array([[1, 0], [1, 0]], dtype=np.int16)).option.tolist()
    [1, 0, 1]
    """
    in_order = np.take_along_axis(would, orders.astype(np.int64), axis=1)
    reached = np.ones_like(in_order)
    reached[:, 1:] = ~np.logical_or.accumulate(in_order[:, :-1], axis=1)
    count = would.shape[1]
    second = orders[:, 1].astype(np.int32) if count > 1 else np.full(len(orders), -1, dtype=np.int32)
    return Attempts(
        tuple(options) if options is not None else tuple("abcdefghijklmnopqrstuvwxyz"[:count]),
        np.repeat(np.arange(len(orders), dtype=np.int32), reached.sum(axis=1)),
        orders[reached].astype(np.int32),
        in_order[reached],
        second,
    )
