"""Every bin alike, to the end of the budget."""

from __future__ import annotations

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.lidar import EvenGates


@pytest.mark.parametrize("linkage", ["ordered", "free"])
def test_bins_have_nearly_the_same_samples_when_the_cycles_run_out(linkage):
    runs = lb.simulate(np.full(30, 0.1), EvenGates(), linkage=linkage, trials=5, seed=2, max_plays=800)
    assert (runs.plays == 800).all()
    assert (runs.samples.max(axis=1) <= 1.06 * runs.samples.min(axis=1) + 1).all()


def test_under_the_ordered_linkage_it_costs_what_suffix_sampling_does():
    """A level of t samples takes t + X_1 + ... + X_{n-1} cycles, so 2,000 cycles reach about 2000 / (1 + 2.9)."""
    runs = lb.simulate(np.full(30, 0.1), EvenGates(), trials=50, seed=2, max_plays=2000)
    assert runs.samples.mean() == pytest.approx(2000 / 3.9, rel=0.05)
