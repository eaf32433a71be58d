"""What samples cost in plays, to first order, under each linkage.

Under every linkage the plays that samples t cost are the largest of some linear functions of t: each says that
plays used for some purpose cannot also serve another. The one that is largest at t prices the samples of each
arm in plays; a convex search and a linear programme need nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from linkedbandits.errors import UnknownName
from linkedbandits.linkage import Linkage, find_linkage
from linkedbandits.model import FloatArray

__all__ = ["Quote", "linkage_name", "quote"]


@dataclass(frozen=True, slots=True)
class Quote:
    """The plays that given samples cost, and the price of one more sample of each arm.

    ``plays`` is ``prices @ samples``; at any other samples t the plays are at least ``prices @ t``.
    """

    plays: float
    prices: FloatArray


def quote(samples: FloatArray, means: FloatArray, linkage: str) -> Quote:
    """Price samples (any numbers from 0 up) under the linkage of that name.

    >>> quote(np.array([4.0, 8.0]), np.array([0.5, 0.25]), "ordered")
    Quote(plays=10.0, prices=array([0.5, 1. ]))
    """
    return _PRICING[linkage](samples, means)


def linkage_name(linkage: str | Linkage) -> str:
    """The name of a linkage whose plays have a price, or an error that says which do."""
    name = find_linkage(linkage).name
    if name not in _PRICING:
        raise UnknownName(f"there is no theory for linkage {name!r}; choose one of {', '.join(_PRICING)}")
    return name


def _ordered(samples: FloatArray, means: FloatArray) -> Quote:
    """max over i of t[i] + sum_{j<i} mu[j] t[j]: a play that ends before arm i cannot sample it."""
    hits = means * samples
    reached = np.cumsum(hits)
    reached -= hits
    reached += samples
    last = int(reached.argmax())
    prices = np.zeros_like(means)
    prices[:last] = means[:last]
    prices[last] = 1
    return Quote(float(reached[last]), prices)


def _free(samples: FloatArray, means: FloatArray) -> Quote:
    """max over sets B of sum_B mu t / (1 - prod_B (1 - mu)), found among the prefixes by decreasing t."""
    order = np.argsort(-samples, kind="stable")
    sorted_means = means[order]
    hits = np.cumsum(sorted_means * samples[order])
    with np.errstate(divide="ignore", invalid="ignore"):
        # 1 - prod(1 - mu): the chance that a play of the whole prefix ends inside it
        ends = -np.expm1(np.cumsum(np.log1p(-sorted_means)))
        plays = hits / ends
    # One arm alone costs a play a sample, also where its mean of 0 leaves 0/0; a prefix of such arms costs its first.
    plays[ends == 0] = 0
    plays[0] = samples[order[0]]
    last = int(plays.argmax())
    prices = np.zeros_like(means)
    prices[order[: last + 1]] = sorted_means[: last + 1] / ends[last] if last > 0 else 1
    return Quote(float(plays[last]), prices)


def _single(samples: FloatArray, means: FloatArray) -> Quote:
    """sum of t: each play samples one arm."""
    return Quote(float(samples.sum()), np.ones_like(means))


_PRICING: dict[str, Callable[[FloatArray, FloatArray], Quote]] = {
    "ordered": _ordered,
    "free": _free,
    "single": _single,
}
