"""Randomness of machine code, which has whole numbers of its own, is that of the reference."""

import numpy as np
import pytest

pytest.importorskip("numba")

from linkedbandits.lidar.engines.compiled.counting import exponential, uniform
from linkedbandits.lidar.engines.counter import exponentials, key_of, uniforms
from tests.support.kept_machine_code import kept


@kept
def in_a_row(key, pixel, first, count):
    four, out = np.zeros(4, np.uint64), np.empty((2, count))
    for i in range(count):
        out[0, i] = uniform(four, key, pixel, 2, first + i, i == 0)
    for i in range(count):
        out[1, i] = exponential(four, key, pixel, 1, first + i, i == 0)
    return out


def test_machine_code_counts_as_the_reference_does():
    low, high = key_of(5)
    even, light = in_a_row(np.uint64(low | high << 32), np.uint64(2**33 + 5), 3, 20)
    numbers = np.arange(3, 23)
    np.testing.assert_array_equal(even, uniforms((low, high), 2**33 + 5, 2, numbers))
    np.testing.assert_allclose(light, exponentials((low, high), 2**33 + 5, 1, numbers), rtol=1e-14)
