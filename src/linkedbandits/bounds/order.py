"""What the fixed order costs: the characteristic time of ``ordered`` over that of ``free``.

It is at least 1, at most 1 + max over i of (1 - mu[i]) (1 - prod_{j<i} (1 - mu[j])), and so never above 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linkedbandits.bounds.characteristic import characteristic_time
from linkedbandits.display import short_repr
from linkedbandits.model import check_means

__all__ = ["PriceOfOrder", "price_of_order"]


@dataclass(frozen=True, slots=True)
class PriceOfOrder:
    """Both characteristic times, their ratio, and what the means alone say that the ratio cannot exceed.

    The ratio is nan where arms tie for the best and both times are infinite.
    """

    ordered: float
    free: float
    ratio: float
    at_most: float

    __repr__ = short_repr


def price_of_order(means: npt.ArrayLike, k: int = 1) -> PriceOfOrder:
    """Compare the plays needed in the given order with those needed when every play may choose its order.

    >>> round(price_of_order([1.0, 0.0]).ratio, 9), round(price_of_order([0.0, 1.0]).ratio, 9)
    (2.0, 1.0)
    """
    vector = check_means(means)
    ordered = characteristic_time(vector, "ordered", k).value
    free = characteristic_time(vector, "free", k).value
    reaches = np.cumprod(np.concatenate([[1.0], 1 - vector[:-1]]))
    at_most = 1 + float(((1 - vector) * (1 - reaches)).max())
    # Both times are right to ten digits; where they are equal, the last digits must not make order look like a gain.
    return PriceOfOrder(ordered, free, max(1.0, ordered / free) if free < np.inf else np.nan, at_most)
