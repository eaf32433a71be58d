"""The one-dimensional search: parabolas, kinks, steep walls, and the bound that it proves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkedbandits.bounds.convex_search import minimise_convex


@given(
    st.lists(st.tuples(st.floats(0.1, 100), st.floats(0.1, 100)), min_size=1, max_size=5),
    st.floats(0, 10),
    st.floats(0.001, 1000),
)
def test_the_largest_of_several_valleys(pieces, floor, start):
    """max of a/(s - floor) + b s: smooth, with kinks wherever two pieces meet."""

    def valley(point: float) -> tuple[float, float]:
        above = point - floor
        value, a, b = max((a / above + b * point, a, b) for a, b in pieces)
        return value, b - a / above**2

    found = minimise_convex(valley, floor, floor + start, 1e-10)
    grid = floor + np.geomspace(1e-3, 1e3, 4001)
    least = min(valley(float(point))[0] for point in grid)
    assert found.at_least <= found.value <= least * (1 + 1e-9)
    assert found.at_least == pytest.approx(found.value, rel=1e-8)
    assert valley(found.point)[0] == found.value


def test_a_flat_bottom_ends_the_search():
    found = minimise_convex(lambda s: (max(3 - s, 1.0, s - 7), -1.0 if s < 2 else 1.0 if s > 8 else 0.0), 0.0, 1.0, 0.0)
    assert found.value == found.at_least == 1.0


def test_few_looks_are_enough():
    looks = []

    def valley(point: float) -> tuple[float, float]:
        looks.append(point)
        return point + 4 / point, 1 - 4 / point**2

    minimise_convex(valley, 0.0, 0.1, 1e-10)
    assert len(looks) < 15
