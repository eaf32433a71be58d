"""Plays over the lower bound, against delta."""

from __future__ import annotations

import pytest

from linkedbandits.study.figures import plays_by_delta


def test_plays_are_divided_by_the_bound_of_their_delta(table, line):
    figure = plays_by_delta(
        table(
            {"delta": 0.1, "plays_mean": 400.0, "bound_as_told": 100.0},
            {"delta": 0.001, "plays_mean": 600.0, "bound_as_told": 300.0},
        )
    )
    (axes,) = figure.axes
    assert line(axes, "p") == [(0.001, 2), (0.1, 4)]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("delta", "plays / lower bound")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.001", "0.1"]
    assert axes.get_ylim()[0] < 1  # the bound itself is in the picture


def test_a_ratio_of_unfinished_runs_is_open_and_points_up(table, line):
    figure = plays_by_delta(table({"delta": 0.1}, {"delta": 0.001, "plays_mean": 600.0, "confident": 0.9}))
    (axes,) = figure.axes
    assert line(axes, "p") == [(0.1, 10)]
    assert [text.xy for text in axes.texts] == [(0.001, 6)]
    (legend,) = figure.legends
    assert "open: unfinished (set side by side)" in [text.get_text() for text in legend.get_texts()]


def test_an_instance_without_a_bound_has_its_plays_drawn(table, line):
    rows = [{"delta": 0.1, "bound_as_told": None}, {"delta": 0.2, "bound_as_told": None, "plays_mean": 400.0}]
    figure = plays_by_delta(table(*rows))
    (axes,) = figure.axes
    assert line(axes, "p") == [(0.1, 1000), (0.2, 400)]
    assert axes.get_ylabel() == "plays"
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["p"]


def test_policies_without_a_bound_have_no_ratio_beside_those_with_one(table, line):
    rows = [{"delta": delta, "policy": policy} for delta in (0.1, 0.2) for policy in ("p", "q")]
    without = [{**row, "bound_as_told": None} if row["policy"] == "q" else row for row in rows]
    (axes,) = plays_by_delta(table(*without)).axes
    assert (line(axes, "q"), len(line(axes, "p"))) == ([], 2)


def test_the_bound_itself_is_a_line_at_1_and_every_policy_is_in_the_legend(table, line):
    rows = [{"delta": delta, "policy": policy} for delta in (0.1, 0.01) for policy in ("one", "two")]
    figure = plays_by_delta(table(*rows))
    (axes,) = figure.axes
    assert {y for _, y in line(axes, "lower bound")} == {1}
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["lower bound", "one", "two"]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_the_band_is_divided_by_the_bound_as_well(table):
    (axes,) = plays_by_delta(table({"delta": 0.1, "plays_mean": 400.0}, {"delta": 0.01, "plays_mean": 800.0})).axes
    corners = axes.collections[0].get_paths()[0].vertices
    assert (corners[:, 1].min(), corners[:, 1].max()) == pytest.approx((3.6, 8.8))


def test_a_bound_that_is_infinite_gives_no_ratio(table, line):
    (axes,) = plays_by_delta(table({"delta": 0.1}, {"delta": 0.01, "bound_as_told": float("inf")})).axes
    assert [x for x, _ in line(axes, "p")] == [0.1]


def test_every_instance_and_linkage_has_a_panel_of_its_own_rows(table, line):
    rows = [
        {"instance": instance, "linkage": linkage, "delta": delta, "plays_mean": 100.0 * number}
        for number, (instance, linkage) in enumerate([("a", "free"), ("a", "single"), ("b", "free")], 1)
        for delta in (0.1, 0.01)
    ]
    panels = plays_by_delta(table(*rows)).axes[:3]
    assert [axes.get_title(loc="left") for axes in panels] == ["a (free)", "a (single)", "b (free)"]
    assert [line(axes, "p")[0][1] for axes in panels] == [1, 2, 3]


def test_where_a_policy_is_told_something_the_line_says_whose_bound_it_is(table, line):
    rows = [
        {"delta": delta, "policy": policy, "told": told, "lower_bound": 100.0, "bound_as_told": bound}
        for delta in (0.1, 0.01)
        for policy, told, bound in (("one", None, 100.0), ("two", "a gap of 0.1", 20.0))
    ]
    (axes,) = plays_by_delta(table(*rows)).axes
    assert {y for _, y in line(axes, "lower bound for those told as much")} == {1}
    assert {y for _, y in line(axes, "two")} == {50}


def test_a_policy_without_a_delta_has_no_bound_and_the_legend_says_so(table, line):
    rows = [{"delta": 0.1}, {"delta": 0.01}, {"delta": None, "policy": "mine", "bound_as_told": None}]
    figure = plays_by_delta(table(*rows))
    said = "mine: has no delta, so no bound to draw it over"
    assert said in [text.get_text() for text in figure.legends[0].get_texts()]
    assert line(figure.axes[0], said) == []


def test_a_policy_without_a_delta_is_a_line_where_plays_are_drawn(table, line):
    rows = [{"delta": 0.1}, {"delta": 0.01}, {"delta": None, "policy": "mine", "plays_mean": 70.0}]
    figure = plays_by_delta(table(*[{**row, "bound_as_told": None} for row in rows]))
    assert {y for _, y in line(figure.axes[0], "mine (has no delta)")} == {70.0}
