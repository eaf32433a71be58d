"""Exponentials and logarithms that are computed for several numbers at once.

Those of the C library are called number by number. These are plain arithmetic, which the compiler turns into
instructions for 4, 8 or 16 numbers; the ones in double precision are right to about the last digit.
"""

from __future__ import annotations

from math import factorial, log
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from linkedbandits.lidar.engines.compiled.compiling import machine_code


@intrinsic
def bits_of(typing_context: Any, number: Any) -> Any:
    """The bits of a number in double precision."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), code


@intrinsic
def _double(typing_context: Any, bits: Any) -> Any:
    """The number in double precision that has these bits."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), code


@intrinsic
def _single(typing_context: Any, bits: Any) -> Any:
    """The number in single precision that has these bits."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), code


@intrinsic
def _bits_single(typing_context: Any, number: Any) -> Any:
    """The bits of a number in single precision."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(32))

    return types.int32(types.float32), code


_LOG2E = 1 / log(2)
_LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
"""The logarithm of 2 in two pieces; the first has so few digits that whole multiples of it are exact."""
_LEAST_EXPONENT = -700.0
"""Of exponentials: below, they are nothing."""
_MANTISSA = 0x000FFFFFFFFFFFFF
_ONE_HALF = 0x3FE0000000000000

_LOG2E_32, _HALF_32 = np.float32(_LOG2E), np.float32(0.5)
_LN2_HIGH_32, _LN2_LOW_32 = np.float32(0.693359375), np.float32(-2.12194440e-4)
_LEAST_EXPONENT_32 = np.float32(-87.0)
_EXP_32 = tuple(np.float32(1 / number) for number in (720, 120, 24, 6, 2))
_EXP2_32 = tuple(np.float32(log(2) ** power / factorial(power)) for power in (5, 4, 3, 2, 1))
_LOG_32 = tuple(np.float32(2 / number) for number in (9, 7, 5, 3))
_LN2_32, _ROOT_HALF_32 = np.float32(log(2)), np.float32(0.7071067811865476)
_ZERO_32, _ONE_32, _TWO_32 = np.float32(0.0), np.float32(1.0), np.float32(2.0)


@machine_code
def in_order(x: Any) -> Any:
    """A whole number for one in single precision, in the same order: the largest is found several at a time."""
    bits = _bits_single(x)
    return np.int32(bits ^ ((bits >> np.int32(31)) & np.int32(0x7FFFFFFF)))


@machine_code
def out_of_order(bits: Any) -> Any:
    """The number that has this place in the order."""
    return _single(np.int32(bits ^ ((bits >> np.int32(31)) & np.int32(0x7FFFFFFF))))


@machine_code
def exp_single(x: Any) -> Any:
    """The exponential of a number in single precision that is not above 80; below -87, next to nothing."""
    x = max(x, _LEAST_EXPONENT_32)
    whole = np.floor(x * _LOG2E_32 + _HALF_32)
    rest = x - whole * _LN2_HIGH_32 - whole * _LN2_LOW_32
    series = _EXP_32[0]
    series = series * rest + _EXP_32[1]
    series = series * rest + _EXP_32[2]
    series = series * rest + _EXP_32[3]
    series = series * rest + _EXP_32[4]
    series = (series * rest + _ONE_32) * rest + _ONE_32
    return series * _single(np.int32((np.int32(whole) + np.int32(127)) << np.int32(23)))


@machine_code
def exp2_single(x: Any) -> Any:
    """2 to the power of a number in single precision between -126 and 126, right to about 3e-6."""
    whole = np.rint(x)
    rest = x - whole
    series = _EXP2_32[0]
    series = series * rest + _EXP2_32[1]
    series = series * rest + _EXP2_32[2]
    series = series * rest + _EXP2_32[3]
    series = (series * rest + _EXP2_32[4]) * rest + _ONE_32
    return series * _single(np.int32((np.int32(whole) + np.int32(127)) << np.int32(23)))


