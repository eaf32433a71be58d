"""Plays against the number of arms."""

from __future__ import annotations

import numpy as np
import pytest

from linkedbandits.model import COUNT_LIMIT
from linkedbandits.study.figures import plays_by_arms

LOWER_BOUND = "lower bound for any policy"


def legend_of(figure):
    (legend,) = figure.legends
    return {text.get_text() for text in legend.get_texts()}


def test_every_policy_has_a_line_through_its_means_over_its_band(table, line):
    figure = plays_by_arms(
        table(
            {"arms": 10, "policy": "a", "plays_mean": 50.0, "lower_bound": 7.0},
            {"arms": 2, "policy": "a", "plays_mean": 20.0, "lower_bound": 3.0},
            {"arms": 2, "policy": "b", "plays_mean": 30.0, "lower_bound": 3.0},
            {"arms": 10, "policy": "b", "plays_mean": 90.0, "lower_bound": 7.0},
        )
    )
    (axes,) = figure.axes
    assert line(axes, "a") == [(2, 20), (10, 50)]
    assert line(axes, "b") == [(2, 30), (10, 90)]
    assert line(axes, LOWER_BOUND) == [(2, 3), (10, 7)]
    band = axes.collections[0].get_paths()[0].get_extents()
    assert (band.x0, band.x1, band.y0, band.y1) == pytest.approx((2, 10, 18, 55))
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("number of arms", "plays")
    assert legend_of(figure) == {"a", "b", LOWER_BOUND}


def test_policies_differ_in_colour_and_in_marker(table):
    rows = [{"arms": arms, "policy": policy} for arms in (2, 10) for policy in "abcde"]
    (axes,) = plays_by_arms(table(*rows)).axes
    drawn = [line for line in axes.get_lines() if line.get_label() in "abcde"]
    assert len({line.get_color() for line in drawn}) == 5
    assert len({line.get_marker() for line in drawn}) == 5


def test_runs_that_did_not_finish_are_shown_as_such(table, line):
    limit = float(COUNT_LIMIT)
    figure = plays_by_arms(
        table(
            {"arms": 2, "plays_mean": 20.0},
            {"arms": 10, "plays_mean": 50.0},
            {"arms": 100, "plays_mean": limit, "confident": 0.0},
        )
    )
    (axes,) = figure.axes
    assert line(axes, "p") == [(2, 20), (10, 50)]
    (open_mark,) = [
        line for line in axes.get_lines() if line.get_markerfacecolor() == "white" and line.get_xdata().size
    ]
    assert (open_mark.get_xdata()[0], open_mark.get_ydata()[0]) == (100, limit)
    arrows = [text for text in axes.texts if text.arrow_patch is not None]
    assert [arrow.xy for arrow in arrows] == [(100, limit)]
    assert any("largest count" in text.get_text() for text in axes.texts)
    assert axes.get_ylim()[1] > limit
    assert "open: unfinished (set side by side)" in legend_of(figure)


def test_a_budget_of_plays_is_not_called_the_largest_count(table):
    (axes,) = plays_by_arms(table({"arms": 2}, {"arms": 10, "plays_mean": 5000.0, "confident": 0.5})).axes
    assert not any("largest count" in text.get_text() for text in axes.texts)


def test_a_policy_with_a_given_effort_always_finishes(table, line):
    effort = {"delta": None, "lower_bound": None, "confident": 0.0}
    figure = plays_by_arms(table({"arms": 2, **effort}, {"arms": 10, **effort}))
    (axes,) = figure.axes
    assert [x for x, _ in line(axes, "p")] == [2, 10]
    assert legend_of(figure) == {"p"}


def test_every_family_linkage_and_delta_with_several_sizes_has_a_panel(table):
    rows = [
        {"family": family, "linkage": linkage, "delta": delta, "arms": arms}
        for family in ("x", "y")
        for linkage in ("ordered", "free")
        for delta in (0.1, 0.01)
        for arms in (2, 3)
    ]
    figure = plays_by_arms(table(*rows, {"family": "one size"}, {"family": None}, {"family": None, "arms": 9}))
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[:2] == ["x (ordered, delta 0.1)", "x (ordered, delta 0.01)"]
    assert len(titles) == 8


def test_instances_of_a_random_family_are_averaged(table, line):
    rows = [
        {"arms": 2, "plays_mean": 10.0, "plays_low": 7.0, "plays_high": 13.0, "lower_bound": 2.0, "instance": "a"},
        {"arms": 2, "plays_mean": 30.0, "plays_low": 26.0, "plays_high": 34.0, "lower_bound": 4.0, "instance": "b"},
        {"arms": 10},
    ]
    (axes,) = plays_by_arms(table(*rows)).axes
    assert line(axes, "p")[0] == (2, 20)
    assert line(axes, LOWER_BOUND)[0] == (2, 3)
    corners = axes.collections[0].get_paths()[0].vertices
    assert sorted(set(corners[np.isclose(corners[:, 0], 2), 1])) == pytest.approx([17.5, 22.5])  # 20 -+ hypot(3, 4) / 2


def test_a_bound_beyond_all_plays_leaves_the_picture(table):
    rows = [{"arms": 2}, {"arms": 10, "plays_mean": 4e18, "confident": 0.0, "lower_bound": 1e30}]
    (axes,) = plays_by_arms(table(*rows)).axes
    assert 4e18 < axes.get_ylim()[1] < 1e24


def test_the_bound_is_said_to_be_for_those_who_are_told_nothing_where_some_are_told(table, line):
    rows = [
        {"arms": arms, "policy": policy, "told": told, "bound_as_told": bound}
        for arms in (2, 10)
        for policy, told, bound in (("one", None, 100.0), ("two", "a gap of 0.1", 20.0))
    ]
    (axes,) = plays_by_arms(table(*rows)).axes
    assert {y for _, y in line(axes, "lower bound for any policy that is told nothing")} == {100}
