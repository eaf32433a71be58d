"""After the verdict a share of calls is watched."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from linkedbandits.attempts.alarms import watch
from linkedbandits.chain.watching import Watch

ORDER = ("c", "a", "b", "d")


def watch_with(draws, share: float = 0.25) -> Watch:
    return Watch(("a", "b", "c", "d"), share, iter(draws).__next__)


def test_the_share_begins_with_another_option_and_as_many_with_the_best():
    draws = [number / 1200 for number in range(1200)]
    one = watch_with(draws, share=0.1)
    orders = [one.order_for(ORDER) for _ in draws]
    assert Counter(None if found is None else found[1] for found in orders) == {None: 960, False: 120, True: 120}
    firsts = Counter(found[0][0] for found in orders if found is not None and found[1])
    assert firsts == {"a": 40, "b": 40, "d": 40}
    assert {found[0] for found in orders if found is not None} == {
        ("c", "a", "b", "d"),
        ("a", "c", "b", "d"),
        ("b", "c", "a", "d"),
        ("d", "c", "a", "b"),
    }


def test_without_a_share_nothing_is_drawn():
    assert watch_with([], share=0.0).order_for(ORDER) is None


def test_what_is_watched_is_a_log():
    one = watch_with([])
    one.add(("c", "a", "b", "d"), "a")
    one.add(("a", "c", "b", "d"), None)
    assert len(one) == 2
    log = one.attempts()
    assert log.options == ("a", "b", "c", "d")
    assert log.plays() == [(("c", "a"), "a"), (("a", "c", "b", "d"), None)]


@pytest.mark.statistical
def test_a_best_option_that_gets_worse_is_noticed():
    """Its share of successes drops from 0.9 to 0.6 in the middle of 2,000 calls: missed with less than 10^-6."""
    one = Watch.seeded(("a", "b"), 0.5, 1)
    luck = Watch.seeded(("a", "b"), 0.5, 2)._draw
    for number in itertools.count():
        order, _ = one.order_for(("a", "b"))
        works = {"a": luck() < (0.9 if number < 1000 else 0.6), "b": luck() < 0.5}
        one.add(order, next((option for option in order if works[option]), None))
        if number == 2000:
            break
    assert ("drift", "a") in [(alarm.kind, alarm.option) for alarm in watch(one.attempts(), 0.01)]
