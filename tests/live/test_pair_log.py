"""Requests by the two arms that were offered first, each read once and in its order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.live import WarmStart
from linkedbandits.live.pair_log import PairLog
from tests.attempts.test_log import plays as made_plays


@given(made_plays("abc"), st.lists(st.tuples(st.permutations([0, 1, 2]), st.integers(0, 4)), max_size=8))
def test_pairs_are_read_in_the_order_of_the_log_and_once(made, asked):
    log = lb.Attempts.from_plays(made, options="abc")
    if not made or min(len(order) for order, _ in made) < 2:
        with pytest.raises(lb.InvalidAttempts, match=r"offered second|cut off"):
            WarmStart.of(log, "abc", "duels", "refuse")
        return
    pairs = WarmStart.of(log, "abc", "duels", "refuse").pairs()
    rows: dict[tuple[int, int], list[int]] = {}
    for order, hit in made:
        if len(order) > 1:
            end = order[:2].index(hit) if hit in order[:2] else 2
            rows.setdefault(("abc".index(order[0]), "abc".index(order[1])), []).append(end)
    assert pairs.size == sum(map(len, rows.values()))
    samples = np.zeros(3, dtype=int)
    for (first, second, _), most in asked:
        row = rows.get((first, second), [])
        expected, rows[first, second] = row[:most], row[most:]
        assert pairs.take(np.array([first, second]), most).tolist() == [expected.count(end) for end in range(3)]
        samples[first] += len(expected)
        samples[second] += len(expected) - expected.count(0)
    assert pairs.counts()[0].tolist() == samples.tolist()
    assert pairs.read == pairs.size - sum(map(len, rows.values()))


def test_an_empty_log_of_pairs_has_nothing():
    nothing = np.zeros(0, dtype=np.int64)
    assert PairLog(3, nothing, nothing, nothing).take(np.array([0, 1]), 4).tolist() == [0, 0, 0]


def test_it_goes_on_from_where_it_was():
    first, second, ends = np.array([0, 1, 0, 0]), np.array([1, 0, 1, 1]), np.array([1, 0, 2, 0])
    log = PairLog(2, first, second, ends)
    log.take(np.array([0, 1]), 2)
    again = PairLog(2, first, second, ends, log.positions())
    assert (again.read, again.size) == (2, 4)
    assert [part.tolist() for part in again.counts()] == [part.tolist() for part in log.counts()] == [[2, 2], [0, 1]]
    assert again.take(np.array([0, 1]), 9).tolist() == [1, 0, 0]
    assert again.take(np.array([0]), 9).tolist() == [0, 0, 0]
