"""Reading a log from the front, and what may be known of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkedbandits.attempts import Attempts
from linkedbandits.attempts.log import AttemptLog
from linkedbandits.attempts.queues import PairQueues, Queues
from linkedbandits.linkage import LINKAGES, fulfil
from linkedbandits.model import Needs
from tests.attempts.test_log import plays


@given(plays(), st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), max_size=10))
def test_samples_come_in_the_order_of_the_log_and_once(made, asked):
    log = Attempts.from_plays(made, options="abcd")
    queues = Queues(log, np.arange(len(log)))
    rows = [log.success[log.option == option].tolist() for option in range(4)]
    taken = [0] * 4
    for needs in asked:
        enough = all(taken[option] + needs[option] <= len(rows[option]) for option in range(4))
        found = queues.take(np.array(needs))
        assert (found is not None) == enough
        if enough:
            expected = [sum(rows[option][taken[option] : taken[option] + needs[option]]) for option in range(4)]
            assert found.tolist() == expected
            taken = [taken[option] + needs[option] for option in range(4)]
        assert queues.left.tolist() == [len(rows[option]) - taken[option] for option in range(4)]


def test_it_takes_the_requests_up_to_the_last_sample_that_was_read():
    log = Attempts.from_plays([(("a", "b"), None), (("b", "a"), "b"), (("a", "b"), "a")])
    queues = Queues(log, log.first)
    assert queues.requests_read() == 0
    queues.take(np.array([1, 0]))
    assert queues.requests_read() == 1
    queues.take(np.array([1, 0]))
    assert queues.requests_read() == 3


def test_shares_count_what_lies_before_the_first_attempt_that_was_not_read():
    """a a b a a b ...: with two of a and one of b read, the first three are known; behind them nothing is."""
    made = [(("a",), None), (("a",), None), (("b",), None)] * 4
    queues = Queues(log := Attempts.from_plays(made), log.first)
    both = np.array([True, True])
    assert queues.shares(both).tolist() == [0.5, 0.5]  # nothing is known
    queues.take(np.array([1, 4]))
    assert queues.shares(both).tolist() == [2 / 3, 1 / 3]  # one of a, though four of b lie behind it
    queues.take(np.array([7, 0]))
    lately = np.array([4, 2]) + 1  # the latter half of the twelve
    assert np.allclose(queues.shares(both), lately / lately.sum())


def test_what_is_not_asked_for_any_more_is_passed_over():
    made = [(("a",), None), (("b",), None)] * 5
    queues = Queues(log := Attempts.from_plays(made), log.first)
    queues.take(np.array([3, 0]))
    queues.shares(np.array([True, False]))
    assert queues.read.tolist() == [3, 3]
    assert queues.left.tolist() == [2, 2]


@given(plays())
def test_pairs_are_requests_with_these_two_offered_first(made):
    log = Attempts.from_plays(made, options="abcd")
    with_two = [(order, hit) for order, hit in made if len(order) > 1]
    if not with_two:
        return
    pairs = PairQueues(log)
    assert pairs.left.sum() == len(with_two)
    for order in {order[:2] for order, _ in with_two}:
        hits = [hit for other, hit in with_two if other[:2] == order]
        ends = [sum(hit == option for hit in hits[:-1]) for option in order]
        numbers = np.array([["abcd".index(option) for option in order], [-1, -1]])
        found = pairs.hits(numbers, np.array([len(hits) - 1, 0]))
        assert found.tolist() == [ends, [0, 0]]
        assert pairs.hits(numbers, np.array([2, 0])) is None
        assert pairs.hits(numbers, np.array([1, 0])).tolist()[0] == [int(hits[-1] == option) for option in order]


def test_a_pair_that_is_asked_for_twice_goes_on_where_it_was():
    pairs = PairQueues(Attempts.from_plays([(("a", "b"), hit) for hit in ("a", "b", None, "a")]))
    twice = np.array([[0, 1], [0, 1]])
    assert pairs.hits(twice, np.array([1, 2])).tolist() == [[1, 0], [0, 1]]
    assert pairs.hits(twice, np.array([1, 1])) is None
    assert pairs.hits(twice, np.array([0, 1])).tolist() == [[0, 0], [1, 0]]
    assert pairs.requests_read() == 4


# ---------------------------------------------------------------------------------------------------------- as a world


def queues_of(*queues: str) -> Queues:
    """A log of one attempt a request, whose options did as these digits say."""
    option = np.repeat(np.arange(len(queues)), [len(queue) for queue in queues]).astype(np.int32)
    success = np.array([digit == "1" for queue in queues for digit in queue], dtype=bool)
    log = AttemptLog(tuple(range(len(queues))), np.arange(option.size, dtype=np.int32), option, success)
    return Queues(log, np.arange(option.size))


def test_outcomes_are_read_once_and_in_order():
    queues = queues_of("1100", "0101")
    assert queues.successes(np.array([[3, 1]])).tolist() == [[2, 0]]
    assert queues.left.tolist() == [1, 3]
    assert queues.successes_left.tolist() == [0, 2]
    assert queues.successes_of(np.array([1]), np.array([2])).tolist() == [1]
    assert queues.successes(np.array([[1, 1]])).tolist() == [[0, 1]]
    assert queues.left.tolist() == queues.successes_left.tolist() == [0, 0]


def test_a_play_goes_on_where_the_options_before_it_failed():
    """Three plays of options 1 and 0: the second of option 1 succeeds, so option 0 is tried twice."""
    queues = queues_of("011", "0101", "1")
    assert queues.hits(np.array([[1, 0, -1]]), np.array([3])).tolist() == [[1, 1, 0]]
    assert queues.left.tolist() == [1, 1, 1]


def test_more_than_there_is_cannot_be_read():
    with pytest.raises(IndexError, match="the log has 1 more samples of option 1, not 2"):
        queues_of("01", "0").successes(np.array([[1, 2]]))


@pytest.mark.parametrize(
    "linkage", [each for each in LINKAGES.values() if each.name != "suffix"], ids=lambda linkage: linkage.name
)
@given(queues=st.lists(st.text("01", max_size=12), min_size=2, max_size=4))
def test_they_fulfil_needs_under_every_linkage_that_tries_no_more(linkage, queues):
    """All of every queue: the counts are those of the queues, whatever the plays."""
    needs = np.array([[len(queue) for queue in queues]])
    world = queues_of(*queues)
    step = fulfil(Needs(needs), np.array([1000]), len(queues), linkage, world)
    assert step.counts.samples.tolist() == needs.tolist()
    assert step.counts.successes.tolist() == [[queue.count("1") for queue in queues]]
    assert max(map(len, queues)) <= step.plays[0] <= needs.sum()
    assert not world.left.any()
