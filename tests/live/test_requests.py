"""Requests that take from a log what it has, and ask for the rest."""

from __future__ import annotations

import json

import numpy as np

from linkedbandits.linkage import find_linkage
from linkedbandits.live.requests import begin, counts_in, is_of, resume
from linkedbandits.live.spares import Spares
from linkedbandits.model import Needs, Repeats
from linkedbandits.world import LogWorld

ORDERED = find_linkage("ordered")


def log_of(*queues: str) -> LogWorld:
    return LogWorld([np.array([letter == "1" for letter in queue], dtype=bool) for queue in queues])


def counts(request) -> tuple[list[int], list[int]]:
    brought = request.counts()
    return brought.samples[0].tolist(), brought.successes[0].tolist()


def needs(samples: list[int], log: LogWorld):
    return begin(Needs(np.array([samples])), 3, ORDERED, log)


def repeats(order: list[int], times: int, log: LogWorld):
    return begin(Repeats(np.array([order]), np.array([times])), 3, ORDERED, log)


def test_needs_that_a_log_meets_are_fulfilled_and_say_what_they_took():
    log = log_of("10", "001", "1")
    request = needs([2, 3, 1], log)
    assert request.fulfilled
    assert counts(request) == ([2, 3, 1], [1, 1, 1])
    assert request.counts().plays.tolist() == [4]
    assert not log.left.any()


def test_of_needs_only_what_the_log_has_not_is_played():
    log = log_of("1", "0011", "")
    request = needs([2, 3, 0], log)
    assert counts(request) == ([1, 3, 0], [1, 1, 0])
    assert request.counts().plays is None
    assert log.left.tolist() == [0, 1, 0]
    assert request.hand_out().tolist() == [0]
    assert request.hand_out() is None
    request.bring(np.array([0]), 1, False)
    assert request.fulfilled


def test_a_tuple_is_read_arm_by_arm_as_far_as_the_log_goes():
    """Five plays of 0, 1, 2: two end with 0; three go on to 1, of which the log has two, a success and a failure."""
    request = repeats([0, 1, 2], 5, log_of("01010", "10", "0"))
    assert counts(request) == ([5, 2, 1], [2, 1, 0])
    assert not request.fulfilled
    assert request.hand_out().tolist() == [1, 2]  # the log has nothing more of either
    assert request.hand_out() is None
    request.bring(np.array([1, 2]), 2, True)
    assert request.fulfilled
    assert counts(request) == ([5, 3, 2], [2, 1, 1])


def test_a_tuple_that_a_log_answers_whole_took_as_many_plays_as_asked():
    request = repeats([2, 0, -1], 2, log_of("1", "", "01"))
    assert request.fulfilled
    assert request.counts().plays.tolist() == [2]


def test_a_play_comes_back_to_the_log_behind_an_arm_that_was_played():
    """Of arm 0 there is nothing, of arm 1 one failure, of arm 2 nothing."""
    log = log_of("", "0", "")
    request = repeats([0, 1, 2], 1, log)
    piece = request.hand_out()
    assert piece.tolist() == [0]
    request.take_back(piece)
    assert request.hand_out().tolist() == [0]
    request.bring(piece, 1, False)
    assert not log.left.any()
    last = request.hand_out()
    assert last.tolist() == [2]
    request.bring(last, 1, False)
    assert request.fulfilled
    assert counts(request) == ([1, 1, 1], [0, 0, 0])


def test_spare_plays_of_a_tuple_wait_until_the_log_has_nothing_of_its_arms():
    spares = Spares(3)
    spares.put(7, np.array([0, 1]))
    spares.come_back(7, 1, 0)
    assert repeats([0, 1], 1, log_of("", "0", "")).claim(spares).plays == 0
    request = repeats([0, 1], 1, log_of("", "", "0"))
    assert request.claim(spares).plays == 1
    assert request.fulfilled


def test_a_tuple_that_runs_out_of_log_may_then_claim_spare_plays():
    spares = Spares(3)
    for play in (7, 8):
        spares.put(play, np.array([0, 1]))
    spares.come_back(7, 1, 0)
    request = repeats([0, 1], 3, log_of("1", "", ""))
    claim = request.claim(spares)
    assert (claim.plays, claim.back, claim.out) == (2, 1, [(8, None)])
    request.bring(np.array([0, 1]), 2, False)
    assert request.fulfilled
    assert counts(request) == ([3, 1, 0], [2, 0, 0])


def test_a_tuple_half_read_survives_json():
    log = log_of("0101", "1", "0")
    request = repeats([0, 1, 2], 6, log)
    request.hand_out()
    data = json.loads(json.dumps(request.to_json()))
    again = resume(data, ORDERED, log)
    assert again.to_json() == request.to_json()
    assert counts(again) == counts(request) == tuple(array.tolist() for array in counts_in(data))
    assert again.hand_out().tolist() == request.hand_out().tolist()
    assert is_of(data, Repeats(np.array([[0, 1, 2, -1]]), np.array([9])))
    assert not is_of(data, Repeats(np.array([[0, 2]]), np.array([9])))
    assert not is_of(data, Needs(np.array([[0, 1, 2]])))


def test_needs_are_known_again_by_what_they_asked_for():
    data = json.loads(json.dumps(needs([2, 3, 0], log_of("1", "", "")).to_json()))
    assert [array.tolist() for array in counts_in(data)] == [[1, 0, 0], [1, 0, 0]]
    assert is_of(data, Needs(np.array([[2, 3, 0]])))
    assert not is_of(data, Needs(np.array([[2, 3, 1]])))


def test_behind_a_piece_nothing_counts_for_the_policy():
    """One play of all three arms; the log has an outcome of the second alone, so the first and the last are played."""
    log = LogWorld([np.zeros(count, dtype=bool) for count in (0, 1, 0)])
    request = begin(Repeats(np.array([[0, 1, 2]]), np.array([1])), 3, find_linkage("suffix"), log)
    arms = request.hand_out()
    assert (arms.tolist(), request.claimed.tolist()) == ([0, 1, 2], [0])
    request.bring_claimed(request.claimed, arms, reached=2, hit=True)  # a hit of the second is none of the first
    assert request.counts().samples.tolist() == [[1, 1, 0]]
    assert request.counts().successes.tolist() == [[0, 0, 0]]
    arms = request.hand_out()
    assert (arms.tolist(), request.claimed) == ([2], None)
    request.bring(arms, reached=1, hit=True)
    assert request.fulfilled
    assert request.counts().successes.tolist() == [[0, 0, 1]]
