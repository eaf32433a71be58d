"""A log answers requests from one queue an arm, each outcome once and in its order."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.linkage import LINKAGES, fulfil
from linkedbandits.log_world import LogWorld
from linkedbandits.model import Needs

QUEUES = st.lists(st.lists(st.booleans(), max_size=12), min_size=2, max_size=4)


def log_of(*queues: str) -> LogWorld:
    return LogWorld([np.array([letter == "1" for letter in queue], dtype=bool) for queue in queues])


def rest_of(log: LogWorld) -> list[list[int]]:
    """What is left, read one by one."""
    arms = range(log.left.size)
    return [[int(log.successes_of(np.array([arm]), np.array([1]))[0]) for _ in range(log.left[arm])] for arm in arms]


def test_outcomes_are_read_once_and_in_order():
    log = log_of("1100", "0101")
    assert log.successes(np.array([[3, 1]])).tolist() == [[2, 0]]
    assert log.left.tolist() == [1, 3]
    assert log.successes_left.tolist() == [0, 2]
    assert log.successes_of(np.array([1]), np.array([2])).tolist() == [1]
    assert log.successes(np.array([[1, 1]])).tolist() == [[0, 1]]
    assert log.left.tolist() == log.successes_left.tolist() == [0, 0]


def test_a_play_goes_on_where_the_arms_before_it_failed():
    """Three plays of arms 1 and 0: the second of arm 1 succeeds, so arm 0 is tried twice."""
    log = log_of("011", "0101", "1")
    assert log.hits(np.array([[1, 0, -1]]), np.array([3])).tolist() == [[1, 1, 0]]
    assert log.left.tolist() == [1, 1, 1]


def test_more_than_there_is_cannot_be_read():
    with pytest.raises(lb.InvalidNeeds, match="the log has 1 more samples of arm 1, not 2; ask for fewer"):
        log_of("01", "0").successes(np.array([[1, 2]]))


EXACT = [linkage for linkage in LINKAGES.values() if linkage.name != "suffix"]
"""Plays from some arm on try more than is needed, which a log that has just that cannot answer."""


@pytest.mark.parametrize("linkage", EXACT, ids=lambda linkage: linkage.name)
@given(queues=QUEUES)
def test_it_fulfils_needs_under_every_linkage_that_tries_no_more(linkage, queues):
    """All of every queue: the counts are those of the queues, whatever the plays."""
    needs = np.array([[len(queue) for queue in queues]])
    log = LogWorld([np.array(queue, dtype=bool) for queue in queues])
    step = fulfil(Needs(needs), np.array([1000]), len(queues), linkage, log)
    assert step.counts.samples.tolist() == needs.tolist()
    assert step.counts.successes.tolist() == [[sum(queue) for queue in queues]]
    assert max(map(len, queues)) <= step.plays[0] <= needs.sum()
    assert not log.left.any()


@given(queues=QUEUES, data=st.data())
def test_what_is_left_survives_json(queues, data):
    log = LogWorld([np.array(queue, dtype=bool) for queue in queues])
    log.successes(np.array([[data.draw(st.integers(0, len(queue))) for queue in queues]]))
    again = LogWorld.from_json(json.loads(json.dumps(log.to_json())))
    assert again.left.tolist() == log.left.tolist()
    assert again.successes_left.tolist() == log.successes_left.tolist()
    assert rest_of(again) == rest_of(log)
