"""The instances of the paper's experiments, as vectors of means."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from linkedbandits.checks import check_whole
from linkedbandits.errors import InvalidParameter, UnknownName
from linkedbandits.model import FloatArray


def one_sparse(n: int, best: int = 0) -> FloatArray:
    """One arm of mean 0.1 at position ``best``, all others 0.05.

    >>> one_sparse(4, best=2)
    array([0.05, 0.05, 0.1 , 0.05])
    """
    check_whole("n", n, least=2)
    if not (isinstance(best, int) and 0 <= best < n):
        raise InvalidParameter(f"is no arm of {n}; choose 0 to {n - 1}", "best", best)
    means = np.full(n, 0.05)
    means[best] = 0.1
    return means


def decreasing(n: int) -> FloatArray:
    """The first arm has mean 0.05, arm i (counted from 1) has 0.05 - 0.005 * 0.95^((n - i)/2).

    >>> decreasing(4)
    array([0.05     , 0.04525  , 0.0451266, 0.045    ])
    """
    check_whole("n", n, least=2)
    means = 0.05 - 0.005 * 0.95 ** ((n - np.arange(1, n + 1)) / 2)
    means[0] = 0.05
    return means


def increasing(n: int) -> FloatArray:
    """Arm i (counted from 1) has mean i/n; the last always succeeds.

    >>> increasing(4)
    array([0.25, 0.5 , 0.75, 1.  ])
    """
    check_whole("n", n, least=2)
    return np.arange(1, n + 1) / n


SCENARIOS: dict[str, Callable[[int], FloatArray]] = {
    "one-sparse": one_sparse,
    "decreasing": decreasing,
    "increasing": increasing,
}


def find_scenario(name: str) -> Callable[[int], FloatArray]:
    """The scenario that the command line calls ``name``."""
    try:
        return SCENARIOS[name]
    except KeyError:
        raise UnknownName(f"unknown scenario {name!r}; choose one of {', '.join(SCENARIOS)}") from None
