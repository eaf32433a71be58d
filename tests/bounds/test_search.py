"""The convex search over the samples of the best arm."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from linkedbandits.bounds.search import allocate_by_search
from linkedbandits.linkage import LINKAGES
from tests.support.instances import evidence, no_tie

EVERY_LINKAGE = pytest.mark.parametrize("linkage", LINKAGES.values(), ids=LINKAGES)


@EVERY_LINKAGE
def test_no_random_samples_do_better(linkage):
    rng = np.random.default_rng(8)
    for _ in range(10):
        means = rng.uniform(0.02, 0.98, 4)
        best = int(means.argmax())
        least = allocate_by_search(means, best, linkage)
        rivals = np.delete(np.arange(4), best)
        for _ in range(50):
            samples = least.samples * np.exp(rng.normal(0, 0.2, 4))
            weakest = min(evidence(means[best], means[a], samples[best], samples[a]) for a in rivals)
            assert linkage.quote(samples, means).plays / weakest >= least.at_least * (1 - 1e-9)


@EVERY_LINKAGE
@pytest.mark.parametrize("best", [0, 2])
def test_samples_belong_to_their_arms_wherever_the_best_one_stands(linkage, best):
    """Rivals that are alike get the same, one that is closer gets more, and what it costs is what is quoted."""
    means = np.insert(np.array([0.2, 0.5, 0.2]), best, 0.7)
    found = allocate_by_search(means, best, linkage)
    rivals = np.delete(found.samples, best)
    assert rivals[0] == pytest.approx(rivals[2])
    assert rivals[1] > 2 * rivals[0]
    assert found.plays == pytest.approx(linkage.quote(found.samples, means).plays)


@EVERY_LINKAGE
def test_a_loose_tolerance_ends_earlier_with_limits_that_still_hold(linkage):
    means = np.array([0.31, 0.62, 0.55, 0.12])
    exact, loose = (allocate_by_search(means, 1, linkage, tolerance) for tolerance in (1e-12, 0.3))
    assert loose.at_least <= exact.plays * (1 + 1e-9)
    assert exact.at_least <= loose.plays * (1 + 1e-9)
    assert loose.plays <= 1.3 * loose.at_least
    assert exact.plays == pytest.approx(exact.at_least, rel=1e-9)


@given(no_tie)
@settings(max_examples=20)
def test_no_allocation_can_be_cheaper_than_what_its_samples_need(means):
    """Every arm is tried at most once in a play, so that no arm has more samples than there are plays."""
    for linkage in LINKAGES.values():
        found = allocate_by_search(means, int(means.argmax()), linkage)
        assert found.samples.max() <= found.plays * (1 + 1e-9)
        assert 0 < found.at_least <= found.plays * (1 + 1e-12)
