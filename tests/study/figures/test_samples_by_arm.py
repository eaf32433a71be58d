"""Samples by arm, beside the optimal proportions."""

from __future__ import annotations

import numpy as np

from linkedbandits.bounds import characteristic_time
from linkedbandits.study.figures import SamplesPanel, samples_by_arm


def test_optimal_proportions_are_bars_and_policies_are_marks():
    time = characteristic_time([0.3, 0.1, 0.2])
    measured = {"a": np.array([0.5, 0.4, 0.3]), "b": np.array([0.9, 0.1, 0.1])}
    figure = samples_by_arm([SamplesPanel("mine", time, measured)])
    (axes,) = figure.axes
    assert [bar.get_height() for bar in axes.patches] == list(time.proportions)
    marks = {line.get_label(): list(line.get_ydata()) for line in axes.get_lines()}
    assert marks == {"a": [0.5, 0.4, 0.3], "b": [0.9, 0.1, 0.1]}
    assert axes.get_title(loc="left") == "mine"
    (legend,) = figure.legends
    assert {text.get_text() for text in legend.get_texts()} == {"optimal proportions", "a", "b"}


def test_a_policy_looks_the_same_in_every_panel_and_is_in_the_legend_once():
    time = characteristic_time([0.3, 0.1])
    panels = [
        SamplesPanel("first", time, {"a": np.array([0.5, 0.4]), "b": np.array([0.9, 0.1])}),
        SamplesPanel("second", characteristic_time([0.3, 0.1], "free"), {"b": np.array([0.2, 0.3])}),
    ]
    figure = samples_by_arm(panels)
    first, second = figure.axes
    looks = {line.get_label(): (line.get_color(), line.get_marker()) for line in first.get_lines()}
    (alone,) = second.get_lines()
    assert (alone.get_color(), alone.get_marker()) == looks["b"] != looks["a"]
    assert [axes.get_title(loc="left") for axes in (first, second)] == ["first", "second"]
    assert [axes.get_xlabel() for axes in (first, second)] == ["arm, in the order tried", "arm"]
    (legend,) = figure.legends
    assert sorted(text.get_text() for text in legend.get_texts()) == ["a", "b", "optimal proportions"]
