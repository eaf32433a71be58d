"""Parameters, checked where they come in: a clear error names the value and what would do."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real

import numpy as np

from linkedbandits.errors import InvalidParameter
from linkedbandits.model import COUNT_LIMIT

SMALLEST_DELTA = 1e-200
"""Evidence is kept as a plain number, which has to have room for 1/delta."""
MOST_COST_RATIO = 1e9
"""Between the costs of two arms. Beyond that, rounding would be as large as what is to be told apart."""


def check_probability(name: str, value: float, example: float = 0.05) -> None:
    """Refuse a ``delta`` or the like outside (0, 1)."""
    if not (isinstance(value, int | float) and 0 < value < 1):
        raise InvalidParameter(f"is not between 0 and 1; try {example!r}", name, value)


def check_delta(delta: float) -> None:
    """Refuse a ``delta`` outside (0, 1), or so small that evidence as a plain number cannot reach it."""
    check_probability("delta", delta)
    if delta < SMALLEST_DELTA:
        raise InvalidParameter(f"is below {SMALLEST_DELTA:g}, surer than evidence is kept; raise it", "delta", delta)


def check_share(name: str, value: float) -> None:
    """Refuse a number outside [0, 1)."""
    if not (isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1):
        raise InvalidParameter("is not at least 0 and below 1; give a number that is", name, value)


def check_whole(name: str, value: int, least: int = 1) -> None:
    """Refuse a count that is not a whole number from ``least`` to where counters end."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidParameter(f"is not a whole number of at least {least}; give one, as an int", name, value)
    if value > COUNT_LIMIT:
        raise InvalidParameter("is too large; counters end at 2**62", name, value)


def check_one_best(policy: str, k: int, instead: str) -> None:
    """Refuse a ``k`` other than 1 where a policy finds the one best option; ``instead`` says what to use."""
    if k != 1:
        raise InvalidParameter(f"k={k!r}: {policy} finds the one best option; {instead}")


def check_positive(name: str, value: float, most: float = np.inf) -> None:
    """Refuse a number that is not in (0, most]."""
    if not (isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= most):
        limit = "positive" if most == np.inf else f"in (0, {most:g}]"
        raise InvalidParameter(f"is not {limit}; give a number that is", name, value)


def check_odds_ratio(value: float) -> None:
    """Refuse an ``odds_ratio`` that is not a finite number above 1."""
    check_positive("odds_ratio", value)
    if not 1 < value < np.inf:
        raise InvalidParameter("is no ratio above 1; give one such as 2.0", "odds_ratio", value)


def check_not_negative(name: str, value: float) -> None:
    """Refuse what is not a finite number of at least 0."""
    if not (isinstance(value, Real) and not isinstance(value, bool) and 0 <= value < np.inf):
        raise InvalidParameter("is not a number of at least 0; give one", name, value)


def check_costs(costs: Sequence[float]) -> tuple[float, ...]:
    """Return the costs of the arms as a tuple, or say what is wrong with them; none at all are none told."""
    remedy = "give a positive number for each arm, such as costs=[1, 2.5]"
    try:
        values = tuple(costs)
    except TypeError:
        raise InvalidParameter(f"costs={costs!r} is no list of numbers; {remedy}") from None
    for arm, cost in enumerate(values):
        if not isinstance(cost, Real) or isinstance(cost, bool):
            raise InvalidParameter(f"cost {cost!r} of arm {arm} is no number; {remedy}")
        if not 0 < cost < np.inf:
            raise InvalidParameter(f"cost {float(cost)!r} of arm {arm} is not positive and finite; {remedy}")
    if values and max(values) > MOST_COST_RATIO * min(values):
        raise InvalidParameter(
            f"costs from {float(min(values))!r} to {float(max(values))!r} are further apart than {MOST_COST_RATIO:g} "
            "times; leave out the arms that cannot be worth their cost"
        )
    return tuple(float(cost) for cost in values)


def check_costs_of_arms(costs: Sequence[float], arms: int) -> None:
    """Refuse costs that are not one for each arm."""
    if costs and len(costs) != arms:
        raise InvalidParameter(f"{len(costs)} cost{'s' * (len(costs) > 1)} for {arms} arms; give one for each arm")


def check_max_plays(max_plays: int | None) -> int:
    """The limit on plays as a number; None means as many as a counter holds."""
    if max_plays is None:
        return COUNT_LIMIT
    check_whole("max_plays", max_plays)
    return min(int(max_plays), COUNT_LIMIT)
