"""Plays over the lower bound, against delta."""

from __future__ import annotations

from linkedbandits.study.figures import plays_by_delta


def test_plays_are_divided_by_the_bound_of_their_delta(table, line):
    figure = plays_by_delta(
        table(
            {"delta": 0.1, "plays_mean": 400.0, "lower_bound": 100.0},
            {"delta": 0.001, "plays_mean": 600.0, "lower_bound": 300.0},
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


def test_an_instance_without_a_bound_has_no_ratio(table, line):
    rows = [{"delta": 0.1, "lower_bound": None}, {"delta": 0.2, "lower_bound": None}]
    (axes,) = plays_by_delta(table(*rows)).axes
    assert line(axes, "p") == []
