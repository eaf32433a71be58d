"""The samples of a log, one queue an option, read from the front.

Why a log is as good as a live experiment. Imagine for every option an endless row of coins, tossed beforehand; whoever
tries the option is handed the next coin of its row. If the choice of what to try uses the past alone, what is handed
out has the same law whether the logger took it first or we do. So the j-th sample of an option on record is the j-th
coin of its row, and a policy that reads rows as it likes, each from its front, is wrong at most as often as live: it
must only fix what it asks for before it reads it, from what it has read so far. That the log ends somewhere can only
keep it from an answer. And an answer on a longer log is the one on the shorter log, or came later: all looks together
are one test.

What has been read so far includes *which* options the logger tried, but only as far as all outcomes before were read:
a logger that stays with what worked tells by its choices what worked. So ``shares`` counts the attempts before the
first unread one of an option that is asked for, and none behind it. Samples before it of options that are not asked for
are skipped: they count as read, and an option that is asked for again goes on behind them.
"""

from __future__ import annotations

import numpy as np

from linkedbandits.attempts.log import AttemptLog, Numbers
from linkedbandits.model import BoolArray, FloatArray, IntArray
from linkedbandits.world import OneLane

PRIOR_ATTEMPTS = 1.0
"""Attempts of every option that shares begin with."""


