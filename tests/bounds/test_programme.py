"""The linear programme that grows: the k best arms, and limits that hold whenever it ends."""

from __future__ import annotations

import numpy as np
import pytest

from linkedbandits.bounds.programme import allocate_by_programme
from linkedbandits.linkage import find_linkage


@pytest.mark.parametrize("k", [1, 2, 4])
def test_the_best_of_the_successes_are_the_worst_of_the_failures(k):
    """One arm a play: swapping success and failure turns the k best into the k worst, at the same cost."""
    rng = np.random.default_rng(9)
    for _ in range(5):
        means = rng.uniform(0.05, 0.95, 6)
        ranked = np.argsort(-means)
        best = allocate_by_programme(means, np.sort(ranked[:k]), find_linkage("single"))
        rest = allocate_by_programme(1 - means, np.sort(ranked[k:]), find_linkage("single"))
        assert best.plays == pytest.approx(rest.plays, rel=1e-6)
        assert best.samples == pytest.approx(rest.samples, rel=1e-2, abs=1e-3 * best.plays)
