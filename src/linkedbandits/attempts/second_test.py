"""A second test beside the race: all samples of a log up to a request, whenever they came and in whatever proportion.

The race asks for samples in proportions that the past suggests. Where a logger turns from one option to another, some
queue runs dry while others are full, and the race has to wait. This test never waits. It is weaker, for it pays for
not knowing the means, and has a tenth of delta; the race has the rest.

*The guarantee.* Let a be the best option, c another one, and n the number of options. The likelihood of all samples of
a and c so far, averaged over their means (each with Jeffreys' prior), is a martingale over the likelihood at the true
means, whoever chose what to try from the past; and the highest likelihood with a at least as good as c is no less than
the true one. So average over highest ever reaches (n-1)/delta' with probability at most delta'/(n-1) (Ville), and for
any of the n-1 others with at most delta'. An option is dropped when it has, beside the option that leads then.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from linkedbandits.attempts.courses import log_evidence_of_two, looks_within
from linkedbandits.attempts.queues import Queues

SHARE = 0.1
"""Of delta."""


class Decided(NamedTuple):
    """The option that is left, after so many requests of the log."""

    option: int
    requests: int


def decided_by_all_samples(queues: Queues, delta: float) -> Decided | None:
    """The answer of the test at level ``delta``, at the first look at which there is one."""
    total = int(queues.size.sum())
    if total == 0:
        return None
    looks = looks_within(total)
    samples, successes, requests = queues.after(looks)
    options = samples.shape[1]
    row = np.arange(looks.size)
    leader = ((successes + 0.5) / (samples + 1)).argmax(axis=1)
    led, led_successes = (counts[row, leader][:, np.newaxis] for counts in (samples, successes))
    evidence = log_evidence_of_two(samples, successes, led, led_successes)
    behind = successes * led < led_successes * samples
    refuted = behind & (evidence >= math.log((options - 1) / delta))
    out = np.logical_or.accumulate(refuted, axis=0)
    ends = np.flatnonzero(out.sum(axis=1) >= options - 1)
    if not ends.size or out[ends[0]].all():
        return None
    return Decided(int((~out[ends[0]]).argmax()), int(requests[ends[0]]))
