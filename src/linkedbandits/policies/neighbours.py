"""A tolerance in places, for arms in a row whose neighbours are alike."""

from __future__ import annotations

import numpy as np

from linkedbandits.errors import InvalidParameter
from linkedbandits.model import BoolArray


def within_reach_of_all(still_in: BoolArray, places: int) -> BoolArray:
    """The arms that are at most ``places`` places from every arm that is still in; unspecified where none is.

    >>> within_reach_of_all(np.array([[False, True, False, True, False]]), places=1)
    array([[False, False,  True, False, False]])
    """
    arm = np.arange(still_in.shape[1])
    first = still_in.argmax(axis=1)[:, np.newaxis]
    last = arm[-1] - still_in[:, ::-1].argmax(axis=1)[:, np.newaxis]
    return np.asarray((arm - first <= places) & (last - arm <= places))


def check_something_to_decide(neighbours: int, arms: int) -> None:
    """Refuse a tolerance with which one arm in the middle would be right whatever the means."""
    if neighbours > 0 and 2 * neighbours + 1 >= arms:
        raise InvalidParameter(
            f"neighbours={neighbours} leaves nothing to decide between {arms} arms; "
            f"choose neighbours of at most {(arms - 2) // 2}"
        )
