"""The two solvers, which share nothing but the divergence and the price of plays, against each other."""

from __future__ import annotations

import numpy as np
import pytest

from linkedbandits.bounds.programme import allocate_by_programme
from linkedbandits.bounds.search import allocate_by_search
from linkedbandits.linkage import LINKAGES, find_linkage
from tests.support.instances import EDGES, evidence, random_means

EVERY_LINKAGE = pytest.mark.parametrize("linkage", LINKAGES.values(), ids=LINKAGES)


@pytest.mark.slow
@EVERY_LINKAGE
def test_convex_search_and_linear_programme_agree(linkage):
    rng = np.random.default_rng([20240501, list(LINKAGES).index(linkage.name)])
    for _ in range(150):
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
    for _ in range(10):
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
