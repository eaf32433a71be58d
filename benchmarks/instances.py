"""The instances that the policies are measured on."""

from __future__ import annotations

import numpy as np

from linkedbandits.model import FloatArray


def random_means(arms: int, number: int) -> FloatArray:
    """Means spread evenly at random over (0.01, 0.5), the best of them unique with probability one."""
    return np.random.default_rng([arms, number]).uniform(0.01, 0.5, arms)
