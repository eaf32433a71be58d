"""What samples of bins may be worth, and how probably they fire: made up, for searches of gates."""

from __future__ import annotations

import numpy as np


def outlooks(bins, lanes, seed):
    """Worth around a few places, chances of background and of a return: as a search has them, and stranger ones."""
    rng = np.random.default_rng(seed)
    place = np.arange(bins)
    middles, wide = rng.uniform(0, bins, (lanes, 3, 1)), rng.uniform(0.5, 8, (lanes, 3, 1))
    bumps = (rng.exponential(1, (lanes, 3, 1)) * np.exp(-(((place - middles) / wide) ** 2))).sum(axis=1)
    background = 10 ** rng.uniform(-4, -0.7, (lanes, 1))
    chance = -np.expm1(-(background * rng.uniform(0.5, 1.5, (lanes, bins)) + 0.3 * bumps))
    worth = 1e-3 * (bumps + 0.02 * rng.random((lanes, bins)))
    chance[0], worth[1] = 0.0, 0.0
    chance[2, bins // 2] = 1.0
    worth[3] = rng.random(bins)
    chance[4] = rng.random(bins)
    return worth.astype(np.float32).astype(np.float64), chance.astype(np.float32).astype(np.float64)