class Queues(OneLane):
    """The samples of every option, in the order of the log; ``read`` of each have been read, ``left`` have not.

    They are a world, too, that answers a policy's requests as a linkage plays them. An option's queue is read from its
    front, and as long as it has something nothing else stands in for it.

    >>> log = AttemptLog.from_plays([(("a", "b"), "a"), (("b", "a"), "a"), (("a", "b"), None)])
    >>> queues = Queues(log, log.first)
    >>> queues.left
    array([2, 1])
    >>> queues.take(np.array([1, 1])), queues.left
    (array([1, 0]), array([1, 0]))
    """

    def __init__(self, log: AttemptLog, chosen: IntArray, options: int | None = None) -> None:
        """From these attempts of a log, by their places in it; of the first ``options`` alone if that is given."""
        if options is None:
            options = len(log.options)
        else:
            chosen = chosen[log.option[chosen] < options]
        option = log.option[chosen]
        by_option = np.argsort(option, kind="stable")
        ends = np.searchsorted(option, np.arange(options + 1), sorter=by_option)
        self._length = len(log)
        self._chosen: Numbers = chosen.astype(np.int32)
        self._request = log.request
        # The queues are one after the other in one array; of each the place in it where it begins.
        self._begins = ends[:-1]
        self._places: Numbers = chosen[by_option].astype(np.int32)
        self._queues: list[Numbers] = np.split(self._places, self._begins[1:])
        self._won: Numbers = np.zeros(self._places.size + 1, dtype=np.int32)
        np.cumsum(log.success[self._places], dtype=np.int32, out=self._won[1:])
        self.size: IntArray = np.diff(ends)
        """All samples of every option."""
        self.read: IntArray = np.zeros(options, dtype=np.int64)

    @property
    def left(self) -> IntArray:
        """Samples of every option that were not read."""
        return np.asarray(self.size - self.read)

    @property
    def successes_left(self) -> IntArray:
        """Successes of every option among what was not read."""
        return self.successes_in_all() - self.successes_so_far()

    def successes_so_far(self) -> IntArray:
        """Among what was read."""
        return self._successes_within(self.read)

    def successes_in_all(self) -> IntArray:
        """Whether it was read or not."""
        return self._successes_within(self.size)

    def _successes_within(self, counts: IntArray) -> IntArray:
        """Among the first so many of every option, a row for each of several counts."""
        won = self._won.take(self._begins + counts) - self._won.take(self._begins)
        return np.asarray(won, dtype=np.int64)

    def take(self, needs: IntArray) -> IntArray | None:
        """Read so many samples of every option. How many are successes? None, and nothing is read, if some lack."""
        if (needs > self.left).any():
            return None
        before = self.successes_so_far()
        self.read = self.read + needs
        return np.asarray(self.successes_so_far() - before)

    def successes_in_next(self, arm: int, count: int) -> int:
        """Read them; IndexError if there are not as many."""
        before = int(self._begins[arm] + self.read[arm])
        if self.read[arm] + count > self.size[arm]:
            raise IndexError(f"the log has {self.left[arm]} more samples of option {arm}, not {count}")
        self.read[arm] += count
        return int(self._won[before + count] - self._won[before])

    def after(self, counts: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Samples and successes of every option among the first so many of all, (counts, options), and their requests.

        Whether they were read or not. For tests that use all of a log up to some request.
        """
        last = self._chosen[counts - 1]
        samples = np.stack([queue.searchsorted(last, side="right") for queue in self._queues], axis=1)
        return samples, self._successes_within(samples), self._request[last].astype(np.int64) + 1

    def requests_read(self) -> int:
        """How many requests of the log it took to read what was read."""
        last = (self._begins + self.read - 1)[self.read > 0]
        return int(self._request[self._places.take(last).max()]) + 1 if last.size else 0

    def shares(self, asked: BoolArray) -> FloatArray:
        """How often every option was tried lately, as far as everything before was read; they sum to 1.

        Options that are not ``asked`` for any more are skipped: what comes of them meanwhile is never used.
        """
        unread = asked & (self.read < self.size)
        fronts = self._places.take((self._begins + self.read)[unread])
        known = 0
        if asked.any():
            known = int(fronts.min()) if fronts.size else self._length
        before = self._tried_before(known)
        self.read = np.where(asked, self.read, np.maximum(self.read, before))
        lately = before - self._tried_before(known // 2) + PRIOR_ATTEMPTS
        return np.asarray(lately / lately.sum())

    def _tried_before(self, attempt: int) -> IntArray:
        # What is looked for has the type of what it is looked for in, which would be converted as a whole otherwise.
        place = self._places.dtype.type(attempt)
        return np.array([queue.searchsorted(place) for queue in self._queues], dtype=np.int64)


class PairQueues:
    """Requests by the two options that were offered first, in this order: where they ended.

    The same holds as of single options: the j-th request with a first and b second is the j-th of a row of its own.
    """

    def __init__(self, log: AttemptLog, options: int | None = None) -> None:
        """Of all options, or of pairs of the first ``options`` alone; ValueError if no second options are known."""
        if log.second is None or (options is None and not (log.second >= 0).any()):
            raise ValueError("no second options")
        self._options = len(log.options) if options is None else options
        first = log.option[log.first]
        whole = np.flatnonzero((log.second >= 0) & (log.second < self._options) & (first < self._options))
        pair = first[whole].astype(np.int64) * self._options + log.second[whole]
        ends = np.full(log.requests, 2, dtype=np.int8)  # 0: the first one worked, 1: the second, 2: neither
        second_tried = np.minimum(log.first + 1, len(log) - 1)
        has_second = log.request[second_tried] == np.arange(log.requests)
        ends[has_second & log.success[second_tried]] = 1
        ends[log.success[log.first]] = 0
        by_pair = np.argsort(pair, kind="stable")
        self._request = whole[by_pair]
        # How many requests ended at the first and at the second, (2, requests + 1), before each one in this order.
        self._ended: Numbers = np.zeros((2, whole.size + 1), dtype=np.int32)
        np.cumsum(ends[self._request] == [[0], [1]], axis=1, dtype=np.int32, out=self._ended[:, 1:])
        limits = np.searchsorted(pair, np.arange(self._options**2 + 1), sorter=by_pair)
        self._begins, self._size = limits[:-1], np.diff(limits)
        self.read: IntArray = np.zeros(self._options**2, dtype=np.int64)

    @property
    def left(self) -> IntArray:
        """Requests of every pair that were not read, (options, options)."""
        return np.asarray((self._size - self.read).reshape(self._options, self._options))

    def hits(self, order: IntArray, times: IntArray) -> IntArray | None:
        """Where so many requests of every pair ended, (pairs, 2); None, and nothing is read, if some lack."""
        if self.lacking(order, times).any():
            return None
        found = np.zeros(order.shape, dtype=np.int64)
        rows = np.flatnonzero(times)
        pairs = order[rows, 0] * self._options + order[rows, 1]
        for some in _each_once(pairs):
            pair, row = pairs[some], rows[some]
            begin = self._begins[pair] + self.read[pair]
            found[row] = (self._ended[:, begin + times[row]] - self._ended[:, begin]).T
            self.read[pair] += times[row]
        return found

    def take(self, pair: IntArray, most: int) -> IntArray:
        """How many of the next requests of a pair, up to ``most``, ended at each option, and at none."""
        if pair.size != 2:
            return np.zeros(3, dtype=np.int64)
        number = int(pair[0]) * self._options + int(pair[1])
        count = min(most, int(self._size[number] - self.read[number]))
        begin = int(self._begins[number] + self.read[number])
        first, second = (self._ended[:, begin + count] - self._ended[:, begin]).tolist()
        self.read[number] += count
        return np.array([first, second, count - first - second], dtype=np.int64)

    def lacking(self, order: IntArray, times: IntArray) -> IntArray:
        """How many requests of every pair there are too few for this, (options, options)."""
        wanted = np.zeros_like(self.left)
        played = times > 0
        np.add.at(wanted, tuple(order[played].T), times[played])
        return np.asarray(np.maximum(wanted - self.left, 0))

    def requests_read(self) -> int:
        """How many requests of the log it took to read what was read."""
        last = (self._begins + self.read - 1)[self.read > 0]
        return int(self._request[last].max()) + 1 if last.size else 0


def _each_once(pairs: IntArray) -> list[IntArray]:
    """The places of the pairs, in groups in which none is twice: the second time goes on where the first one ended."""
    if len(set(pairs.tolist())) == pairs.size:  # as a policy asks
        return [np.arange(pairs.size)]
    return list(np.arange(pairs.size)[:, np.newaxis])


__all__ = ["PairQueues", "Queues"]
