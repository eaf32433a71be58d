import numpy as np
import pytest

pytest.importorskip("numba")

import numba

from linkedbandits.lidar.engines.compiled import arithmetic


@numba.njit(error_model="numpy")
def each(function, numbers, out):
    for i in range(numbers.size):
        out[i] = function(numbers[i])


def of_each(function, numbers):
    out = np.empty_like(numbers)
    each(function, numbers, out)
    return out


def digits_off(found, right):
    return np.max(np.abs(found - right) / np.spacing(np.abs(right)))


def test_double_precision_is_right_to_about_the_last_digit():
    generator = np.random.default_rng(1)
    rates = np.exp(generator.uniform(-20, 6, 20_000))
    assert digits_off(of_each(arithmetic.exp, -rates), np.exp(-rates)) <= 2
    assert digits_off(of_each(arithmetic.firing, rates), -np.expm1(-rates)) <= 2
    numbers = np.concatenate([np.exp(generator.uniform(-600, 600, 20_000)), generator.uniform(0.5, 2, 20_000)])
    assert digits_off(of_each(arithmetic.logarithm, numbers), np.log(numbers)) <= 4


def test_a_rate_too_large_for_an_exponential_always_fires():
    np.testing.assert_array_equal(of_each(arithmetic.firing, np.array([0.0, 1e3, 1e12])), [0.0, 1.0, 1.0])


def test_single_precision():
    numbers = np.random.default_rng(2).uniform(-85, 0, 20_000).astype(np.float32)
    np.testing.assert_allclose(of_each(arithmetic.exp_single, numbers), np.exp(numbers.astype(np.float64)), rtol=1e-6)
    numbers = np.random.default_rng(3).uniform(-80, 80, 20_000).astype(np.float32)
    np.testing.assert_allclose(of_each(arithmetic.exp2_single, numbers), np.exp2(numbers.astype(np.float64)), rtol=4e-6)


def test_logarithms_of_one_and_more_keep_the_digits_of_what_is_small():
    generator = np.random.default_rng(4)
    large, small = np.exp2(generator.uniform(-80, 80, 20_000)), np.exp2(generator.uniform(-80, -2, 20_000))
    numbers = np.concatenate([large, -small, generator.uniform(-0.999, 1.0, 20_000), [0.0]]).astype(np.float32)
    found, right = of_each(arithmetic.log_of_more, numbers), np.log1p(numbers.astype(np.float64))
    np.testing.assert_allclose(found, right, rtol=4e-7)
    assert of_each(arithmetic.log_of_more, np.float32([-0.9999999]))[0] == pytest.approx(-15.9, abs=0.1)
