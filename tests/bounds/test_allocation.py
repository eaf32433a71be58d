"""The two solvers, which share nothing but the divergence and the price of plays, against each other."""

from __future__ import annotations

import numpy as np
import pytest

from bounds.instances import EDGES, LINKAGES, evidence, random_means
from linkedbandits.bounds.pricing import quote
from linkedbandits.bounds.programme import allocate_by_programme
from linkedbandits.bounds.search import allocate_by_search


@pytest.mark.slow
@pytest.mark.parametrize(("linkage", "instances"), [("ordered", 200), ("free", 200), ("single", 100)])
def test_convex_search_and_linear_programme_agree(linkage, instances):
    rng = np.random.default_rng([20240501, LINKAGES.index(linkage)])
    for _ in range(instances):
        means = random_means(rng, int(2 + 39 * rng.random() ** 2))
        best = int(means.argmax())
        searched = allocate_by_search(means, best, linkage)
        programmed = allocate_by_programme(means, np.array([best]), linkage)
        assert searched.plays == pytest.approx(programmed.plays, rel=1e-6)
        # The programme's lower bound knows nothing of the search, nor the search's of the programme.
        assert searched.plays == pytest.approx(programmed.at_least, rel=1e-6)
        assert searched.at_least == pytest.approx(searched.plays, rel=1e-8)


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("means", EDGES, ids=str)
def test_they_agree_at_the_edges_too(means, linkage):
    best = int(np.argmax(means))
    searched = allocate_by_search(np.array(means), best, linkage)
    programmed = allocate_by_programme(np.array(means), np.array([best]), linkage)
    assert searched.plays == pytest.approx(programmed.at_least, rel=1e-6)


@pytest.mark.parametrize("linkage", LINKAGES)
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
        assert quote(found.samples, means, linkage).plays == pytest.approx(found.plays)
        for rival in np.delete(np.arange(6), best):
            gained = evidence(means[best], means[rival], found.samples[best], found.samples[rival])
            assert gained >= 1 - 1e-6


@pytest.mark.parametrize("linkage", LINKAGES)
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
            assert quote(samples, means, linkage).plays / weakest >= least.at_least * (1 - 1e-9)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_the_best_of_the_successes_are_the_worst_of_the_failures(k):
    """One arm a play: swapping success and failure turns the k best into the k worst, at the same cost."""
    rng = np.random.default_rng(9)
    for _ in range(5):
        means = rng.uniform(0.05, 0.95, 6)
        ranked = np.argsort(-means)
        best = allocate_by_programme(means, np.sort(ranked[:k]), "single")
        rest = allocate_by_programme(1 - means, np.sort(ranked[k:]), "single")
        assert best.plays == pytest.approx(rest.plays, rel=1e-6)
        assert best.samples == pytest.approx(rest.samples, rel=1e-2, abs=1e-3 * best.plays)
