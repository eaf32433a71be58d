"""The best allocation for telling one best arm from its rivals, by a convex search over its own samples.

Once the best arm has s samples, the least that a rival needs is one scalar root (``rivals``), convex in s. The plays
are convex in all samples and grow with each (``linkage``), so they are a convex function of s alone. Each look at it
takes time linear in the number of arms.
"""

from __future__ import annotations

import numpy as np

from linkedbandits.bounds.allocation import Allocation
from linkedbandits.bounds.convex_search import minimise_convex
from linkedbandits.bounds.divergence import kl
from linkedbandits.bounds.rivals import Rivals
from linkedbandits.linkage import Linkage
from linkedbandits.model import FloatArray

__all__ = ["allocate_by_search"]


def allocate_by_search(means: FloatArray, best: int, linkage: Linkage, tolerance: float = 1e-10) -> Allocation:
    """Allocate samples so that arm ``best``, strictly above all others, is told from each of them.

    >>> from linkedbandits.linkage import find_linkage
    >>> allocate_by_search(np.array([1.0, 0.0]), 0, find_linkage("single")).samples * np.log(4)
    array([1., 1.])
    """
    others = np.arange(means.size) != best
    rivals = Rivals(float(means[best]), means[others])
    samples, slopes = np.empty_like(means), np.empty_like(means)

    def plays(samples_of_best: float) -> tuple[float, float]:
        samples[best], slopes[best] = samples_of_best, 1
        samples[others], slopes[others] = rivals.needs(samples_of_best)
        quoted = linkage.quote(samples, means)
        return quoted.plays, float(quoted.prices @ slopes)

    # Start where the closest rival would have as many samples as the best arm.
    top, closest = float(means[best]), float(rivals.means.max())
    middle = (top + closest) / 2
    start = 1 / float(kl(top, middle) + kl(closest, middle))
    found = minimise_convex(plays, rivals.least_of_best, start, tolerance)
    plays(found.point)
    return Allocation(samples, found.value, found.at_least)
