"""The two solvers, which share nothing but the divergence and the price of plays, against each other."""

from __future__ import annotations

import numpy as np
import pytest

from linkedbandits.bounds.programme import allocate_by_programme
from linkedbandits.bounds.search import allocate_by_search
from linkedbandits.linkage import LINKAGES
from tests.support.instances import EDGES, evidence, random_means

EVERY_LINKAGE = pytest.mark.parametrize("linkage", LINKAGES.values(), ids=LINKAGES)


@pytest.mark.slow
@EVERY_LINKAGE
def test_convex_search_and_linear_programme_agree(linkage):
    rng = np.random.default_rng([20240501, list(LINKAGES).index(linkage.name)])
    for _ in range(8):
        means = random_means(rng, int(2 + 39 * rng.random() ** 2))
        best = int(means.argmax())
        searched = allocate_by_search(means, best, linkage)
        programmed = allocate_by_programme(means, np.array([best]), linkage)
        assert searched.plays == pytest.approx(programmed.plays, rel=1e-6)
        # The programme's lower bound knows nothing of the search, nor the search's of the programme.
        assert searched.plays == pytest.approx(programmed.at_least, rel=1e-6)
        assert searched.at_least == pytest.approx(searched.plays, rel=1e-8)


@EVERY_LINKAGE
@pytest.mark.parametrize("means", EDGES, ids=str)
def test_they_agree_at_the_edges_too(means, linkage):
    best = int(np.argmax(means))
    searched = allocate_by_search(np.array(means), best, linkage)
    programmed = allocate_by_programme(np.array(means), np.array([best]), linkage)
    assert searched.plays == pytest.approx(programmed.at_least, rel=1e-6)


@EVERY_LINKAGE
@pytest.mark.parametrize("solver", ["search", "programme"])
def test_the_samples_tell_every_rival_apart_and_cost_the_plays(linkage, solver):
    rng = np.random.default_rng(7)
    for _ in range(5):
        means = rng.uniform(0.02, 0.98, 6)
        best = int(means.argmax())
        if solver == "search":
            found = allocate_by_search(means, best, linkage)
        else:
            found = allocate_by_programme(means, np.array([best]), linkage)
        assert linkage.quote(found.samples, means).plays == pytest.approx(found.plays)
        for rival in np.delete(np.arange(6), best):
            gained = evidence(means[best], means[rival], found.samples[best], found.samples[rival])
            assert gained >= 1 - 1e-6
