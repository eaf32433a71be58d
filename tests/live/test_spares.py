"""Spare plays: claimed in the order handed out, by the requests that need them, once."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkedbandits.live.answer_log import NO_HIT, TupleTable
from linkedbandits.live.spares import Spares


def array(*arms: int) -> np.ndarray:
    return np.array(arms, dtype=np.int64)


def test_samples_come_from_the_plays_handed_out_first():
    spares = Spares(3)
    for play in (4, 5, 6):
        spares.put(play, array(0, 1, 2))
    spares.come_back(6, 3, NO_HIT)
    spares.come_back(5, 2, 1)
    claim = spares.claim_samples(array(2, 2, 1))
    assert (claim.plays, claim.back) == (2, 1)
    assert claim.spoken_for.tolist() == [2, 2, 1]
    assert claim.samples.tolist() == [1, 1, 0]
    assert claim.successes.tolist() == [0, 1, 0]
    assert claim.out == [(4, None)]
    assert spares.plays == [6]


def test_a_play_that_is_out_may_speak_for_some_of_its_arms():
    spares = Spares(3)
    spares.put(1, array(2, 0))
    [(play, arms)] = spares.claim_samples(array(1, 1, 0)).out
    assert (play, arms.tolist()) == (1, [0])
    spares.come_back(1, 1, 2)
    claim = spares.claim_samples(array(5, 5, 5))
    assert (claim.samples.tolist(), claim.successes.tolist()) == ([0, 0, 1], [0, 0, 1])
    assert len(spares) == 0


def test_tuples_are_claimed_whole_and_only_the_very_same():
    spares = Spares(3)
    for play, arms in enumerate([(0, 1), (1, 0), (0, 1), (0, 1)]):
        spares.put(play, array(*arms))
    spares.come_back(2, 1, 0)
    claim = spares.claim_tuples(array(0, 1), 2)
    assert (claim.plays, claim.back, claim.out) == (2, 1, [(0, None)])
    assert (claim.samples.tolist(), claim.successes.tolist()) == ([1, 0, 0], [1, 0, 0])
    assert spares.plays == [1, 3]


def test_a_play_of_which_something_was_claimed_is_no_whole_tuple_any_more():
    spares = Spares(2)
    spares.put(0, array(0, 1))
    spares.claim_samples(array(1, 0))
    assert spares.claim_tuples(array(0, 1), 1).plays == 0


@pytest.mark.parametrize("requests", [9_999, 10_000, 10_001])
def test_a_spare_play_is_kept_for_ten_thousand_requests(requests):
    spares = Spares(1)
    spares.put(7, array(0))
    for _ in range(requests):
        spares.begin_request()
    assert spares.claim_samples(array(1)).plays == (requests <= 10_000)


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("back", [False, True])
def test_age_is_counted_in_requests_and_in_nothing_else(monkeypatch, back, saved):
    """Neither an answer nor a save nor what is handed out behind it makes a play older or younger."""
    monkeypatch.setattr("linkedbandits.live.spares.MOST_SPARES", 3)
    spares = Spares(2)
    spares.put(0, array(0))
    if back:
        spares.come_back(0, 1, 0)
    for play in range(1, 40):
        spares.put(play, array(1))
        spares.claim_samples(array(0, 1))
    for _ in range(3):
        spares.begin_request()
    if saved:
        tuples = TupleTable()
        spares = Spares.from_json(spares.to_json(tuples), 2, tuples)
    assert spares.claim_samples(array(0, 0)).plays == 0
    assert spares.plays == [0]
    spares.begin_request()
    assert spares.claim_samples(array(1, 0)).plays == 0


def test_a_play_handed_out_while_there_are_many_is_no_spare_and_those_before_it_are_kept(monkeypatch):
    """It is decided before anything of it is known; what comes later never decides what counts of those before."""
    monkeypatch.setattr("linkedbandits.live.spares.MOST_SPARES", 3)
    spares = Spares(2)
    for play in range(6):
        spares.put(play, array(0, 1))
    assert spares.plays == [0, 1, 2]
    spares.come_back(4, 1, 0)  # nothing, for it is none
    spares.give_up(1)
    spares.put(6, array(0, 1))  # there is room again
    assert spares.plays == [0, 2, 6]
    assert [play for play, _ in spares.claim_samples(array(9, 9)).out] == [0, 2, 6]


def test_what_is_given_up_is_not_claimed():
    spares = Spares(2)
    spares.put(0, array(0, 1))
    spares.put(1, array(0, 1))
    spares.give_up(0)
    assert spares.claim_samples(array(1, 1)).out == [(1, None)]


def test_what_is_given_up_is_not_claimed_as_a_tuple():
    spares = Spares(2)
    for play in range(3):
        spares.put(play, array(0, 1))
    spares.give_up(0)
    assert len(spares) == 2
    assert spares.claim_tuples(array(0, 1), 1).out == [(1, None)]
    assert spares.plays == [2]


@given(
    plays=st.lists(
        st.tuples(st.permutations(range(4)), st.integers(1, 4), st.integers(0, 4), st.booleans()), max_size=30
    ),
    needs=st.lists(st.integers(0, 12), min_size=4, max_size=4),
)
def test_arm_by_arm_it_is_what_a_walk_over_the_plays_gives(plays, needs):
    """``plays`` are (order, how many arms of it, where it was hit, is it back)."""
    spares = Spares(4)
    expected = np.zeros((3, 4), dtype=int)  # spoken for, samples, successes
    out = {}
    for play, (order, length, reached, back) in enumerate(plays):
        arms = list(order)[:length]
        spares.put(play, array(*arms))
        hit = arms[reached] if reached < length else NO_HIT
        tried = arms[: reached + 1] if hit != NO_HIT else arms
        if back:
            spares.come_back(play, len(tried), hit)
        for arm in tried if back else arms:
            if expected[0, arm] < needs[arm]:
                expected[0, arm] += 1
                expected[1, arm] += back
                expected[2, arm] += back and arm == hit
                if not back:
                    out.setdefault(play, set()).add(arm)
    first = array(*needs) // 2
    with patch("linkedbandits.live.spares._ROWS_AT_FIRST", 4):  # so that it looks several times
        claim = spares.claim_samples(first).combine(spares.claim_samples(array(*needs) - first))
    assert [claim.spoken_for.tolist(), claim.samples.tolist(), claim.successes.tolist()] == expected.tolist()
    spoken = {}
    for play, arms in claim.out:
        spoken.setdefault(play, set()).update(list(plays[play][0])[: plays[play][1]] if arms is None else arms)
    assert spoken == out
