"""A person with coins: answers a live experiment play by play."""

from __future__ import annotations

import random

import numpy as np

import linkedbandits as lb


class CoinFlipper:
    """Flips every arm's coin for every play; the first head is the hit."""

    def __init__(self, means, seed):
        self._means = np.asarray(means)
        self._rng = np.random.default_rng(seed)
        self._flips = iter(())

    def answer(self, play: lb.Play) -> int | None:
        heads = next(self._flips, None)
        if heads is None:  # a thousand rows at a time, since one at a time would be most of the work
            self._flips = iter((self._rng.random((1000, self._means.size)) < self._means).tolist())
            heads = next(self._flips)
        return next((arm for arm in play.arms if heads[arm]), None)


def run_live(means, policy, linkage, seed, max_plays=None) -> lb.Experiment:
    """One whole experiment, one play at a time."""
    exp = lb.Experiment(range(len(means)), policy, linkage=linkage, max_plays=max_plays)
    coins = CoinFlipper(means, seed)
    while not exp.done:
        play = exp.ask()
        exp.tell(play.id, coins.answer(play))
    return exp


def play_to_the_end(exp, seed):
    """Three directions, east the best; the experiment may be one of a service."""
    rng = random.Random(seed)
    means = {"north": 0.1, "east": 0.5, "south": 0.2}
    while not exp.done:
        play = exp.ask()
        exp.tell(play.id, next((arm for arm in play.arms + play.rest if rng.random() < means[arm]), None))
    return exp
