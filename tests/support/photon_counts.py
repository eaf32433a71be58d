"""Counts of a single-photon sensor, and their likelihood by its definition."""

from __future__ import annotations

import numpy as np


def counts_of(sensor, depth, signal, samples, seed=0, background=None):
    """Counts that a return would bring, the same number of samples of every bin; the background may be another one."""
    depth = np.atleast_1d(depth)
    chances = sensor.chances(depth, np.full(depth.size, signal), background)
    tried = np.full(chances.shape, samples)
    return tried, np.random.default_rng(seed).binomial(tried, chances)


def by_definition(sensor, depth, signal, samples, successes, background=None):
    """The log-likelihood of one depth and signal against no return, bin by bin, over the same background."""
    with_return = sensor.chances(np.array([depth]), np.array([signal]), background)[0]
    without = sensor.chances(np.array([np.nan]), np.array([0.0]), background)[0]
    gain = successes * np.log(with_return / without) + (samples - successes) * np.log((1 - with_return) / (1 - without))
    return gain.sum()


def apart(background, pixels, seed=0, span=9.0):
    """Backgrounds a factor of ``span`` apart, evenly on a logarithmic scale, around ``background``."""
    return background * span ** np.random.default_rng(seed).uniform(-0.5, 0.5, pixels)
