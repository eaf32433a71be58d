"""After the verdict a share of calls is watched."""

from __future__ import annotations

from collections import Counter

from linkedbandits.chain.watching import Watch

ORDER = ("c", "a", "b", "d")


def test_the_share_begins_with_another_option_each_as_likely_as_any():
    draws = [number / 1200 for number in range(1200)]
    watch = Watch(0.1, iter(draws).__next__)
    assert Counter(watch.order_for(ORDER) for _ in draws) == {
        None: 1080,
        ("a", "c", "b", "d"): 40,
        ("b", "c", "a", "d"): 40,
        ("d", "c", "a", "b"): 40,
    }


def test_without_a_share_nothing_is_drawn():
    assert Watch(0.0, iter(()).__next__).order_for(ORDER) is None
