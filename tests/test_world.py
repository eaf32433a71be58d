"""Coin flips, answered in counts; and a log, which answers from one queue an arm, each outcome once and in order."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

import linkedbandits as lb
from linkedbandits.linkage import LINKAGES, fulfil
from linkedbandits.model import Needs
from linkedbandits.streams import LaneStreams
from linkedbandits.world import CoinFlips, LogWorld


def coin_flips(means, lanes=1, seed=3):
    row = np.array(means)
    return CoinFlips(np.broadcast_to(row, (lanes, row.size)), LaneStreams(seed, row.size, range(lanes)))


def test_arms_that_always_or_never_succeed_leave_nothing_to_chance():
    world = coin_flips([1.0, 0.0, 1.0])
    assert world.successes(np.array([[5, 7, 0]])).tolist() == [[5, 0, 0]]
    assert world.successes_of(np.array([2]), np.array([9])).tolist() == [9]


@pytest.mark.parametrize(
    ("order", "hits"),
    [([1, 0, 2], [0, 8, 0]), ([1, 2, -1], [0, 0, 0]), ([1, 2, 3], [0, 0, 8]), ([3, -1, -1], [8, 0, 0])],
)
def test_a_tuple_ends_at_its_first_success_and_filled_up_places_are_never_hit(order, hits):
    world = coin_flips([1.0, 0.0, 0.0, 1.0])
    assert world.hits(np.array([order]), np.array([8])).tolist() == [hits]


def test_lanes_may_play_different_arms_and_tuples():
    world = coin_flips([1.0, 0.0], lanes=2)
    assert world.successes_of(np.array([0, 1]), np.array([4, 4])).tolist() == [4, 0]
    assert world.hits(np.array([[0, 1], [1, 0]]), np.array([3, 5])).tolist() == [[3, 0], [0, 5]]


@pytest.mark.parametrize("shared", [True, False], ids=["shared means", "means of each lane"])
def test_thinning_keeps_every_lane_its_own_means(shared):
    means = np.broadcast_to(np.array([1.0, 0.0]), (3, 2)) if shared else np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    world = CoinFlips(means, LaneStreams(3, 2, range(3)))
    world.keep(np.array([True, False, True]))
    world.keep(np.array([1]))
    assert world.successes(np.array([[6, 6]])).tolist() == [[6, 0] if shared else [0, 6]]


@pytest.mark.statistical
def test_hits_follow_the_cascade():
    """Position k is hit with probability mu_k times the product of (1 - mu) before it.

    Chi-square over 3 positions and "no hit", a million plays; false alarm 1e-6. Forgetting the product, or taking
    the means in the arms' order instead of the tuple's, moves the statistic by more than 10,000.
    """
    means = np.array([0.1, 0.3, 0.25])
    order = [2, 0, 1]
    hits = coin_flips(means, lanes=10).hits(np.tile(order, (10, 1)), np.full(10, 100_000)).sum(axis=0)
    seen = np.append(hits, 10**6 - hits.sum())
    expected = 10**6 * np.array([0.25, 0.75 * 0.1, 0.75 * 0.9 * 0.3, 0.75 * 0.9 * 0.7])
    assert ((seen - expected) ** 2 / expected).sum() < chi2.isf(1e-6, df=3)


@pytest.mark.statistical
def test_successes_are_binomial():
    """Mean and variance over 20,000 lanes; 5 standard errors each, so the false alarm is below 3e-6 for all six.

    Giving every lane the same draw, or one arm the mean of another, is off by tens of standard errors.
    """
    means, lanes, need = np.array([0.05, 0.5, 0.9]), 20_000, 40
    drawn = coin_flips(means, lanes=lanes).successes(np.full((lanes, 3), need))
    variance = need * means * (1 - means)
    assert (np.abs(drawn.mean(axis=0) - need * means) < 5 * np.sqrt(variance / lanes)).all()
    assert drawn.var(axis=0) == pytest.approx(variance, rel=5 * np.sqrt(2.1 / lanes))


@pytest.mark.statistical
@pytest.mark.parametrize(("arms", "mean"), [(680, 0.05), (330, 0.1)])
def test_deep_in_a_long_tuple_the_counts_keep_their_law(arms, mean):
    """Of 4e18 plays a few thousand reach the end. Their hits must still be binomial with the arm's own mean.

    The last twenty arms have over 60,000 samples, and the limit is five standard errors (false alarm below 1e-6). As
    one multinomial, the rounding of 1 - (what came before) spoils the share of hits there.
    """
    times = np.array([4 * 10**18])
    world = CoinFlips(np.full((1, arms), mean), LaneStreams(3, arms, range(1)))
    hits = world.hits(np.arange(arms)[np.newaxis], times)[0]
    tried = times[0] - (np.cumsum(hits) - hits)
    assert tried[-1] == pytest.approx(4e18 * (1 - mean) ** (arms - 1), rel=0.2)
    samples, successes = int(tried[-20:].sum()), int(hits[-20:].sum())
    assert abs(successes / samples - mean) < 5 * np.sqrt(mean * (1 - mean) / samples)


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
    with pytest.raises(lb.InvalidParameter, match="the log has 1 more samples of arm 1, not 2; ask for fewer"):
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
