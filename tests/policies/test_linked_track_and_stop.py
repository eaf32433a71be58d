"""LinkedTrackAndStop: its samples go where the characteristic time wants them."""

from __future__ import annotations

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.linkage import LINKAGES


@pytest.mark.statistical
@pytest.mark.parametrize("linkage", list(LINKAGES))
def test_it_tracks_the_optimal_proportions_when_certainty_is_dear(linkage):
    """At delta = 1e-100 learning the means is cheap, and every arm's samples come near the optimal ones.

    The rule keeps every rival that is still in at a third of the hardest one's share, and drops those it has refuted,
    so an arm may have up to twice what it needs, and little less than it. Uniform sampling is off by a factor of 4.
    """
    means = np.array([0.3, 0.6, 0.5, 0.1])
    time = lb.bounds.characteristic_time(means, linkage)
    runs = lb.simulate(means, lb.LinkedTrackAndStop(1e-100), linkage=linkage, trials=20, seed=3)
    share = runs.samples.mean(axis=0) / runs.plays.mean() / time.proportions
    assert (share > 0.75).all()
    assert (share[[1, 2]] < 1.25).all()
    assert runs.plays.mean() / lb.bounds.lower(means, 1e-100, linkage) < 1.25


def test_it_is_told_the_price_of_the_linkage_it_runs_under():
    means = lb.scenarios.one_sparse(10)
    plays = {
        linkage: lb.simulate(means, lb.LinkedTrackAndStop(1e-12), linkage=linkage, trials=30, seed=3).plays.mean()
        for linkage in LINKAGES
    }
    ratios = [plays[linkage] / lb.bounds.lower(means, 1e-12, linkage) for linkage in LINKAGES]
    assert max(ratios) < 1.8


def test_its_only_parameter_is_delta():
    assert repr(lb.LinkedTrackAndStop(0.1)) == "LinkedTrackAndStop(delta=0.1)"
    with pytest.raises(TypeError):
        lb.LinkedTrackAndStop(0.1, k=2)
    with pytest.raises(lb.InvalidParameter, match="delta=2"):
        lb.LinkedTrackAndStop(2)
