"""The linear programme that grows: the k best arms, and limits that hold whenever it ends."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import OptimizeResult, linprog

import linkedbandits as lb
from linkedbandits.bounds import programme
from linkedbandits.bounds.programme import allocate_by_programme
from linkedbandits.linkage import LINKAGES, find_linkage
from tests.support.instances import evidence


@pytest.mark.parametrize("k", [1, 2, 4])
def test_the_best_of_the_successes_are_the_worst_of_the_failures(k):
    """One arm a play: swapping success and failure turns the k best into the k worst, at the same cost."""
    rng = np.random.default_rng(9)
    for _ in range(3):
        means = rng.uniform(0.05, 0.95, 6)
        ranked = np.argsort(-means)
        best = allocate_by_programme(means, np.sort(ranked[:k]), find_linkage("single"))
        rest = allocate_by_programme(1 - means, np.sort(ranked[k:]), find_linkage("single"))
        assert best.plays == pytest.approx(rest.plays, rel=1e-6)
        assert best.samples == pytest.approx(rest.samples, rel=1e-2, abs=1e-3 * best.plays)


@pytest.mark.parametrize("linkage", LINKAGES.values(), ids=LINKAGES)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_every_one_of_the_best_is_told_from_every_other_and_the_plays_are_what_that_costs(linkage, k):
    rng = np.random.default_rng(k)
    for _ in range(2):
        means = rng.uniform(0.05, 0.95, 5)
        ranked = np.argsort(-means)
        found = allocate_by_programme(means, np.sort(ranked[:k]), linkage)
        gained = [
            evidence(means[one], means[other], found.samples[one], found.samples[other])
            for one in ranked[:k]
            for other in ranked[k:]
        ]
        assert min(gained) == pytest.approx(1, rel=1e-7)  # each has its evidence, and some pair no more than that
        assert found.plays == pytest.approx(linkage.quote(found.samples, means).plays)
        assert found.at_least <= found.plays <= found.at_least * (1 + 1e-6)


def test_a_round_too_few_ends_with_limits_that_hold_all_the_same(monkeypatch):
    means, best, linkage = np.array([0.31, 0.62, 0.55, 0.12]), np.array([1, 2]), find_linkage("free")
    exact = allocate_by_programme(means, best, linkage).plays
    gaps = []
    for rounds in (1, 2, 4):
        monkeypatch.setattr(programme, "_MAX_ROUNDS", rounds)
        found = allocate_by_programme(means, best, linkage)
        assert found.at_least <= exact * (1 + 1e-9)
        assert exact <= found.plays * (1 + 1e-7)
        gaps.append(found.plays / found.at_least - 1)
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > 0.01


def test_a_solver_that_gives_up_is_asked_again_less_strictly(monkeypatch):
    means, best, linkage = np.array([0.2, 0.7, 0.4]), np.array([1]), find_linkage("ordered")
    expected = allocate_by_programme(means, best, linkage)
    asked = []

    def gives_up_at_first(*arguments, options, **others):
        asked.append(options["primal_feasibility_tolerance"])
        if asked[-1] < 1e-8:
            return OptimizeResult(x=None, fun=None, message="numerical trouble")
        return linprog(*arguments, options=options, **others)

    monkeypatch.setattr(programme, "linprog", gives_up_at_first)
    found = allocate_by_programme(means, best, linkage, tolerance=1e-5)
    assert found.plays == pytest.approx(expected.plays, rel=1e-5)
    assert asked[:2] == [1e-10, 1e-7]


def test_a_programme_that_cannot_be_solved_is_said_to_be_so(monkeypatch):
    failed = OptimizeResult(x=None, fun=None, message="numerical trouble")
    monkeypatch.setattr(programme, "linprog", lambda *_, **__: failed)
    with pytest.raises(lb.LinkedBanditError, match=r"not solved \(numerical trouble\); try means"):
        allocate_by_programme(np.array([0.2, 0.7]), np.array([1]), find_linkage("single"))
