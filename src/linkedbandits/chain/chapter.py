"""A chapter of a chain: one experiment, with the options that it is about and all that watches it.

A call belongs to the chapter in which it began, and ends in it. So an option that is removed meanwhile, or an
experiment that another one goes on from, does nothing to a call in flight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from linkedbandits.attempts.alarms import level_of
from linkedbandits.attempts.log import AttemptLog
from linkedbandits.attempts.losses import Losses
from linkedbandits.chain.attempting import Option
from linkedbandits.chain.behind import OthersSecond
from linkedbandits.chain.drift import Drift, DriftAlarm
from linkedbandits.chain.expenses import Ledger
from linkedbandits.chain.history import Move, short
from linkedbandits.chain.home import Home
from linkedbandits.chain.watching import Watch
from linkedbandits.model import Label, Verdict


class Watching:
    """The first attempts of a chapter's calls, and whether they show that an option has changed."""

    def __init__(
        self,
        home: Home,
        alpha: float,
        order: Callable[[], tuple[Label, ...]] | None = None,
    ) -> None:
        """``order`` is what calls are served in, where that is not the order of the home."""
        self._drift = Drift(home.arms, level_of(alpha, len(home.eras), home.share))
        self._home = home
        self._order = order or (lambda: home.order)
        self.alarm: DriftAlarm | None = None
        log = home.attempts()
        if log is not None:
            self._drift.know(first_attempts(log))

    def add(self, option: Label, worked: bool) -> None:
        """The first attempt of a call; calls come in the order in which they began."""
        if self._drift.add(option, worked) and self.alarm is None:
            self.alarm = self._drift.alarm(named_by(self._home.verdict), self._order()[0])

    def move(self, alarm: DriftAlarm) -> Move:
        """What is to follow on an alarm: an experiment that begins anew.

        Where options may be tried in any order, what seems best now comes first in it, until it knows better.
        """
        arms, means = self._home.arms, self._drift.means(alarm)
        if self._home.reads == "duels":
            order = self._home.order
            best = max(order, key=means.__getitem__)
            arms = (best, *(label for label in order if label != best))
        return Move(arms, False, "drift", short(f"drift: {alarm.sentence}"))


class Chapter:
    """One experiment of a chain.

    ``unannounced`` is emptied by the one call that announces its verdict, ``unheard`` by the one that says of a change,
    ``unwatched`` by the one that begins to watch for changes.
    """

    def __init__(
        self,
        home: Home,
        options: Mapping[Label, Option],
        watch: Watch,
        others_second: OthersSecond,
        ledger: Ledger,
    ) -> None:
        self.home = home
        self.options = options
        self.watch = watch
        self.others_second = others_second
        self.ledger = ledger
        self.losses = Losses(home.arms)
        self.watching: Watching | None = None
        self.unannounced = [True]
        self.unheard = [True]
        self.unwatched = [True]


def named_by(verdict: Verdict | None) -> tuple[Label, ...]:
    """The options that a verdict names, best first; none without one."""
    return () if verdict is None else verdict.top or (verdict.arm,)


def proved_places(verdict: Verdict | None) -> int:
    """How many of the first places of an order a verdict proves: those of the k best.

    >>> proved_places(Verdict("a", "confident", 100, 0.05)), proved_places(Verdict("a", "running", 100, None))
    (1, 0)
    """
    return len(verdict.top or (verdict.arm,)) if verdict is not None and verdict.proved else 0


def first_attempts(log: AttemptLog) -> dict[Label, tuple[int, int]]:
    """Successes and first attempts of every option.

    >>> first_attempts(AttemptLog.from_plays([(("a", "b"), "b"), (("b", "a"), "b")]))
    {'a': (0, 1), 'b': (1, 1)}
    """
    first, worked = log.option[log.first], log.success[log.first]
    tried = np.bincount(first, minlength=len(log.options))
    won = np.bincount(first[worked], minlength=len(log.options))
    return {label: (int(won[number]), int(tried[number])) for number, label in enumerate(log.options)}


def missing_from(known: Mapping[Label, Option], arms: Iterable[Label]) -> list[Label]:
    """The options of an experiment that there is no function for."""
    return [label for label in arms if label not in known]
