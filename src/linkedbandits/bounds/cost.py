"""What needs cost in plays, and which sampling rates plays can sustain: both to first order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from linkedbandits.display import shown
from linkedbandits.errors import InvalidParameter
from linkedbandits.linkage import Linkage, find_linkage
from linkedbandits.model import FloatArray, check_means, check_needs

__all__ = ["PlayCost", "load", "play_cost"]


class PlayCost(float):
    """A number of plays to first order: the true expectation is no less, and at most ``at_most``."""

    at_most: float

    def __new__(cls, plays: float, at_most: float) -> PlayCost:
        """Take the plays and their upper limit."""
        cost = super().__new__(cls, plays)
        cost.at_most = at_most
        return cost

    def __getnewargs__(self) -> tuple[float, float]:  # type: ignore[override]  # so that it can be copied
        return float(self), self.at_most

    def __repr__(self) -> str:
        return f"PlayCost({shown(float(self))}, at_most={shown(self.at_most)})"


def play_cost(needs: npt.ArrayLike, means: npt.ArrayLike, linkage: str | Linkage = "ordered") -> PlayCost:
    """Return the least expected plays that bring each arm exactly the samples it needs, to first order.

    The true least expectation lies between the number and its ``at_most``; the distance grows with the square
    root of the needs, so the ratio of the two tends to 1. Under ``single`` both are exact.

    >>> play_cost([100, 100], [0.2, 0.5])
    PlayCost(120.0, at_most=128.0)
    >>> cost = play_cost([100, 100], [0.2, 0.5], "free")
    >>> round(cost, 2), round(cost.at_most, 2)
    (116.67, 120.81)
    >>> play_cost([100, 100], [0.2, 0.5], "single")
    PlayCost(200.0, at_most=200.0)
    """
    vector = check_means(means)
    wanted = check_needs(needs, vector.size)
    link = find_linkage(linkage)
    plays = float(link.price(wanted.astype(np.float64), vector))
    # One sample a play is always possible.
    at_most = min(link.expected_at_most(wanted, vector), float(wanted.sum(dtype=np.float64)))
    return PlayCost(plays, max(plays, at_most))


def load(rates: npt.ArrayLike, means: npt.ArrayLike, linkage: str | Linkage = "ordered") -> float:
    """Return the plays that sampling each arm at these rates uses up, for each play there is.

    Rates are samples per play. A linkage can sustain them exactly if the load is at most 1.

    >>> load([1.0, 0.75], [0.25, 0.5]), load([1.0, 1.0], [0.25, 0.5])
    (1.0, 1.25)
    """
    vector = check_means(means)
    return float(find_linkage(linkage).price(_check_rates(rates, vector.size), vector))


def _check_rates(rates: npt.ArrayLike, arms: int) -> FloatArray:
    try:
        vector = np.array(rates, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidParameter(f"rates {rates!r} are not numbers; pass a list of samples per play") from error
    if vector.shape != (arms,):
        raise InvalidParameter(f"rates have shape {vector.shape} for {arms} arms; give one rate for each arm")
    for arm in np.flatnonzero(~((vector >= 0) & (vector < np.inf))):
        raise InvalidParameter(f"rate {float(vector[arm])!r} of arm {arm} is no rate; give samples per play, 0 or more")
    return vector
