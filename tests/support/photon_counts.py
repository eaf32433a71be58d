"""Counts of a single-photon sensor, and their likelihood by its definition."""

from __future__ import annotations

import numpy as np


def counts_of(sensor, depth, signal, samples, seed=0):
    """Counts that a return would bring, the same number of samples of every bin."""
    depth = np.atleast_1d(depth)
    chances = sensor.chances(depth, np.full(depth.size, signal))
    tried = np.full(chances.shape, samples)
    return tried, np.random.default_rng(seed).binomial(tried, chances)


def by_definition(sensor, depth, signal, samples, successes):
    """The log-likelihood of one depth and signal against no return, bin by bin."""
    with_return = sensor.chances(np.array([depth]), np.array([signal]))[0]
    without = sensor.chances(np.array([np.nan]), np.array([0.0]))[0]
    gain = successes * np.log(with_return / without) + (samples - successes) * np.log((1 - with_return) / (1 - without))
    return gain.sum()
