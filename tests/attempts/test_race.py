"""The race on a log: what it asks for follows from what was read, and the log is used."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkedbandits.attempts import Attempts
from linkedbandits.attempts.deciding import FromQueues, read_with, samples_of
from linkedbandits.attempts.queues import Queues
from linkedbandits.attempts.race import RaceOnALog
from linkedbandits.model import Counts


def win_stay(means, requests, rng):
    """A logger that stays with what worked and turns to the next after a failure; one attempt a request."""
    now, made = 0, []
    for _ in range(requests):
        worked = rng.random() < means[now]
        made.append(((now,), now if worked else None))
        now = now if worked else (now + 1) % len(means)
    return Attempts.from_plays(made, options=range(len(means)))


def read(log, delta=0.1, which="first"):
    queues = Queues(log, samples_of(log, which))
    return read_with(RaceOnALog(delta, queues.shares), log, FromQueues(queues))


@pytest.mark.statistical
def test_a_logger_that_stays_with_what_works_misleads_nobody():
    """120 logs of three equal options at delta = 0.1: each is dropped in at most a tenth of them.

    The limit allows five standard errors, so a false alarm has a probability below 1e-6. Were block sizes read from the
    orders that are still to come, which tell what has worked, most runs would drop one.
    """
    dropped = np.zeros(3)
    for seed in range(120):
        log = win_stay([0.5] * 3, 150, np.random.default_rng(seed))
        dropped += ~read(log).state.still_in[0]
    assert (dropped / 120 <= 0.1 + 5 * np.sqrt(0.09 / 120)).all()


def needs_of(log, blocks):
    """What is asked in so many blocks and the one behind them; with the queues as they are then."""
    queues = Queues(log, log.first)
    policy = RaceOnALog(1e-9, queues.shares)
    state = policy.start(1, len(log.options), np.zeros(1, dtype=np.uint64))
    asked = []
    for _ in range(blocks):
        asked.append(state.needs[0].tolist())
        successes = queues.take(state.needs[0])
        if successes is None:
            return None, queues
        policy.observe(state, Counts(state.needs, successes[np.newaxis]))
    return [*asked, state.needs[0].tolist()], queues


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 40))
def test_what_is_asked_next_does_not_depend_on_what_was_not_read(seed, blocks):
    """Behind the first attempt that was not read, all may come in another order, and what was not read may differ."""
    rng = np.random.default_rng(seed)
    log = win_stay(rng.random(3), 400, rng)
    asked, queues = needs_of(log, blocks)
    if asked is None:
        return
    read_of_each = [np.flatnonzero(log.option == option)[: queues.read[option]] for option in range(3)]
    was_read = np.zeros(len(log), dtype=bool)
    was_read[np.concatenate(read_of_each)] = True
    known = int((~was_read).argmax()) + 1  # of that attempt it is known which option it was
    behind = np.arange(known, len(log))
    behind = behind[np.lexsort((behind, log.option[behind], ~was_read[behind]))]
    order = np.concatenate([np.arange(known), behind])
    success = np.where(was_read, log.success, ~log.success)[order]
    other = Attempts(log.options, log.request, log.option[order], success)
    assert needs_of(other, blocks)[0] == asked


def test_a_log_of_all_sizes_is_used_nearly_to_its_end():
    """At least nine tenths of what the shortest queue allows, and more of what there is more of."""
    rng = np.random.default_rng(3)
    for shares in ([1, 1, 1, 1], [10, 1, 1], [30, 10, 1]):
        first = rng.choice(len(shares), 4000, p=np.array(shares) / sum(shares))
        log = Attempts.from_plays([((option,), option if rng.random() < 0.5 else None) for option in first])
        done = read(log, delta=1e-9)
        sizes = np.bincount(log.option[log.first])
        used = done.answers.samples_read()
        assert used.sum() >= 0.9 * sizes.size * sizes.min()
        assert (used >= 0.75 * sizes).all()
