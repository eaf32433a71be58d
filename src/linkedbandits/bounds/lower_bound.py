"""What no policy can beat: the characteristic time, times the evidence that the error probability asks for."""

from __future__ import annotations

import numpy.typing as npt

from linkedbandits.bounds.characteristic import characteristic_time
from linkedbandits.bounds.divergence import kl_of_error
from linkedbandits.checks import check_probability
from linkedbandits.linkage import Linkage

__all__ = ["lower"]


def lower(means: npt.ArrayLike, delta: float, linkage: str | Linkage = "ordered", k: int = 1) -> float:
    """Plays that every policy needs on average here, if it errs with probability at most delta on all instances.

    Infinite where arms tie for the best; 0 for delta of 1/2 or more, where a guess is good enough for two arms.

    >>> round(lower([0.1, 0.05, 0.05], delta=0.1), 1)
    209.3
    >>> round(lower([0.1, 0.05, 0.05], delta=1e-300), 1)
    82249.8
    >>> lower([0.1, 0.1], delta=0.1)
    inf
    """
    check_probability("delta", delta)
    time = characteristic_time(means, linkage, k)
    evidence = kl_of_error(delta)
    return evidence * time.value if evidence > 0 else 0.0
