"""Attempts that were lost, and the alarm where options differ in how often that happens.

A lost attempt says nothing of its option, and its play has no answer. That does no harm to a verdict if any attempt is
as likely to be lost as any other. Where it is not, as where callers give up on a slow option before its timeout, what
is left over is no fair sample.

A play that is out for longer than its lease is given up, and has no answer either: it is lost in the option that its
call is at when that is noticed, as at the end of any other call. So an option that hangs for ever is seen, though its
calls never end. The lease is that of the chain, also where a service has one of its own. Only calls of this process are
counted. Plays that other processes have out and never bring back are not: of those that they do bring back this process
knows nothing, so it would count losses of theirs without the attempts that went well.

The test is the one of two groups in :mod:`linkedbandits.attempts.courses`: the attempts of an option, and those of all
others. They count *in the order in which their plays began*, each when all before it have ended, or were given up. What
a play tries is chosen when it begins, from plays that began before. So if every attempt is lost with the same chance,
whatever that is, then given all plays before, so is the next one, whichever option it is of; and the evidence against
an option stays below a nonnegative supermartingale from 1. It reaches ``n/alpha`` for any of ``n`` options, at any
time, with probability at most ``alpha``. In the order in which plays end that would not hold, now less than ever: a
play that hangs is lost a lease later than others go well, so an option that was not tried before would look as if none
of its attempts were lost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from linkedbandits.attempts.alarms import Rate
from linkedbandits.attempts.courses import log_evidence_of_two
from linkedbandits.chain import forks
from linkedbandits.chain.backlog import Backlog
from linkedbandits.display.texts import short_repr
from linkedbandits.model import Label

MOST_AT_A_TIME = 64
"""Plays that a call counts at its end: its own, and of those that waited behind one that hung."""

REMEDY = (
    "Give the option a timeout that is shorter than the patience of those who call, so that what takes too long is a "
    "failure of it; and name in failures= what it raises when it fails. Until then a verdict may favour it, or another."
)


@dataclass(frozen=True)
class LossAlarm:
    """An option whose attempts are lost more or less often than those of the others.

    ``lost`` and ``others`` are rates of lost attempts, in which a loss is what counts as a success.
    """

    option: Label
    log10_evidence: float
    level: float
    lost: Rate
    others: Rate
    sentence: str
    remedy: str = REMEDY
    kind: Literal["losses"] = "losses"

    __repr__ = short_repr

    def __str__(self) -> str:
        return f"{self.sentence} {self.remedy}"


class PlayOut:
    """A play that a call is at. ``tried`` grows while it runs; the last of it is what the call is at."""

    __slots__ = ("began", "ended", "lost", "tried")

    def __init__(self, tried: Sequence[Label], began: float) -> None:
        self.tried = tried
        self.began = began
        self.ended = False
        self.lost = False


class Losses:
    """Attempts of plays, and how many of them were lost, in the order in which the plays began. No call waits.

    >>> now = 0.0
    >>> losses = Losses(["north", "east"], 60.0, lambda: now)
    >>> hangs, works = losses.begin(["north"]), losses.begin(["east"])
    >>> losses.end(works, lost=False)
    >>> losses.counts()
    ({'north': 0, 'east': 0}, {'north': 0, 'east': 0})
    >>> now = 61.0
    >>> losses.counts()
    ({'north': 1, 'east': 1}, {'north': 1, 'east': 0})
    """

    def __init__(self, options: Iterable[Label], lease: float, clock: Callable[[], float]) -> None:
        self._lease = lease
        self._clock = clock
        self._plays: deque[PlayOut] = deque()
        self._attempts = dict.fromkeys(options, 0)
        self._lost = self._attempts.copy()
        self._backlog: Backlog[None] = Backlog(self._advance)
        forks.call_in_child(self._be_in_a_child)

    def begin(self, tried: Sequence[Label]) -> PlayOut:
        """A play begins, and adds what it tries."""
        play = PlayOut(tried, self._clock())
        self._plays.append(play)
        return play

    def end(self, play: PlayOut, lost: bool) -> None:
        """It is over, lost in what it tried last or not lost, unless it comes too late. Waits a moment at most."""
        play.lost = lost or self._is_over(play)
        play.ended = True
        self._backlog.put(None)

    def counts(self) -> tuple[dict[Label, int], dict[Label, int]]:
        """Attempts by option, and those of them that were lost."""
        held = self._backlog.hold(seconds=1.0)
        try:
            while held and self._advance_some():
                pass
            return self._attempts.copy(), self._lost.copy()
        finally:
            if held:
                self._backlog.release()

    def _advance(self, _: None) -> None:
        self._advance_some()

    def _advance_some(self) -> bool:
        """Count plays that are over, not too many at a time, as a call may be waiting; may there be more of them?"""
        for _ in range(MOST_AT_A_TIME):
            if not self._plays or not (self._plays[0].ended or self._is_over(self._plays[0])):
                return False
            self._count(self._plays.popleft())
        return True

    def _is_over(self, play: PlayOut) -> bool:
        """Is its lease?"""
        return self._clock() - play.began > self._lease

    def _count(self, play: PlayOut) -> None:
        tried = tuple(play.tried)
        for option in tried:
            self._attempts[option] = self._attempts.get(option, 0) + 1  # one that was added is new here
            self._lost.setdefault(option, 0)
        if tried and (play.lost or not play.ended):
            self._lost[tried[-1]] += 1

    def _be_in_a_child(self) -> None:
        """After a fork: the calls of the parent are not at anything here."""
        self._plays.clear()
        self._backlog.free()


def loss_alarms(attempts: Mapping[Label, int], lost: Mapping[Label, int], alpha: float) -> tuple[LossAlarm, ...]:
    """An alarm for every option that is lost more or less often than the others.

    If there is no difference there is one with probability at most ``alpha``, however often one looks.

    >>> [alarm] = loss_alarms({"a": 1000, "b": 40}, {"a": 10, "b": 20}, alpha=0.01)[:1]
    >>> alarm.sentence
    "Attempts of 'a' are lost less often than those of the others: 10 of 1,000, and 20 of 40."
    """
    labels = list(attempts)
    tried = np.array([attempts[label] for label in labels], dtype=np.int64)
    gone = np.array([lost[label] for label in labels], dtype=np.int64)
    if not gone.any():
        return ()
    tried_else, gone_else = tried.sum() - tried, gone.sum() - gone
    evidence = log_evidence_of_two(tried, gone, tried_else, gone_else) / np.log(10)
    level = len(labels) / alpha
    found = []
    for number in np.flatnonzero(evidence >= np.log10(level)).tolist():
        own = Rate(int(gone[number]), int(tried[number]))
        others = Rate(int(gone_else[number]), int(tried_else[number]))
        how = "more" if own.mean > others.mean else "less"
        sentence = (
            f"Attempts of {labels[number]!r} are lost {how} often than those of the others: {own.successes:,} of "
            f"{own.attempts:,}, and {others.successes:,} of {others.attempts:,}."
        )
        found.append(LossAlarm(labels[number], float(evidence[number]), level, own, others, sentence))
    return tuple(found)
