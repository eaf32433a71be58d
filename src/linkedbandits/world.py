"""Who answers: the other side of a play. Coins, or a log.

A world knows how often arms succeed and nothing of policies or of what a play may be. It answers in counts,
because a policy sees nothing of a batch but its counts.
"""

from __future__ import annotations

import base64
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from linkedbandits.errors import InvalidParameter, LinkedBanditError
from linkedbandits.model import FloatArray, IntArray
from linkedbandits.streams import LaneStreams

Rewards = npt.NDArray[np.bool_]
"""Did it succeed? Of one arm, sample by sample."""


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


@runtime_checkable
class LawOfRequests(Protocol):
    """What makes a world for some lanes of a run, with the randomness of these lanes.

    So lanes need not all run side by side, and how a lane ends does not depend on which others do.
    """

    def answering(self, streams: LaneStreams) -> World:
        """The world that answers in the lanes of these streams."""
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


def check_lanes(world: World, lanes: int, arms: int) -> None:
    """Refuse a world that does not answer for all of these lanes: it is asked for nothing, and to keep them all."""
    try:
        if world.independent:
            answer = world.successes(np.zeros((lanes, arms), dtype=np.int64))
        else:
            answer = world.hits(np.tile(np.arange(arms), (lanes, 1)), np.zeros(lanes, dtype=np.int64))
        world.keep(np.ones(lanes, dtype=np.bool_))
    except LinkedBanditError:
        raise
    except (ValueError, IndexError) as error:
        raise InvalidParameter(_for_lanes(world, f"fails ({error})", lanes, arms)) from error
    if answer.shape != (lanes, arms):
        raise InvalidParameter(_for_lanes(world, f"gives an answer of shape {answer.shape}", lanes, arms))


def _for_lanes(world: World, what: str, lanes: int, arms: int) -> str:
    return (
        f"world {world!r} {what} when it is asked for {lanes} lanes of {arms} arms; give it a lane for every trial: "
        f"trials={lanes}"
    )


class ManyTuples(ABC):
    """What a world may have besides: the plays of several tuples at once, which may cost less than one by one."""

    @abstractmethod
    def hits(self, order: IntArray, times: IntArray) -> IntArray:
        """How many of ``times`` plays of a tuple end at each place of it: (lanes, width) to (lanes, width)."""

    def hits_of_many(self, order: IntArray, times: IntArray) -> IntArray:
        """As ``hits``, for several tuples per lane: (lanes, tuples, width) to (lanes, tuples, width)."""
        return np.stack([self.hits(order[:, one], times[:, one]) for one in range(order.shape[1])], axis=1)


