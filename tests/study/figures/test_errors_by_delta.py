"""Errors against delta."""

from __future__ import annotations

import pytest

from linkedbandits.study.figures import errors_by_delta


def marks_of(axes, marker):
    return [
        (line.get_xdata()[0], line.get_ydata()[0], line.get_markerfacecolor())
        for line in axes.get_lines()
        if line.get_marker() == marker and len(line.get_xdata())
    ]


def test_errors_have_their_interval_and_the_line_of_what_is_allowed(table, line):
    figure = errors_by_delta(
        table(
            {"delta": 0.1, "sure_and_wrong": 0.05, "sure_low": 0.03, "sure_high": 0.08},
            {"delta": 0.01, "sure_and_wrong": 0.002, "sure_low": 0.001, "sure_high": 0.006},
        )
    )
    (axes,) = figure.axes
    assert line(axes, "error = delta") == [(0.01, 0.01), (0.1, 0.1)]
    assert [mark[:2] for mark in marks_of(axes, "o")] == [(0.1, 0.05), (0.01, 0.002)]
    bars = [list(line.get_ydata()) for line in axes.get_lines() if list(line.get_xdata()) == [0.1, 0.1]]
    assert bars == [[0.03, 0.08]]


def test_no_error_at_all_sits_on_the_foot_of_the_panel_which_says_0(table):
    (axes,) = errors_by_delta(table({"delta": 0.1}, {"delta": 0.01})).axes
    foot = axes.get_ylim()[0]
    assert [mark[1] for mark in marks_of(axes, "o")] == [foot, foot]
    assert foot == pytest.approx(0.01 / 3)  # below the least delta
    assert [text.get_text() for text in axes.texts] == ["0"]
    marks = [line for line in axes.get_lines() if line.get_marker() == "o" and len(line.get_xdata())]
    assert not any(mark.get_clip_on() for mark in marks)  # else the lower half would be cut off


def test_error_marks_of_unfinished_runs_are_open(table):
    (axes,) = errors_by_delta(table({"delta": 0.1, "confident": 0.5}, {"delta": 0.01})).axes
    assert [mark[2] == "white" for mark in marks_of(axes, "o")] == [True, False]


def test_policies_stand_beside_each_other(table):
    rows = [{"delta": delta, "policy": policy} for delta in (0.1, 0.01) for policy in "abc"]
    (axes,) = errors_by_delta(table(*rows)).axes
    places = [x for marker in "os^" for x, _, _ in marks_of(axes, marker)]
    assert len(set(places)) == 6


def test_marks_stand_around_their_delta_in_the_order_of_the_policies(table):
    rows = [{"delta": delta, "policy": policy} for delta in (0.1, 0.01) for policy in "abc"]
    (axes,) = errors_by_delta(table(*rows)).axes
    first, middle, last = (marks_of(axes, marker)[0][0] for marker in "os^")
    assert middle == pytest.approx(0.1)
    assert first < middle < last
    assert first * last == pytest.approx(0.1**2)


def test_an_interval_that_begins_at_no_error_begins_at_the_foot(table):
    rows = [
        {"delta": 0.1, "sure_and_wrong": 0.01, "sure_low": 0.0, "sure_high": 0.05},
        {"delta": 0.01, "sure_and_wrong": 0.004, "sure_low": 0.002, "sure_high": 0.006},
    ]
    (axes,) = errors_by_delta(table(*rows)).axes
    foot = axes.get_ylim()[0]
    assert foot == pytest.approx(0.002 / 3)  # below the least end of an interval, and below the least delta
    bars = [list(line.get_ydata()) for line in axes.get_lines() if list(line.get_xdata()) == [0.1, 0.1]]
    assert bars == [[foot, 0.05]]


def test_axes_and_legend_say_what_is_what(table):
    figure = errors_by_delta(table({"delta": 0.1, "confident": 0.5}, {"delta": 0.01}))
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("delta", "share of wrong answers")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.01", "0.1"]
    assert axes.get_title(loc="left") == "i (ordered)"
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "error = delta",
        "p",
        "open: unfinished (set side by side)",
    ]


def test_a_policy_without_a_delta_is_a_line_and_the_legend_says_why(table, line):
    rows = [{"delta": 0.1}, {"delta": 0.01}, {"delta": None, "policy": "mine", "error_rate": 0.07}]
    figure = errors_by_delta(table(*rows))
    (axes,) = figure.axes
    assert {y for _, y in line(axes, "mine (has no delta)")} == {0.07}
    assert "mine (has no delta)" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_a_policy_without_a_delta_that_is_never_wrong_is_on_the_foot(table, line):
    (axes,) = errors_by_delta(table({"delta": 0.1}, {"delta": 0.01}, {"delta": None, "policy": "mine"})).axes
    assert {y for _, y in line(axes, "mine (has no delta)")} == {axes.get_ylim()[0]}
