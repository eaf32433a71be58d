"""When to look."""

from __future__ import annotations

import numpy as np
import pytest

from linkedbandits.model import COUNT_LIMIT
from linkedbandits.stopping.looks import batch, next_look


def test_looks_begin_at_the_first_and_are_a_twentieth_apart():
    assert next_look(np.array([0, 100, 101, 1000]), first=37).tolist() == [37, 105, 107, 1050]


def test_looks_always_move_on_and_overshoot_by_at_most_the_growth():
    looks = [1]
    while looks[-1] < 10**12:
        looks.append(int(next_look(np.array(looks[-1]), first=1)))
    earlier, later = np.array(looks[:-1]), np.array(looks[1:])
    assert (later > earlier).all()
    assert (later <= 1.05 * earlier + 1).all()


def test_looks_stop_at_the_largest_count():
    assert next_look(np.array([COUNT_LIMIT - 1, COUNT_LIMIT]), first=1).tolist() == [COUNT_LIMIT] * 2


@pytest.mark.parametrize(("count", "asked"), [(0, 1), (1, 1), (39, 1), (40, 2), (59, 2), (60, 3), (1000, 50)])
def test_batches_are_single_at_first_and_then_a_twentieth(count, asked):
    assert batch(np.array([count])).tolist() == [asked]
