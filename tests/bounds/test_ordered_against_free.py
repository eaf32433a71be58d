"""The exploration of what the fixed order costs, and the figure that the documentation draws of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from linkedbandits.bounds import ordered_against_free, price_of_order
from linkedbandits.bounds.ordered_against_free import Family, draw, explore, main, worst_with_best_mean
from linkedbandits.scenarios import increasing, one_sparse

BEST_MEANS = list(ordered_against_free._BEST_MEANS)


def test_the_search_for_the_worst_keeps_to_its_terms():
    means = worst_with_best_mean(0.6, 20, np.random.default_rng(1), starts=0, looks=20)
    assert means.max() == 0.6
    assert np.count_nonzero(means == 0.6) == 1
    assert price_of_order(means).ratio > 1.4


@pytest.mark.slow
def test_the_exploration(monkeypatch):
    monkeypatch.setattr(ordered_against_free, "_SIZES", (2, 20, 200))
    monkeypatch.setattr(ordered_against_free, "_BEST_MEANS", (0.1, 0.6, 1.0))
    families = explore(np.random.default_rng(1), draws=3, starts=0, looks=6)
    assert max(family.largest for family in families) > 1.5
    assert all(1 <= family.median <= family.largest <= 2 for family in families)
    for family in families:
        assert price_of_order(family.worst).ratio == pytest.approx(family.largest)
    names = [family.name for family in families]
    assert len(set(names)) == len(names) == 4 + 9 + 2 * 3  # scenarios, random ones, and the worst found
    assert {family.instances for family in families[4:13]} == {3}


def test_a_family_is_summed_up_with_its_worst_instance():
    instances = [np.array([0.1, 0.9]), np.array([1.0, 0.0]), np.array([0.9, 0.2])]
    ratios = [price_of_order(means).ratio for means in instances]
    family = Family.of("mine", instances)
    assert (family.name, family.instances) == ("mine", 3)
    assert family.largest == max(ratios) == ratios[1]
    assert family.median == sorted(ratios)[1]
    assert family.worst is instances[1]


@pytest.fixture(scope="module")
def figure():
    """The panels of the figure, drawn on a coarse grid of means and kept from the disk."""
    matplotlib = pytest.importorskip("matplotlib.figure", reason="needs matplotlib: pip install 'linkedbandits[plot]'")
    kept = []
    found = [
        Family(f"worst found, best mean {best:g}, {name}", 1, height, height + best / 10, np.array([best, 0.0]))
        for name, height in (("at most 4 arms", 1.2), ("groups of up to 1000 arms", 1.8))
        for best in BEST_MEANS
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matplotlib.Figure, "savefig", lambda self, path, **_: kept.append((self, path)))
        draw(Path("x.png"), [Family("another", 1, 1.0, 1.0, np.array([1.0, 0.0])), *found], cells=4)
    ((drawn, path),) = kept
    assert path == Path("x.png")
    return drawn


def test_the_scenarios_are_drawn_as_what_they_cost(figure):
    scenarios = next(axes for axes in figure.axes if axes.get_title() == "the paper's scenarios")
    curves = {line.get_label(): line for line in scenarios.get_lines()}
    assert set(curves) == {"one-sparse, best first", "one-sparse, best last", "decreasing", "increasing"}
    arms = curves["decreasing"].get_xdata()
    assert (min(arms), max(arms)) == (2, 1000)
    for label, make in (("increasing", increasing), ("one-sparse, best last", lambda n: one_sparse(n, best=n - 1))):
        ratio = price_of_order(make(5)).ratio
        assert dict(zip(arms, curves[label].get_ydata(), strict=True))[5] == pytest.approx(ratio)
    assert scenarios.get_xscale() == "log"


def test_the_worst_that_was_found_is_drawn_below_what_is_proved(figure):
    worst = next(axes for axes in figure.axes if axes.get_title() == "largest ratio found")
    curves = {line.get_label(): line for line in worst.get_lines()}
    assert list(curves["at most 4 arms"].get_xdata()) == BEST_MEANS
    assert list(curves["at most 4 arms"].get_ydata()) == pytest.approx([1.2 + best / 10 for best in BEST_MEANS])
    assert list(curves["groups of up to 1000 arms"].get_ydata()) == pytest.approx([1.8 + b / 10 for b in BEST_MEANS])
    assert set(curves["never more than 2"].get_ydata()) == {2}
    assert worst.get_ylim()[1] > 2


def test_the_colours_of_two_arms_go_from_no_price_to_twice(figure):
    pairs = next(axes for axes in figure.axes if axes.get_title() == "two arms")
    levels = pairs.collections[0].levels
    assert (levels[0], levels[-1]) == (1, 2)
    assert (pairs.get_xlabel(), pairs.get_ylabel()) == ("mean of the first arm", "mean of the second arm")


def test_the_command_wants_a_path(capsys):
    assert main([]) == 2
    assert "FIGURE.png" in capsys.readouterr().err


def test_the_command_prints_a_line_a_family_and_draws_to_the_path(monkeypatch, capsys):
    families = [Family("mine", 12, 1.25, 1.5, np.array([1.0, 0.0])), Family("yours", 3, 1.0, 2.0, np.array([1.0, 0.0]))]
    drawn = []
    monkeypatch.setattr(ordered_against_free, "explore", lambda rng: families)
    monkeypatch.setattr(ordered_against_free, "draw", lambda *given: drawn.append(given))
    assert main(["some.png"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows == [
        ["family", "instances", "median", "largest"],
        ["mine", "12", "1.250", "1.500"],
        ["yours", "3", "1.000", "2.000"],
    ]
    assert drawn == [(Path("some.png"), families)]
