"""Answers that come late or never: they cost time, and few plays.

Three options that work with .80, .86 and .70, delta 0.05, 20 plays a second, answers after up to half a second, a lease
of 20 seconds: a decision that lags by the lease is 400 plays behind.

Claims: with 1, 3 and 10 % of the answers lost, at most 1.3, 1.5 and 2 times the plays told with none lost, on average
over 32 seeds. Where failures of the worse option come late, up to just below the lease, and all else at once,
verdicts are wrong in less than delta, with 99.9 % confidence.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

import linkedbandits as lb
from tools.claims import Claims

RATES = (0.80, 0.86, 0.70)
DELTA = 0.05
PER_SECOND = 20
LEASE = 20.0
SEEDS = 32
MOST = {0.01: 1.3, 0.03: 1.5, 0.1: 2.0}

WAYS = {
    "LinkedElimination, ordered": (lb.LinkedElimination, "ordered", False),
    "LinkedElimination, free": (lb.LinkedElimination, "free", False),
    "LinkedDuels, free": (lb.LinkedDuels, "free", False),
    "LinkedDuels, free, whole chains": (lb.LinkedDuels, "free", True),
}

CLOSE = (0.6, 0.48)
"""Two options that are hard to tell apart, for the chance to be wrong,"""
CLOSE_DELTA = 0.2
"""with a delta of which such a run spends a good part."""
CLOSE_RUNS = 200
CONFIDENCE = 0.999

Delay = Callable[[np.random.Generator, tuple[int, ...], int | None], float]
"""Seconds until an answer comes: of a play of these arms, with this hit."""


@dataclass(frozen=True)
class Course:
    """What became of a run: its verdict, plays told and handed out until then, and the plays given up."""

    arm: int
    told: int
    handed_out: int
    abandoned: int


class Tapes:
    """Outcomes that do not depend on what is lost: those of an arm, or of a tuple, come in the order of its plays.

    So runs with the same seed differ by what lost answers do to them, and by nothing else.
    """

    def __init__(self, rates: tuple[float, ...], seed: int, by_tuple: bool) -> None:
        self._rates = rates
        self._seed = seed
        self._by_tuple = by_tuple
        self._tapes: dict[tuple[int, ...], np.random.Generator] = {}

    def hit(self, arms: tuple[int, ...], rest: tuple[int, ...]) -> int | None:
        """The arm that works in the next play of these."""
        for arm in arms + rest:
            key = (len(arms), *arms) if self._by_tuple and arm in arms else (arm,)
            if key not in self._tapes:
                self._tapes[key] = np.random.default_rng([self._seed, 2, *key])
            if self._tapes[key].random() < self._rates[arm]:
                return arm
        return None


def at_once(chance: np.random.Generator, arms: tuple[int, ...], hit: int | None) -> float:
    """An answer after a short time, whatever it is."""
    return 0.05 + 0.4 * chance.random()


def failures_late(chance: np.random.Generator, arms: tuple[int, ...], hit: int | None) -> float:
    """Where the second option has failed, it mostly takes nearly as long as the lease."""
    failed = 1 in (arms if hit is None else arms[: arms.index(hit)])
    if failed and chance.random() < 0.7:
        return LEASE * (0.2 + 0.79 * chance.random())
    return at_once(chance, arms, hit)


def play_through(
    experiment: lb.Experiment, rates: tuple[float, ...], lost: float, seed: int, delay: Delay, most: int = 100_000
) -> Course:
    """Ask at even times; answers come after a delay or never. A play that is out for a lease is given up."""
    chance = np.random.default_rng([seed, 1])
    tapes = Tapes(rates, seed, by_tuple=experiment.policy.asks == "tuples")
    coming: list[tuple[float, int, int | None, bool]] = []
    abandoned = 0
    for number in range(most):
        now = number / PER_SECOND
        while coming and coming[0][0] <= now and not experiment.done:
            _, play, hit, gone = heapq.heappop(coming)
            if gone:
                abandoned += 1
                experiment.abandon(play)
            else:
                experiment.tell(play, hit)
        if experiment.done:
            break
        asked = experiment.ask()
        gone = bool(chance.random() < lost)
        hit = None if gone else tapes.hit(asked.arms, asked.rest)
        wait = LEASE if gone else delay(chance, asked.arms + asked.rest, hit)
        heapq.heappush(coming, (now + wait, asked.id, hit, gone))
    return Course(experiment.recommend().arm, experiment.plays, len(experiment.answers), abandoned)


def main() -> None:
    claims = Claims()
    economy(claims)
    validity(claims)
    claims.report()


def only_validity() -> None:
    claims = Claims()
    validity(claims)
    claims.report()


def economy(claims: Claims) -> None:
    print(f"options {RATES}, delta {DELTA:g}, lease {LEASE:g} s, {PER_SECOND} plays a second, {SEEDS} seeds:")
    print("plays told and handed out until the verdict, and over those with none lost")
    for name, (kind, linkage, whole) in WAYS.items():
        none_lost = None
        for lost in (0.0, *MOST):
            start = time.process_time()
            courses = [
                play_through(
                    lb.Experiment(range(3), kind(DELTA), linkage=linkage, seed=seed, whole_chains=whole),
                    RATES,
                    lost,
                    seed,
                    at_once,
                )
                for seed in range(SEEDS)
            ]
            told, handed_out = (float(np.mean([getattr(c, what) for c in courses])) for what in ("told", "handed_out"))
            none_lost = none_lost or (told, handed_out)
            over = told / none_lost[0]
            took = (time.process_time() - start) / SEEDS / handed_out * 1e6
            print(
                f"  {name:32} {lost:4.0%} lost   told {told:6,.0f} {over:5.2f}   handed out {handed_out:6,.0f} "
                f"{handed_out / none_lost[1]:5.2f}   {took:5,.0f} microseconds a play",
                flush=True,
            )
            if lost:
                claims.check(
                    over <= MOST[lost],
                    f"{name}: at most {MOST[lost]:g} times the plays with {lost:.0%} lost: {over:.2f}",
                )


def validity(claims: Claims) -> None:
    print(f"options {CLOSE}, delta {CLOSE_DELTA:g}, failures of the second late, {CLOSE_RUNS} runs each:")
    for name, (kind, linkage, whole) in WAYS.items():
        if whole:
            continue  # of two options none is left for the rest of a chain
        wrong = sum(
            play_through(
                lb.Experiment(range(2), kind(CLOSE_DELTA), linkage=linkage, seed=seed),
                CLOSE,
                0.0,
                seed,
                failures_late,
            ).arm
            != 0
            for seed in range(CLOSE_RUNS)
        )
        limit = float(beta.ppf(CONFIDENCE, wrong + 1, CLOSE_RUNS - wrong))
        print(f"  {name:32} {wrong:4} wrong, at most {limit:.3f} with {CONFIDENCE:.1%} confidence", flush=True)
        claims.check(limit < CLOSE_DELTA, f"{name}: wrong in less than {CLOSE_DELTA:g} with failures late: {limit:.3f}")
