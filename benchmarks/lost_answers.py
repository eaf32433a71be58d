"""draft"""
from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import linkedbandits as lb

RATES = (0.80, 0.86, 0.70)
PER_SECOND = 20
LEASE = 20.0


@dataclass(frozen=True)
class Course:
    arm: object
    told: int
    handed_out: int
    seconds: float


def play_through(exp, rates, lost: float, seed: int, delay: Callable, per_second=PER_SECOND, lease=LEASE, most=200_000) -> Course:
    """Plays at even times, answers after a delay unless they are lost; what is out for a lease is given up."""
    chance = np.random.default_rng([seed, 1])
    tapes = [np.random.default_rng([seed, 2, arm]) for arm in range(len(rates))]
    answers: list = []
    for number in range(most):
        now = number / per_second
        while answers and answers[0][0] <= now:
            at, play, arms, gone = heapq.heappop(answers)
            if exp.done:
                break
            if gone:
                exp.abandon(play)
            else:
                hit = None
                for arm in arms:
                    if tapes[arm].random() < rates[arm]:
                        hit = arm
                        break
                exp.tell(play, hit)
        if exp.done:
            break
        play = exp.ask()
        gone = bool(chance.random() < lost)
        wait = lease if gone else delay(chance)
        heapq.heappush(answers, (now + wait, play.id, play.arms + play.rest, gone))
    return Course(exp.recommend().arm, exp.plays, len(exp.answers), now)
