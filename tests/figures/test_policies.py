"""What policies needed, as pictures."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from linkedbandits.figures.policies import RIGHT, WRONG, Needed, Share, draw_distribution, draw_needed, draw_shares
from linkedbandits.figures.style import new_figure, series_styles

pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install 'linkedbandits[plot]'")


def distribution(plays, right):
    with new_figure(4, 3) as (_, axes):
        draw_distribution(axes, np.array(plays), np.array(right))
    return axes


def needed(**means):
    every = {name: Needed(mean, 2.0, 2 * mean, Share(0.1, 0.05, 0.2)) for name, mean in means.items()}
    with new_figure(4, 3) as (_, axes):
        draw_needed(axes, every, series_styles(every))
    return axes


def test_every_trial_is_in_a_bar_and_wrong_ones_have_their_colour():
    axes = distribution([10, 20, 20, 300], [True, True, False, True])
    from matplotlib.colors import to_hex

    heights = {}
    for container in axes.containers:
        colour = to_hex(container[0].get_facecolor()).upper()
        heights[colour] = sum(bar.get_height() for bar in container)
    assert heights == {RIGHT: 3, WRONG: 1}


def test_where_all_are_right_nothing_is_called_wrong():
    labels = distribution([10, 20], [True, True]).get_legend_handles_labels()[1]
    assert "wrong" not in labels


def test_the_mean_and_nine_in_ten_are_marked():
    axes = distribution([10, 20, 30, 40], [True] * 4)
    assert all(tick == round(tick) for tick in axes.get_yticks())
    assert {line.get_label(): line.get_xdata()[0] for line in axes.get_lines()} == pytest.approx(
        {"mean, 25": 25.0, "nine in ten, 37": 37.0}
    )


@pytest.mark.parametrize(("most", "scale"), [(29, "linear"), (31, "log")])
def test_a_wide_range_is_logarithmic(most, scale):
    assert distribution([1, most], [True, True]).get_xscale() == scale


@pytest.mark.parametrize("plays", [[0, 0], [7], [2**62, 5]])
def test_odd_counts_have_a_picture_too(plays):
    axes = distribution(plays, [True] * len(plays))
    assert sum(bar.get_height() for container in axes.containers for bar in container) == len(plays)


def test_shares_have_their_interval_and_delta_its_line():
    wrong = {"a": Share(0.1, 0.05, 0.2), "b": Share(0.0, 0.0, 0.04)}
    with new_figure(4, 3) as (_, axes):
        draw_shares(axes, wrong, series_styles(wrong), 0.1, named=True)
    lines = axes.get_lines()
    assert [list(line.get_xdata()) for line in lines[:4]] == [[0.05, 0.2], [0.1], [0.0, 0.04], [0.0]]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    assert lines[-1].get_label() == "delta, 10 %"
    assert axes.get_xlim()[0] == 0
    assert axes.xaxis.get_major_formatter()(0.025) == "2.5 %"


def test_every_row_is_measured_against_its_own_delta_where_they_differ():
    wrong = dict.fromkeys("abc", Share(0.1, 0.05, 0.2))
    with new_figure(4, 3) as (_, axes):
        draw_shares(axes, wrong, series_styles(wrong), {"a": 0.1, "b": 0.01, "c": None}, named=True)
    marks = [line for line in axes.get_lines() if line.get_linestyle() == "--" and len(line.get_xdata())]
    assert [(line.get_xdata()[0], *line.get_ydata()) for line in marks] == [(0.1, -0.4, 0.4), (0.01, 0.6, 1.4)]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["delta, where given"]
    with new_figure(4, 3) as (_, axes):
        draw_shares(axes, wrong, series_styles(wrong), dict.fromkeys(wrong, 0.2), named=True)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["delta, 20 %"]


def test_names_with_parameters_stay_whole_and_all_that_is_drawn_is_explained():
    axes = needed(**{"linked-elimination:epsilon=0.05,k=2": 100.0})
    assert [label.get_text() for label in axes.get_yticklabels()] == ["linked-elimination:epsilon=0.05,k=2"]
    explained = [text.get_text() for text in axes.get_legend().get_texts()]
    assert explained == ["mean", "its 95 % interval", "nine in ten trials need no more"]


def test_without_delta_and_names_there_is_neither():
    wrong = {"a": Share(0.1, 0.05, 0.2)}
    with new_figure(4, 3) as (_, axes):
        draw_shares(axes, wrong, series_styles(wrong), None, named=False)
    assert axes.get_legend() is None
    assert [label.get_text() for label in axes.get_yticklabels()] == [""]


def test_policies_are_rows_from_the_top_with_their_mean_and_its_interval():
    axes = needed(a=100.0, b=200.0)
    assert axes.get_ylim() == (1.5, -0.5)
    first = [list(line.get_xdata()) for line in axes.get_lines()[:4]]
    assert first == [[100, 200], [200], pytest.approx([96.08, 103.92], abs=0.01), [100]]
    assert axes.xaxis.get_major_formatter()(1500.0) == "1,500"
    assert axes.xaxis.get_major_formatter()(2e7) == "2e+07"


@pytest.mark.parametrize("draw", [lambda: distribution([40, 3_000], [True, True]), lambda: needed(a=30.0, b=400.0)])
def test_numbers_on_a_logarithmic_axis_do_not_touch_each_other(draw):
    axes = draw()
    axes.figure.draw_without_rendering()
    low, high = axes.get_xlim()
    labels = [label for label in axes.get_xticklabels(which="both") if low <= label.get_position()[0] <= high]
    boxes = sorted(label.get_window_extent().extents[[0, 2]].tolist() for label in labels if label.get_text())
    assert len(boxes) > 1
    assert all(left[1] < right[0] for left, right in pairwise(boxes))


@pytest.mark.parametrize(("most", "scale"), [(490.0, "linear"), (510.0, "log")])
def test_policies_far_apart_are_on_a_logarithmic_axis(most, scale):
    assert needed(a=100.0, b=most).get_xscale() == scale
