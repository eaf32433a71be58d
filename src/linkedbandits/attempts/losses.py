"""Attempts that were lost, and the alarm where options differ in how often that happens.

A play that is lost has no answer. That does no harm to a verdict if whether a play is lost does not depend on how it
went. Where it does, as where callers give up on a slow option before its timeout, or where a process is killed in slow
failures, what is left over is no fair sample.

A chain in memory counts its attempts (:class:`Losses`). A play that runs for longer than the lease is lost in the
option that its call is at. Where several processes share an experiment, plays of all of them are counted by the option
that they begin with, because what a killed process was at is not known: for a file by
:mod:`linkedbandits.chain.in_file`, in the service from its journal (:mod:`linkedbandits.service.alarms`).

The test is the one of two groups in :mod:`linkedbandits.attempts.courses`: the attempts of an option, and those of all
others. They count *in the order in which their plays began*, each when all before it have ended, or were given up. What
a play tries is chosen when it begins, from plays that began before. So if every attempt is lost with the same chance,
whatever that is, then given all plays before, so is the next one, whichever option it is of; and the evidence against
an option stays below a nonnegative supermartingale from 1. It reaches ``n/alpha`` for any of ``n`` options, at any
time, with probability at most ``alpha``. In the order in which plays end that would not hold: a play that hangs is
lost a lease later than others go well, so an option that was not tried before would look as if none of its attempts
were lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from linkedbandits.attempts.alarms import Rate
from linkedbandits.attempts.courses import log_evidence_of_two
from linkedbandits.display import short_repr
from linkedbandits.model import Label

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


class Losses:
    """Attempts of plays by option, and how many of them were lost; plays come in the order in which they began.

    >>> losses = Losses(["north", "east"])
    >>> losses.add(("north", "east"), lost=True)
    >>> losses.attempts, losses.lost
    ({'north': 1, 'east': 1}, {'north': 0, 'east': 1})
    """

    def __init__(self, options: Iterable[Label]) -> None:
        self.attempts = dict.fromkeys(options, 0)
        self.lost = self.attempts.copy()

    def add(self, tried: Sequence[Label], lost: bool) -> None:
        """A play that tried these options, and was lost in the last of them or not lost."""
        for option in tried:
            self.attempts[option] += 1
        if tried and lost:
            self.lost[tried[-1]] += 1


def loss_alarms(
    attempts: Mapping[Label, int], lost: Mapping[Label, int], alpha: float, what: str = "Attempts of"
) -> tuple[LossAlarm, ...]:
    """An alarm for every option that is lost more or less often than the others; ``what`` says what is counted.

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
            f"{what} {labels[number]!r} are lost {how} often than those of the others: {own.successes:,} of "
            f"{own.attempts:,}, and {others.successes:,} of {others.attempts:,}."
        )
        found.append(LossAlarm(labels[number], float(evidence[number]), level, own, others, sentence))
    return tuple(found)
