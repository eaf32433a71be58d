"""The convex search over the samples of the best arm."""

from __future__ import annotations

import numpy as np
import pytest

from linkedbandits.bounds.search import allocate_by_search
from linkedbandits.linkage import LINKAGES
from tests.support.instances import evidence

EVERY_LINKAGE = pytest.mark.parametrize("linkage", LINKAGES.values(), ids=LINKAGES)


@EVERY_LINKAGE
def test_no_random_samples_do_better(linkage):
    rng = np.random.default_rng(8)
    for _ in range(10):
        means = rng.uniform(0.02, 0.98, 4)
        best = int(means.argmax())
        least = allocate_by_search(means, best, linkage)
        rivals = np.delete(np.arange(4), best)
        for _ in range(100):
            samples = least.samples * np.exp(rng.normal(0, 0.2, 4))
            weakest = min(evidence(means[best], means[a], samples[best], samples[a]) for a in rivals)
            assert linkage.quote(samples, means).plays / weakest >= least.at_least * (1 - 1e-9)
