"""When to look: a rule that holds at all times at once may be looked at on a geometric grid.

That changes when one looks, not what is true, and overshoots by at most the growth of the grid.
"""

import numpy as np

from linkedbandits.model import IntArray, as_count

GROWTH = 0.05
"""Looks are this far apart, as a share of what was seen."""


def next_look(count: IntArray, first: int, least: int = 1) -> IntArray:
    """The count at which to look after having looked at ``count``; ``first`` after 0, then ``least`` more or more.

    >>> next_look(np.array([0, 100, 105]), first=40)
    array([ 40, 105, 111])
    """
    return np.where(count == 0, max(first, least), as_count(np.maximum(count * (1 + GROWTH), count + float(least))))


def batch(count: IntArray, least: int = 1) -> IntArray:
    """How much to ask at once of something seen ``count`` times: ``least`` at first, then the grid's share.

    >>> batch(np.array([0, 30, 1000]))
    array([ 1,  1, 50])
    """
    return np.maximum((count * GROWTH).astype(np.int64), least)
