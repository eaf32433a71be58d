"""Minimise a convex function of one variable from values and slopes, with a proof of how close it came.

Two tangents on either side of the minimum cross below it, so the height of their crossing is a lower bound on
every value. Steps alternate between that crossing, which is exact for a kink, and the minimum of the cubic through
both ends, which is nearly so for a smooth function: the plays of a bandit instance have minima of both kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

__all__ = ["Minimum", "minimise_convex"]

_STEP_UP = 8.0
_STEP_DOWN = 2.0
"""Towards the floor the function may grow exponentially: smaller steps keep it within floating point."""

_MAX_STEPS = 200


@dataclass(frozen=True, slots=True)
class Minimum:
    """The best point found, its value, and a number that no value is below."""

    point: float
    value: float
    at_least: float


@dataclass(frozen=True, slots=True)
class _Tangent:
    point: float
    value: float
    slope: float


def minimise_convex(
    function: Callable[[float], tuple[float, float]], floor: float, start: float, tolerance: float
) -> Minimum:
    """Minimise over the points above ``floor``, where ``function`` returns a value and a slope.

    Stops once the value is proved to be within a relative ``tolerance`` of the least one, or as close to it as
    floating point allows. The values must be positive and grow without bound towards infinity and the floor.

    >>> found = minimise_convex(lambda s: (s + 4 / s, 1 - 4 / s**2), floor=0.0, start=0.1, tolerance=1e-9)
    >>> round(found.point, 4), round(found.value, 9)
    (2.0, 4.0)
    """
    left: _Tangent | None = None
    right: _Tangent | None = None
    here = best = _Tangent(start, *function(start))
    at_least = 0.0
    for step in range(_MAX_STEPS):
        if here.value < best.value:
            best = here
        if here.slope == 0:
            return Minimum(here.point, here.value, here.value)
        if here.slope < 0:
            left = here
        else:
            right = here
        if right is None:
            point = floor + (here.point - floor) * _STEP_UP
        elif left is None:
            point = floor + (here.point - floor) / _STEP_DOWN
        else:
            crossing = _crossing(left, right)
            at_least = max(at_least, left.value + left.slope * (crossing - left.point))
            point = crossing if step % 2 else _bottom_of_cubic(left, right)
            if best.value - at_least <= tolerance * best.value or not left.point < point < right.point:
                break
        here = _Tangent(point, *function(point))
    return Minimum(best.point, best.value, min(at_least, best.value))


def _crossing(left: _Tangent, right: _Tangent) -> float:
    """Where the two tangents meet."""
    drop = left.value - right.value + right.slope * (right.point - left.point)
    return left.point + drop / (right.slope - left.slope)


def _bottom_of_cubic(left: _Tangent, right: _Tangent) -> float:
    """Where the cubic with these values and slopes at its ends is least (Nocedal and Wright 2006, eq. 3.59)."""
    width = right.point - left.point
    bend = left.slope + right.slope - 3 * (right.value - left.value) / width
    root = sqrt(bend * bend - left.slope * right.slope)
    return right.point - width * (right.slope + root - bend) / (right.slope - left.slope + 2 * root)
