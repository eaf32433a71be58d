"""Who answers: the other side of a play.

A world knows how often arms succeed and nothing of policies or of what a play may be. It answers in counts,
because a policy sees nothing of a batch but its counts.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from linkedbandits.errors import InvalidParameter
from linkedbandits.model import FloatArray, IntArray
from linkedbandits.streams import LaneStreams


class World(Protocol):
    """What a run needs of the side that answers: counts for all lanes at once, lanes first."""

    independent: bool
    """Do the arms of a play succeed independently of each other?

    If so, arms are asked for their samples one by one. If not, a world is asked for whole tuples, and for
    :meth:`hits` alone.
    """

    def keep(self, lanes: npt.NDArray[Any]) -> None:
        """Go on with these lanes only (a mask, or increasing positions)."""
        ...

    def successes(self, samples: IntArray) -> IntArray:
        """The successes of every arm among ``samples`` samples of it: (lanes, arms) to (lanes, arms)."""
        ...

    def successes_of(self, arms: IntArray, samples: IntArray) -> IntArray:
        """The same for one arm per lane: (lanes,) and (lanes,) to (lanes,)."""
        ...

    def hits(self, order: IntArray, times: IntArray) -> IntArray:
        """How many of ``times`` plays of a tuple end at each place of it: (lanes, width) to (lanes, width)."""
        ...


_PARTS = (*World.__annotations__, *(part for part in vars(World) if not part.startswith("_")))
"""All that a world has."""


def check_world(world: World) -> None:
    """Refuse what is no world, or lacks a part."""
    missing = [part for part in _PARTS if not hasattr(world, part)]
    if missing:
        raise InvalidParameter(
            f"world {world!r} has no {', '.join(missing)}; linkedbandits.world.World says what they are"
        )


_THIN = 1e-4
"""A piece of a tuple ends where fewer of the plays that began it than this go on."""


class CoinFlips:
    """Independent Bernoulli arms with known means, answered by exact draws of the counts."""

    independent = True

    def __init__(self, means: FloatArray, streams: LaneStreams) -> None:
        """Take ``means`` of shape (lanes, arms); a row repeated by broadcasting costs no memory."""
        self._means = means
        self._streams = streams

    def keep(self, lanes: npt.NDArray[Any]) -> None:
        """Go on with these lanes only (a mask, or increasing positions)."""
        self._streams.keep(lanes)
        if self._means.strides[0] == 0:
            count = int(np.count_nonzero(lanes)) if lanes.dtype == np.bool_ else lanes.size
            self._means = np.broadcast_to(self._means[0], (count, self._means.shape[1]))
        else:
            self._means = self._means[lanes]

    def successes(self, samples: IntArray) -> IntArray:
        """Binomial counts of every arm."""
        return self._streams.binomial(samples, self._means)

    def successes_of(self, arms: IntArray, samples: IntArray) -> IntArray:
        """Binomial counts of one arm per lane."""
        return self._streams.binomial(samples, self._means[np.arange(arms.size), arms])

    def hits(self, order: IntArray, times: IntArray) -> IntArray:
        """Multinomial counts over the positions of the tuple; the rest of the plays had no hit.

        A multinomial law is drawn category by category, with what is left of the probability found by subtraction. That
        loses its digits where hardly any play goes on, so a long tuple is drawn in pieces, each given the plays that
        reach it.
        """
        chance = np.take_along_axis(self._means, np.maximum(order, 0), axis=1)
        chance[order < 0] = 0.0
        hits = np.empty_like(order)
        for stream, lanes in self._streams.blocks():  # where a piece ends must not depend on the lanes of other blocks
            hits[lanes] = _hits_in_pieces(stream, chance[lanes], times[lanes])
        return hits


def _hits_in_pieces(stream: np.random.Generator, chance: FloatArray, times: IntArray) -> IntArray:
    hits = np.empty(chance.shape, dtype=np.int64)
    left = times
    start = 0
    while start < chance.shape[1]:
        reached = np.cumprod(1.0 - chance[:, start:], axis=1)
        thin = ((reached > 0) & (reached < _THIN)).any(axis=0)
        size = int(thin.argmax()) + 1 if thin.any() else thin.size
        piece = slice(start, start + size)
        ends = np.empty((chance.shape[0], size + 1))
        ends[:, 0] = chance[:, start]
        ends[:, 1:-1] = chance[:, start + 1 : start + size] * reached[:, : size - 1]
        ends[:, -1] = reached[:, size - 1]
        drawn = stream.multinomial(left, ends)
        hits[:, piece], left = drawn[:, :-1], drawn[:, -1]
        start += size
    return hits