@machine_code
def _exp_less_one(x: float) -> float:
    """exp(x) - 1 for x between -0.35 and 0.35: Taylor's series, in pieces that need not wait for each other."""
    square = x * x
    fourth = square * square
    first = (1 / 2.0 + x * (1 / 6.0)) + square * (1 / 24.0 + x * (1 / 120.0))
    second = (1 / 720.0 + x * (1 / 5040.0)) + square * (1 / 40320.0 + x * (1 / 362880.0))
    third = (1 / 3628800.0 + x * (1 / 39916800.0)) + square * (1 / 479001600.0 + x * (1 / 6227020800.0))
    return (first + fourth * (second + fourth * third)) * square + x


@machine_code
def _power_of_two(whole: float) -> float:
    return _double((np.int64(np.int32(whole)) + np.int64(1023)) << np.int64(52))


@machine_code
def exp(x: float) -> float:
    """The exponential of a number that is not above 700; below -700, next to nothing."""
    x = max(x, _LEAST_EXPONENT)
    whole = np.floor(x * _LOG2E + 0.5)
    rest = x - whole * _LN2_HIGH - whole * _LN2_LOW
    return _power_of_two(whole) * (1.0 + _exp_less_one(rest))


@machine_code
def firing(rate: float) -> float:
    """The chance that a bin of this rate, at least 0, fires: 1 - exp(-rate)."""
    x = max(-rate, _LEAST_EXPONENT)
    whole = np.floor(x * _LOG2E + 0.5)
    rest = x - whole * _LN2_HIGH - whole * _LN2_LOW
    scale = _power_of_two(whole)
    return (1.0 - scale) - scale * _exp_less_one(rest)


@machine_code
def logarithm(x: float) -> float:
    """The natural logarithm of a number above 1e-300."""
    bits = bits_of(x)
    mantissa = _double((bits & np.int64(_MANTISSA)) | np.int64(_ONE_HALF))  # from a half to one
    exponent = np.float64(np.int32((bits >> np.int64(52)) - np.int64(1022)))
    small = mantissa < 0.7071067811865476
    mantissa = mantissa + mantissa if small else mantissa
    exponent = exponent - 1.0 if small else exponent
    part = (mantissa - 1.0) / (mantissa + 1.0)
    square = part * part
    fourth = square * square
    first = (2 / 3.0 + square * (2 / 5.0)) + fourth * (2 / 7.0 + square * (2 / 9.0))
    second = (2 / 11.0 + square * (2 / 13.0)) + fourth * (2 / 15.0 + square * (2 / 17.0))
    series = first + fourth * fourth * (second + fourth * fourth * (2 / 19.0 + square * (2 / 21.0)))
    return exponent * _LN2_HIGH + (exponent * _LN2_LOW + (series * square * part + 2.0 * part))


@machine_code
def log_of_more(x: Any) -> Any:
    """The natural logarithm of 1 + x, for x in single precision from -0.9999999 on, however small x is.

    1 + x would round what is small to about 1e-7. So where 1 + x is near 1, x itself goes into the series.
    """
    bits = _bits_single(_ONE_32 + x)
    mantissa = _single((bits & np.int32(0x007FFFFF)) | np.int32(0x3F000000))  # from a half to one
    exponent = np.float32((bits >> np.int32(23)) - np.int32(126))
    small = mantissa < _ROOT_HALF_32
    mantissa = mantissa + mantissa if small else mantissa
    exponent = exponent - _ONE_32 if small else exponent
    near = exponent == _ZERO_32
    above, below = (x if near else mantissa - _ONE_32), (_TWO_32 + x if near else mantissa + _ONE_32)
    part = above / below
    square = part * part
    series = _LOG_32[0]
    series = series * square + _LOG_32[1]
    series = series * square + _LOG_32[2]
    series = series * square + _LOG_32[3]
    return exponent * _LN2_32 + (series * square * part + _TWO_32 * part)
