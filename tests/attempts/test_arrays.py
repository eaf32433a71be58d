"""Arrays that grow, and the lines that they come from."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from linkedbandits.attempts.arrays import LineNumbers, Parts, ranges


def test_parts_become_whole_once():
    parts = Parts()
    parts.add(one=np.array([1, 2]), other=None)
    parts.add(one=np.array([3]), other=None)
    assert parts.take("one").tolist() == [1, 2, 3]
    assert parts.take("one") is None
    assert parts.take("other") is None


@given(st.lists(st.lists(st.integers(1, 4), max_size=6), max_size=6))
def test_lines_are_those_that_were_added(steps):
    lines, line, expected = LineNumbers(), 0, []
    for part in steps:
        here = []
        for step in part:
            line += step
            here.append(line)
        lines.add(np.array(here, dtype=np.int64))
        expected += here
    assert lines.rows == len(expected)
    assert lines.of(np.arange(len(expected))).tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5)), max_size=8))
def test_ranges_one_after_the_other(pairs):
    begins = np.array([begin for begin, _ in pairs], dtype=np.int64)
    ends = begins + np.array([size for _, size in pairs], dtype=np.int64)
    assert ranges(begins, ends).tolist() == [number for begin, size in pairs for number in range(begin, begin + size)]
