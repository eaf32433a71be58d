"""Attempts that were lost, and the alarm where options differ in how often that happens.

A lost attempt says nothing of its option, and its play has no answer. That does no harm to a verdict if any attempt is
as likely to be lost as any other. Where it is not, as where callers give up on a slow option before its timeout, what
is left over is no fair sample.

The test is the one of two groups in :mod:`linkedbandits.attempts.courses`: the attempts of an option, and those of all
others. If every attempt is lost with the same chance, whatever that is, the evidence against an option stays below a
nonnegative supermartingale from 1, as which option is tried depends on the past alone. It reaches ``n/alpha`` for any
of ``n`` options, at any time, with probability at most ``alpha``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from linkedbandits.attempts.alarms import Rate
from linkedbandits.attempts.courses import log_evidence_of_two
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

    def __str__(self) -> str:
        return f"{self.sentence} {self.remedy}"


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
