"""What no policy can beat: the characteristic time, times the evidence that the error probability asks for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy.typing as npt

from linkedbandits.bounds.characteristic import characteristic_time
from linkedbandits.bounds.divergence import kl_of_error
from linkedbandits.checks import check_probability
from linkedbandits.linkage import Linkage

__all__ = ["lower"]


def lower(
    means: npt.ArrayLike,
    delta: float,
    linkage: str | Linkage = "ordered",
    k: int = 1,
    *,
    gap: float | None = None,
    odds_ratio: float | None = None,
    costs: Sequence[float] = (),
) -> float:
    """Plays that every policy needs on average here, if it errs with probability at most delta on all instances.

    With a ``gap`` or an ``odds_ratio``: on all instances in which the best arm is ahead of every other by at least
    that, which is all that a policy which is told so has to care for.

    With ``costs``, what a try of each arm costs, the best arm is the one with most successes per cost. Plays are still
    what is counted.

    Infinite where arms tie for the best; 0 for delta of 1/2 or more, where a guess is good enough for two arms.

    >>> round(lower([0.1, 0.05, 0.05], delta=0.1), 1)
    209.3
    >>> round(lower([0.1, 0.05, 0.05], delta=1e-300), 1)
    82249.8
    >>> round(lower([0.1, 0.05, 0.05], delta=0.1, gap=0.05), 1)
    57.2
    >>> round(lower([0.1, 0.05, 0.05], delta=0.1, costs=[1, 2, 2]), 1)
    50.4
    >>> lower([0.1, 0.1], delta=0.1)
    inf
    """
    check_probability("delta", delta)
    time = characteristic_time(means, linkage, k, gap=gap, odds_ratio=odds_ratio, costs=costs)
    evidence = kl_of_error(delta)
    return evidence * time.at_least if evidence > 0 else 0.0  # of the bracket around the time, the end that is proved
