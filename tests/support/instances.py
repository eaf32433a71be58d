"""Instances to try things on, easy and hard: means of 0 and 1, tiny means, tiny gaps, repeated arms."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from linkedbandits.bounds.divergence import kl
from linkedbandits.model import FloatArray

EDGES = [
    [1.0, 0.0, 0.0],
    [0.0, 0.3, 0.0],
    [1.0, 1 - 1e-6],
    [1e-6, 0.0],
    [0.3, 0.3 - 1e-6, 0.0, 1e-300],
    [1e-250, 1e-280],
    [0.0, 0.12, 0.003, 1 - 1e-6, 0.18],
    [0.25, 0.0, 1e-200, 1 - 1e-9],
]

one_mean = st.one_of(st.floats(0.001, 0.999), st.sampled_from([0.0, 1.0, 0.5, 1e-9, 1 - 1e-9]))
some_means = st.lists(one_mean, min_size=2, max_size=12).map(np.array)
no_tie = some_means.filter(lambda means: np.count_nonzero(means == means.max()) == 1)


def random_means(rng: np.random.Generator, arms: int) -> FloatArray:
    """One of seven kinds of instance, without a tie for the best."""
    while True:
        means = [
            lambda: rng.random(arms),
            lambda: 0.05 * rng.random(arms),
            lambda: rng.beta(0.3, 0.3, arms),
            lambda: np.round(rng.random(arms), 1),
            lambda: 10 ** rng.uniform(-9, 0, arms),
            lambda: rng.choice([0.0, 1.0, 0.5, *rng.random(3)], arms),
            lambda: np.where(np.arange(arms) == rng.integers(arms), 0.5 + 1e-6, 0.5 * rng.random(arms) ** 0.1),
        ][rng.integers(7)]()
        if np.count_nonzero(means == means.max()) == 1:
            return means


def evidence(best: float, rival: float, of_best: float, of_rival: float) -> float:
    """How well that many samples tell two arms apart, by the formula."""
    pooled = (of_best * best + of_rival * rival) / (of_best + of_rival)
    return float(of_best * kl(best, pooled) + of_rival * kl(rival, pooled))
