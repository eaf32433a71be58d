"""The exploration of what the fixed order costs, and the figure that the documentation draws of it."""

from __future__ import annotations

import numpy as np
import pytest

from linkedbandits.bounds import price_of_order
from linkedbandits.bounds.ordered_against_free import draw, explore, main, worst_with_best_mean


def test_the_search_for_the_worst_keeps_to_its_terms():
    means = worst_with_best_mean(0.6, 20, np.random.default_rng(1), looks=20)
    assert means.max() == 0.6
    assert np.count_nonzero(means == 0.6) == 1
    assert price_of_order(means).ratio > 1.4


@pytest.mark.slow
def test_the_exploration_and_its_figure(tmp_path):
    pytest.importorskip("matplotlib")
    families = explore(np.random.default_rng(1), draws=3, starts=0, looks=10)
    assert max(family.largest for family in families) > 1.5
    assert all(1 <= family.median <= family.largest <= 2 for family in families)
    for family in families:
        assert price_of_order(family.worst).ratio == pytest.approx(family.largest)
    draw(tmp_path / "figure.png", families, cells=5)
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_the_command_wants_a_path(capsys):
    assert main([]) == 2
    assert "FIGURE.png" in capsys.readouterr().err