def draw_hits(
    streams: LaneStreams, order: IntArray, times: IntArray, ends: Callable[[IntArray, IntArray], FloatArray]
) -> IntArray:
    """Draw where the plays of several tuples per lane end, as multinomial counts.

    ``ends(lane, tuples)`` has how likely a play ends at each place of each of these tuples, and at none.
    """
    lanes, tuples, width = order.shape
    # Along one axis numpy finds, takes and puts entries several times faster than along two: so those of one place are
    # next to each other, and places come last in the shape alone.
    hits = np.zeros((width, lanes * tuples), dtype=np.int64)
    played = positions_played(times)
    played_times = times.reshape(-1).take(played)
    chances = ends(played // tuples, order.reshape(-1, width).take(played, axis=0))
    for stream, part in streams.blocks():
        some = slice(*np.searchsorted(played, (part.start * tuples, part.stop * tuples)))
        drawn = stream.multinomial(played_times[some], chances[some])
        for place in range(width):
            hits[place][played[some]] = drawn[:, place]
    return hits.reshape(width, lanes, tuples).transpose(1, 2, 0)


def positions_played(times: IntArray) -> IntArray:
    """Where a lane and a tuple meet that is played at all, as positions in the flat array."""
    return np.flatnonzero(times.reshape(-1) != 0)  # comparing first takes a third of the time


class JointWorld(ManyTuples):
    """A world whose arms depend on each other within a play.

    There, what an arm does after others have failed is no sample of its mean, so needs cannot be answered arm by arm:
    they are played tuple by tuple. All that such a world has to say is where plays of a tuple end.
    """

    independent = False

    @abstractmethod
    def keep(self, lanes: npt.NDArray[Any]) -> None:
        """Go on with these lanes only (a mask, or increasing positions)."""

    def successes(self, samples: IntArray) -> IntArray:
        """The successes of every arm, each tried alone."""
        arms = [np.full(samples.shape[0], arm) for arm in range(samples.shape[1])]
        return np.stack([self.successes_of(arm, samples[:, arm[0]]) for arm in arms], axis=1)

    def successes_of(self, arms: IntArray, samples: IntArray) -> IntArray:
        """The successes of one arm per lane, tried alone."""
        return self.hits(arms[:, np.newaxis], samples)[:, 0]


_THIN = 1e-4
"""A piece of a tuple ends where fewer of the plays that began it than this go on."""


class CoinFlips(ManyTuples):
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

    def hits_of_many(self, order: IntArray, times: IntArray) -> IntArray:
        """The same for several tuples per lane; pairs, which have no pieces, all at once."""
        if order.shape[2] == 2:
            return draw_hits(self._streams, order, times, self._ends_of_pairs)
        return super().hits_of_many(order, times)

    def _ends_of_pairs(self, lane: IntArray, pairs: IntArray) -> FloatArray:
        if self._means.strides[0] == 0:  # all lanes have the same means
            first, second = self._means[0][pairs.T]
        else:
            first, second = self._means[lane, pairs.T]
        ends = np.empty((lane.size, 3))
        ends[:, 0] = first
        fails = 1 - first
        ends[:, 1] = fails * np.where(pairs[:, 1] < 0, 0.0, second)
        np.subtract(fails, ends[:, 1], out=ends[:, 2])
        return ends


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


class OneLane(World):
    """A world of one lane that takes the samples of each arm in turn; those who inherit say what they bring."""

    independent = True

    @abstractmethod
    def successes_in_next(self, arm: int, count: int) -> int:
        """How many of the next ``count`` samples of an arm are successes."""
        ...

    def keep(self, lanes: npt.NDArray[Any]) -> None:
        """Nothing to do: there is one lane, and it is kept as long as the world is asked."""

    def successes(self, samples: IntArray) -> IntArray:
        """Of every arm: (1, arms) to (1, arms)."""
        self._check_lanes(samples.shape[0])
        counts = enumerate(samples[0].tolist())
        return np.array([[self.successes_in_next(arm, count) for arm, count in counts]], dtype=np.int64)

    def successes_of(self, arms: IntArray, samples: IntArray) -> IntArray:
        """Of one arm: (1,) and (1,) to (1,)."""
        self._check_lanes(samples.size)
        return np.array([self.successes_in_next(int(arms[0]), int(samples[0]))], dtype=np.int64)

    def hits(self, order: IntArray, times: IntArray) -> IntArray:
        """Each arm of a tuple is tried where those before it failed: (1, width) to (1, width)."""
        self._check_lanes(times.size)
        hits = np.zeros_like(order)
        going_on = int(times[0])
        for place, arm in enumerate(order[0].tolist()):
            if arm >= 0:
                hits[0, place] = self.successes_in_next(arm, going_on)
                going_on -= int(hits[0, place])
        return hits

    def _check_lanes(self, asked: int) -> None:
        if asked != 1:
            raise InvalidParameter(f"{self!r} has one lane, and {asked} are asked for; use trials=1")


class LogWorld(OneLane):
    """A log is a world: outcomes that are on record answer a policy's requests, from one queue per arm.

    Take the outcomes of an arm in the order in which its plays were handed out. If arms are independent, as the
    policies so far assume, they are independent coins of the arm's mean, whatever policy chose to try it, for a choice
    uses the past alone. So the j-th attempt on record can serve as the j-th sample that a new policy asks for. Two
    things matter:

    - a request is fixed before its samples are read;
    - an arm's queue is read from its front, and as long as it has something nothing else stands in for it. How much a
      queue has must decide nothing else: in a chain, many attempts of the second arm are failures of the first.

    ``left`` has how many samples of every arm were not read yet, ``successes_left`` how many of these are successes.

    >>> log = LogWorld([np.array([True, False, True]), np.array([False])])
    >>> log.successes(np.array([[2, 1]]))
    array([[1, 0]])
    >>> log.left
    array([1, 0])
    """

    def __init__(self, queues: Iterable[Rewards]) -> None:
        self._queues = [np.asarray(queue, dtype=np.bool_) for queue in queues]
        self._read = np.zeros(len(self._queues), dtype=np.int64)
        self.left: IntArray = np.array([queue.size for queue in self._queues], dtype=np.int64)
        self.successes_left: IntArray = np.array([queue.sum() for queue in self._queues], dtype=np.int64)

    def successes_in_next(self, arm: int, count: int) -> int:
        """Read them; InvalidParameter if there are not as many."""
        if count > self.left[arm]:
            raise InvalidParameter(
                f"the log has {self.left[arm]} more samples of arm {arm}, not {count}; ask for fewer", parameter="needs"
            )
        start = int(self._read[arm])
        won = int(np.count_nonzero(self._queues[arm][start : start + count]))
        self._read[arm] += count
        self.left[arm] -= count
        self.successes_left[arm] -= won
        return won

    def to_json(self) -> list[dict[str, Any]]:
        """What was not read yet, ready for ``json.dumps``: eight outcomes a byte."""
        return [
            {"count": int(left), "outcomes": base64.b64encode(np.packbits(queue[start:]).tobytes()).decode("ascii")}
            for queue, start, left in zip(self._queues, self._read.tolist(), self.left.tolist(), strict=True)
        ]

    @classmethod
    def from_json(cls, data: list[dict[str, Any]]) -> Self:
        """What :meth:`to_json` wrote."""
        packed = [np.frombuffer(base64.b64decode(arm["outcomes"], validate=True), dtype=np.uint8) for arm in data]
        return cls(
            np.unpackbits(bits, count=arm["count"]).astype(np.bool_) for bits, arm in zip(packed, data, strict=True)
        )
