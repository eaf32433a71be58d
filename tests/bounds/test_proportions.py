"""Where samples should go and where they went: what the picture says."""

from __future__ import annotations

import numpy as np
import pytest

from linkedbandits.bounds import characteristic_time, proportions
from linkedbandits.bounds.proportions import draw_proportions, plot_proportions
from linkedbandits.figures.style import new_figure, series_styles

pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install 'linkedbandits[plot]'")


def panel(means, measured, linkage="ordered"):
    """The characteristic time, and the axes that were filled."""
    time = characteristic_time(means, linkage)
    with new_figure(6, 4) as (_, axes):
        plot_proportions(axes, time, measured, series_styles(measured))
    return time, axes


def test_bars_are_the_optimal_proportions_at_their_arms():
    time, axes = panel([0.3, 0.1, 0.2], {})
    assert [bar.get_height() for bar in axes.patches] == time.proportions.tolist()
    assert [bar.get_x() + bar.get_width() / 2 for bar in axes.patches] == pytest.approx([0, 1, 2])
    assert axes.get_legend_handles_labels()[1] == ["optimal proportions"]


def test_marks_are_what_was_measured_with_the_look_of_their_policy():
    measured = {"a": np.array([0.5, 0.4, 0.3]), "b": np.array([0.9, 0.1, 0.2])}
    _, axes = panel([0.3, 0.1, 0.2], measured)
    for name, line in zip("ab", axes.get_lines(), strict=True):
        style = series_styles(measured)[name]
        assert (line.get_label(), line.get_color(), line.get_marker()) == (name, style.colour, style.marker)
        assert list(line.get_ydata()) == measured[name].tolist()
        assert line.get_linestyle() == "None"  # arms are no continuum


@pytest.mark.parametrize("policies", [1, 2, 5, 12])
def test_marks_stand_beside_each_other_within_the_bar_of_their_arm(policies):
    measured = {str(number): np.array([0.5, 0.5, 0.5]) for number in range(policies)}
    _, axes = panel([0.3, 0.1, 0.2], measured)
    places = np.array([line.get_xdata() for line in axes.get_lines()])
    beside = places - np.arange(3)
    assert beside.mean(axis=0) == pytest.approx([0, 0, 0], abs=1e-9)
    assert np.abs(beside).max() < 0.4  # half of a bar
    assert (np.diff(beside, axis=0) > 0.05).all()


@pytest.mark.parametrize(("linkage", "label"), [("ordered", "arm, in the order tried"), ("free", "arm")])
def test_only_where_there_is_an_order_the_axis_speaks_of_it(linkage, label):
    _, axes = panel([0.3, 0.1], {}, linkage)
    assert (axes.get_xlabel(), axes.get_ylabel()) == (label, "samples a play")
    assert axes.get_ylim()[0] == 0


@pytest.mark.parametrize(
    ("arms", "ticks"), [(3, [0, 1, 2]), (12, list(range(12))), (13, [0, 5, 10]), (30, [0, 5, 10, 15, 20, 25])]
)
def test_few_arms_are_numbered_one_by_one_and_more_by_fives(arms, ticks):
    _, axes = panel(np.linspace(0.9, 0.1, arms), {})
    assert axes.get_xticks().tolist() == ticks


def test_beyond_thirty_arms_their_numbers_are_left_to_the_axis():
    _, axes = panel(np.linspace(0.9, 0.1, 31), {})
    assert axes.get_xticks().tolist() != list(range(0, 31, 5))


def test_many_arms_have_bars_without_gaps_and_small_marks():
    def look(arms):
        _, axes = panel(np.linspace(0.9, 0.1, arms), {"a": np.full(arms, 0.1)})
        return axes.patches[0].get_width(), axes.get_lines()[0].get_markersize()

    assert (look(60), look(61)) == ((0.8, 5), (1.0, 2.5))


@pytest.mark.parametrize(("arms", "width"), [(2, 6.0), (20, 10.0), (100, 14.0)])
def test_the_picture_grows_with_the_arms_and_says_its_linkage(tmp_path, monkeypatch, arms, width):
    drawn = []
    monkeypatch.setattr(proportions, "save", lambda figure, path: drawn.append((figure, path)))
    means = np.linspace(0.9, 0.1, arms)
    draw_proportions(tmp_path / "x.svg", means, characteristic_time(means, "free"), {"mine": means})
    ((figure, path),) = drawn
    assert path == tmp_path / "x.svg"
    assert figure.get_figwidth() == pytest.approx(width)
    (axes,) = figure.axes
    assert axes.get_title(loc="left") == "Where samples go, linkage free"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["mine", "optimal proportions"]
