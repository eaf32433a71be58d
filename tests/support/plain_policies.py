"""Policies written for one run, of every kind there is."""

from __future__ import annotations

import random
from dataclasses import dataclass

import linkedbandits as lb


@dataclass
class RandomTuples(lb.PlainPolicy):
    """Draws what to try, until every arm was tried often enough."""

    delta: float = 0.1
    rounds: int = 8

    def begin(self, arms, seed):
        self.random = random.Random(seed)
        self.tried, self.worked = [0] * arms, [0] * arms

    def ask(self):
        arms = len(self.tried)
        return tuple(sorted(self.random.sample(range(arms), self.random.randint(1, arms))))

    def tell(self, arms, hit):
        for arm in arms:
            self.tried[arm] += 1
            if arm == hit:
                self.worked[arm] += 1
                break

    @property
    def done(self):
        return min(self.tried) >= self.rounds

    def best(self):
        return max(range(len(self.tried)), key=lambda arm: self.worked[arm] / max(1, self.tried[arm]))


@dataclass
class InAnyOrder(RandomTuples):
    asks = "tuples"

    def ask(self):
        arms = list(super().ask())
        self.random.shuffle(arms)
        return arms


@dataclass
class SamplesAlone(RandomTuples):
    """Two arms at a time, sometimes the same twice."""

    asks = "needs"

    def ask(self):
        return self.random.choices(range(len(self.tried)), k=2)


@dataclass
class TwoBest(RandomTuples):
    k: int = 2

    def best(self):
        return sorted(range(len(self.tried)), key=lambda arm: -self.worked[arm])[: self.k]


@dataclass
class ForSoManyPlays(RandomTuples):
    delta: float | None = None
    plays: int = 30
    answers_at_any_time = True

    def begin(self, arms, seed):
        super().begin(arms, seed)
        self.made = 0

    def tell(self, arms, hit):
        super().tell(arms, hit)
        self.made += 1

    def done(self):  # a method where a property is meant
        return self.made >= self.plays


@dataclass
class OneArm(lb.PlainPolicy):
    """One arm a play, in turn; or, from its third play on, two."""

    plays: int = 12
    two: bool = False

    def begin(self, arms, seed):
        self.tried, self.worked = 0, [0] * arms

    def ask(self):
        return (0, 1) if self.two and self.tried >= 2 else (self.tried % len(self.worked),)

    def tell(self, arms, hit):
        self.tried += 1
        if hit is not None:
            self.worked[hit] += 1

    @property
    def done(self):
        return self.tried >= self.plays

    def best(self):
        return self.worked.index(max(self.worked))


PLAIN = [RandomTuples(), InAnyOrder(), SamplesAlone(), TwoBest(), ForSoManyPlays()]
