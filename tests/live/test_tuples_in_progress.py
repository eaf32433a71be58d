"""Several tuples, played one by one in an order drawn at random."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np

import linkedbandits as lb
from linkedbandits.linkage import LINKAGES
from linkedbandits.live.requests import AT_A_TIME, TuplesInProgress, begin, resume
from linkedbandits.model import Tuples

TUPLES = [np.array([0, 1]), np.array([1, 0]), np.array([2])]


def request(times=(3, 4, 0)):
    return TuplesInProgress(TUPLES, list(times), 3, shuffle=2**63 + 5)


def handed_out(progress, most=10**6):
    out = []
    while len(out) < most and (arms := progress.hand_out()) is not None:
        out.append(arms)
    return out


def test_every_tuple_comes_as_often_as_asked():
    out = handed_out(request())
    assert Counter(tuple(arms) for arms in out) == {(0, 1): 3, (1, 0): 4}
    many = handed_out(request((3 * AT_A_TIME, 100, AT_A_TIME)))
    assert Counter(tuple(arms) for arms in many) == {(0, 1): 3 * AT_A_TIME, (1, 0): 100, (2,): AT_A_TIME}
    assert len({tuple(arms) for arms in many[: AT_A_TIME // 2]}) == 3


def test_what_comes_back_is_counted_by_tuple():
    progress = request()
    for arms in handed_out(progress):
        assert not progress.fulfilled
        hit = arms[0] == 1  # the first of (1, 0); (0, 1) fails altogether
        progress.bring(arms, 1 if hit else 2, hit)
    assert progress.fulfilled
    counts = progress.counts()
    assert counts.samples.tolist() == [[3, 7, 0]]
    assert counts.successes.tolist() == [[0, 4, 0]]
    assert counts.hits.tolist() == [[[0, 0], [4, 0], [0, 0]]]


def test_a_play_that_is_lost_is_made_again():
    progress = request()
    out = handed_out(progress)
    progress.take_back(out[2])
    again = handed_out(progress)
    assert [arms.tolist() for arms in again] == [out[2].tolist()]
    assert progress.hand_out() is None


def test_it_goes_on_where_it_was_saved():
    straight, saved = request((30, 40, 5)), request((30, 40, 5))
    for _ in range(20):
        one, two = straight.hand_out(), saved.hand_out()
        straight.bring(one, 2 if one.size == 2 else 1, False)
        saved.bring(two, 2 if two.size == 2 else 1, False)
        saved = resume(json.loads(json.dumps(saved.to_json())), LINKAGES["free"])
        assert straight.to_json() == saved.to_json()
    assert [a.tolist() for a in handed_out(straight)] == [a.tolist() for a in handed_out(saved)]


def test_it_begins_with_the_tuples_of_a_policy():
    order = np.array([[[0, 1], [2, -1]]])
    progress = begin(Tuples(order, np.array([[1, 2]]), np.array([7], dtype=np.uint64)), 3, LINKAGES["free"])
    assert sorted(arms.tolist() for arms in handed_out(progress)) == [[0, 1], [2], [2]]


def test_spare_plays_serve_the_requests_that_follow():
    """With many plays out at once nothing is lost, and all answers count in the order of their plays."""
    exp = lb.Experiment("abc", lb.LinkedDuels(0.05), linkage="free", seed=1)
    works = {"a": 0.7, "b": 0.3, "c": 0.2}
    chance = np.random.default_rng(1)
    out = []
    while not exp.done:
        while len(out) < 30:
            out.append(exp.ask())
        play = out.pop(int(chance.integers(len(out))))
        if chance.random() < 0.1:
            exp.abandon(play.id)
            continue
        exp.tell(play.id, next((arm for arm in play.arms if chance.random() < works[arm]), None))
        if chance.random() < 0.05:
            exp = lb.Experiment.from_json(exp.to_json())
    assert exp.recommend().arm == "a"
    assert exp.recommend().status == "confident"
