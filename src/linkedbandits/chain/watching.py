"""After the verdict: a share of calls that begin with another option, to see whether the verdict still holds.

Of every call it is decided by chance alone, before anything is known of it, whether it is watched. A watched call is
one of two kinds, equally often: it begins with one of the other options, each as likely as any, or it begins with the
best option as all calls do. Both go on record. Calls of the first kind are the price of watching, and they are the
stated share.

What is on record is a log of attempts like any other, and so :func:`linkedbandits.attempts.alarms.watch` finds drift in
it, with a level that holds at all times. What follows from an alarm is for whoever hears of it: a verdict is not
reopened here.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from linkedbandits.attempts.log import AttemptLog
from linkedbandits.chain import forks
from linkedbandits.chain.backlog import Backlog
from linkedbandits.live.answer_log import NO_HIT, AnswerLog
from linkedbandits.model import IntArray, Label

Watched = tuple[tuple[Label, ...], Label | None]
"""The order of a call, and the option that worked."""


class Watch:
    """Chooses which calls are watched, and keeps what came of them: eight bytes a call.

    ``share`` is that of the calls that begin with another option. ``draw`` gives random numbers from 0 to 1.
    """

    def __init__(self, options: tuple[Label, ...], share: float, draw: Callable[[], float]) -> None:
        self._options = options
        self._number = {label: number for number, label in enumerate(options)}
        self._share = share
        self._draw = draw
        self._record = AnswerLog()
        self._orders: dict[tuple[Label, ...], IntArray] = {}
        self._backlog: Backlog[Watched] = Backlog(self._write)
        forks.call_in_child(self._backlog.free)

    @classmethod
    def seeded(cls, options: tuple[Label, ...], share: float, seed: int) -> Watch:
        """With random numbers from a seed."""
        return cls(options, share, random.Random(seed).random)

    def __len__(self) -> int:
        return len(self._record)

    def order_for(self, order: tuple[Label, ...]) -> tuple[tuple[Label, ...], bool] | None:
        """The order of a call that is watched, and whether it differs from the best one; None if it is not watched."""
        share = self._share
        if not share:
            return None
        drawn = self._draw()
        if drawn >= 2 * share:
            return None
        if drawn >= share:
            return order, False
        place = 1 + min(int(drawn / share * (len(order) - 1)), len(order) - 2)
        return (order[place], *order[:place], *order[place + 1 :]), True

    def add(self, order: tuple[Label, ...], hit: Label | None) -> None:
        """What came of a call that is watched. Waits a moment at most."""
        self._backlog.put((order, hit))

    def attempts(self) -> AttemptLog:
        """All of them, in the order in which they ended."""
        held = self._backlog.hold(seconds=1.0)
        try:
            return self._record.attempts(self._options)
        finally:
            if held:
                self._backlog.release()

    def _write(self, watched: Watched) -> None:
        order, hit = watched
        arms = self._orders.get(order)
        if arms is None:
            arms = self._orders[order] = np.array([self._number[label] for label in order], dtype=np.int64)
        self._record.record(self._record.open_play(arms), NO_HIT if hit is None else self._number[hit])
