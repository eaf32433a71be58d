"""The grid of the paper's experiment."""

from __future__ import annotations

import numpy as np

import linkedbandits as lb
from linkedbandits.study.reproduction.grid import DELTA, EGE, EGE_FRESH, paper_study


def test_every_scenario_goes_from_2_to_1000_arms_with_trials_enough():
    cells = paper_study().cells
    for family, scenario in lb.scenarios.SCENARIOS.items():
        sizes = {cell.instance.means.size for cell in cells if cell.instance.family == family}
        assert (min(sizes), max(sizes)) == (2, 1000)
        assert {10 * arms for arms in sizes if arms <= 100} <= sizes  # claims compare n with 10 n
        for cell in cells:
            if cell.instance.family == family:
                np.testing.assert_array_equal(cell.instance.means, scenario(cell.instance.means.size))
    assert all(cell.trials >= (1000 if cell.instance.means.size <= 100 else 100) for cell in cells)


def test_every_policy_has_the_same_delta_and_linked_ege_is_told_the_gap():
    for cell in paper_study().cells:
        assert (cell.delta, cell.linkage, cell.max_plays) == (DELTA, "ordered", None)
        if cell.label in (EGE, EGE_FRESH):
            first, second = np.sort(cell.instance.means)[::-1][:2]
            assert cell.policy.gap == first - second
            assert cell.policy.median == ("reuse" if cell.label == EGE else "fresh")


def test_the_quick_grid_has_the_same_policies():
    whole, quick = paper_study(), paper_study(quick=True)
    assert {cell.label for cell in whole.cells} == {cell.label for cell in quick.cells}
    assert sum(cell.trials * cell.instance.means.size for cell in quick.cells) < 50_000
