"""The test that uses all samples of a log, whatever the logger's proportions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkedbandits.attempts import Attempts
from linkedbandits.attempts.queues import Queues
from linkedbandits.attempts.second_test import decided_by_all_samples
from tests.attempts.test_log import plays


def of_outcomes(*rows):
    """One attempt a request: (option, worked)."""
    return Attempts.from_plays([((option,), option if worked else None) for option, worked in rows], options=range(3))


def decided(log, delta):
    return decided_by_all_samples(Queues(log, log.first), delta)


def test_it_decides_when_all_others_are_out_and_after_the_requests_it_took():
    rows = [(number % 3, number % 3 == 1) for number in range(90)]
    found = decided(of_outcomes(*rows), 0.1)
    assert found.option == 1
    assert decided(of_outcomes(*rows[: found.requests]), 0.1) == found
    assert decided(of_outcomes(*rows[: found.requests - 1]), 0.1) is None


def test_it_needs_no_balance():
    """One option is tried forty times as often as the others."""
    rng = np.random.default_rng(1)
    rows = [
        (option, rng.random() < (0.9, 0.2, 0.2)[option]) for option in rng.choice(3, 3000, p=[40 / 42, 1 / 42, 1 / 42])
    ]
    assert decided(of_outcomes(*rows), 0.1).option == 0


@given(plays("abc", most=60), st.integers(1, 60))
def test_a_longer_log_has_the_same_answer(made, cut):
    whole, part = (
        decided_by_all_samples(Queues(log, np.arange(len(log))), 0.5)
        for log in (Attempts.from_plays(made, options="abc"), Attempts.from_plays(made[:cut], options="abc"))
    )
    if part is not None:
        assert whole == part


def test_over_all_outcomes_a_best_option_is_dropped_at_most_delta_of_the_time():
    """Two options that tie, a logger that stays with what works, 11 requests: exactly, for several means and deltas."""
    means = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    for delta in (0.5, 0.8):
        wrong = np.zeros((2, means.size))
        for outcomes in itertools.product((False, True), repeat=11):
            now, made = 0, []
            for worked in outcomes:
                made.append(((now,), now if worked else None))
                now = now if worked else 1 - now
            found = decided(Attempts.from_plays(made, options=(0, 1)), delta)
            if found is not None:
                wins = sum(outcomes)
                wrong[1 - found.option] += means**wins * (1 - means) ** (11 - wins)
        assert (wrong <= delta).all()
        assert wrong.max() > 0.01


@pytest.mark.parametrize(("options", "rounds"), [(2, 5), (5, 6)])
def test_the_level_is_the_number_of_others_over_delta(options, rounds):
    """One option always works and the others never do: the evidence against each is known in closed form."""
    rows = [(number % options, number % options == 0) for number in range(options * rounds)]
    made = [((option,), option if worked else None) for option, worked in rows]
    log = Attempts.from_plays(made, options=range(options))
    # The others' samples at the last look are as many as the leader's.
    marginal = math.lgamma(rounds + 0.5) + math.lgamma(0.5) - math.lgamma(rounds + 1) - math.log(math.pi)
    evidence = math.exp(2 * marginal + 2 * rounds * math.log(2))
    needed = (options - 1) / evidence
    assert decided(log, needed * 1.001) is not None
    assert decided(log, needed * 0.999) is None


def test_where_nothing_was_tried_nothing_is_decided():
    assert decided(Attempts.from_plays([], options="ab"), 0.1) is None
