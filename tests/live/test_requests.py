"""Requests that take from a log what it has, and ask for the rest."""

from __future__ import annotations

import json

import numpy as np

from linkedbandits.linkage import find_linkage
from linkedbandits.live.requests import begin, counts_in, is_of, resume
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


def test_needs_are_known_again_by_what_they_asked_for():
    data = json.loads(json.dumps(needs([2, 3, 0], log_of("1", "", "")).to_json()))
    assert [array.tolist() for array in counts_in(data)] == [[1, 0, 0], [1, 0, 0]]
    assert is_of(data, Needs(np.array([[2, 3, 0]])))
    assert not is_of(data, Needs(np.array([[2, 3, 1]])))


def test_repeats_are_a_request_of_one_tuple():
    request = begin(Repeats(np.array([[2, 0, -1]]), np.array([2])), 3, ORDERED, log_of("111", "", "111"))
    assert [request.hand_out().tolist(), request.hand_out().tolist(), request.hand_out()] == [[2, 0], [2, 0], None]
    request.bring(np.array([2, 0]), 1, True)
    again = resume(json.loads(json.dumps(request.to_json())), ORDERED)
    again.bring(np.array([2, 0]), 2, False)
    assert again.fulfilled
    assert again.counts().samples.tolist() == [[1, 0, 2]]
    assert again.counts().successes.tolist() == [[0, 0, 1]]
    assert is_of(request.to_json(), Repeats(np.array([[2, 0, -1]]), np.array([9])))
    assert not is_of(request.to_json(), Repeats(np.array([[0, 2]]), np.array([9])))
