"""What the figures of a study share: panels, one legend, curves over bands, and plain numbers on the axes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkedbandits.figures.style import COLOURS, new_figure, series_styles
from linkedbandits.study.figures import errors_by_delta, plays_by_delta
from linkedbandits.study.figures.panels import (
    Point,
    arrows_up,
    band,
    curve,
    described,
    explain_open,
    finished,
    grouped,
    logarithmic,
    panel_figure,
    panels_over_delta,
)

STYLE = series_styles(["one"])["one"]


@pytest.fixture
def axes():
    with new_figure(4, 3) as (_, made):
        yield made


def legend_of(figure):
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


@pytest.mark.parametrize(("count", "columns"), [(1, 1), (3, 1), (4, 2), (5, 2)])
def test_few_panels_stand_below_each_other_and_more_in_two_columns(count, columns):
    with panel_figure(count) as (figure, panels):
        panels[0].plot([1], [1], label="x")
    assert len(panels) == count
    grid = panels[0].get_subplotspec().get_gridspec()
    assert (grid.nrows, grid.ncols) == (-(-count // columns), columns)
    hidden = [axes for axes in figure.axes if axes not in panels]
    assert len(hidden) == grid.nrows * grid.ncols - count
    assert not any(axes.axison for axes in hidden)


def test_a_label_is_in_the_legend_once_though_panels_share_it():
    with panel_figure(2) as (figure, (first, second)):
        first.plot([1], [1], label="both")
        second.plot([1], [1], label="both")
        second.plot([1], [1], label="one")
    assert legend_of(figure) == ["both", "one"]


def test_a_figure_grows_by_the_lines_that_its_legend_takes():
    heights = []
    for names in (["a"], [f"a policy with a long name {number}" for number in range(12)]):
        with panel_figure(1) as (figure, (panel,)):
            for name in names:
                panel.plot([1], [1], label=name)
        heights.append(figure.get_figheight())
    assert heights[1] > heights[0] + 5 * 0.2  # two of such names fit beside each other


@given(st.lists(st.tuples(st.integers(0, 3), st.integers())))
def test_grouping_keeps_all_rows_in_order_and_keys_as_they_first_come_up(rows):
    groups = grouped(rows, lambda row: row[0])
    assert list(groups) == list(dict.fromkeys(key for key, _ in rows))
    for key, group in groups.items():
        assert group == [row for row in rows if row[0] == key]


@pytest.mark.parametrize(
    ("delta", "confident", "all_done"), [(0.1, 1.0, True), (0.1, 0.99, False), (None, 0.0, True), (None, 1.0, True)]
)
def test_runs_that_are_to_be_confident_have_finished_when_all_of_them_are(delta, confident, all_done):
    assert finished({"delta": delta, "confident": confident}) is all_done


def test_a_panel_is_described_with_its_delta_if_it_has_one():
    assert (described("free", 0.001), described("free", None)) == ("free, delta 0.001", "free")


def test_a_single_trial_has_a_band_of_no_width():
    row = {"plays_mean": 7.0, "plays_low": None, "plays_high": None}
    assert band(row) == (7.0, 7.0)
    assert band({"plays_mean": 7.0, "plays_low": 6.5, "plays_high": 8.0}) == (6.5, 8.0)


def test_rows_over_delta_are_those_of_instances_with_more_than_one(table):
    rows = [
        {"instance": "two", "delta": 0.1, "linkage": "free"},
        {"instance": "two", "delta": 0.2, "linkage": "free"},
        {"instance": "two", "delta": 0.1, "linkage": "single"},
        {"instance": "effort", "delta": None},
    ]
    panels = panels_over_delta(table(*rows))
    assert {key: [row["delta"] for row in panel] for key, panel in panels.items()} == {("two", "free"): [0.1, 0.2]}
    drawable = [{**row, "lower_bound": None, "bound_as_told": None} if row["delta"] is None else row for row in rows]
    for draw in (plays_by_delta, errors_by_delta):
        (drawn,) = draw(table(*drawable)).axes
        assert drawn.get_title(loc="left") == "two (free)"


POINTS = [Point(10, 5, 4, 6), Point(1, 2, 1, 3), Point(5, 9, 8, 12, open=True)]


def test_a_curve_goes_through_its_finished_points_from_left_to_right_over_their_band(axes, line):
    curve(axes, POINTS, STYLE, "mine")
    assert line(axes, "mine") == [(1, 2), (10, 5)]
    (filled,) = axes.collections
    corners = {tuple(corner) for corner in filled.get_paths()[0].vertices}
    assert corners == {(1, 1), (1, 3), (10, 4), (10, 6)}
    drawn = axes.get_lines()[0]
    assert (drawn.get_color(), drawn.get_marker(), drawn.get_linestyle()) == (COLOURS[0], STYLE.marker, STYLE.line)


def test_open_points_are_white_marks_moved_aside_with_an_arrow_up(axes):
    curve(axes, POINTS, STYLE, "mine", beside=1.1)
    arrows_up(axes, POINTS, STYLE, beside=1.1)
    (mark,) = [drawn for drawn in axes.get_lines() if drawn.get_markerfacecolor() == "white"]
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (pytest.approx(5.5), 9)
    (arrow,) = axes.texts
    assert arrow.xy == (pytest.approx(5.5), 9)
    assert (arrow.xyann[0], arrow.xyann[1] > 0) == (0, True)


def test_a_curve_without_a_finished_point_is_still_in_the_legend(axes, line):
    curve(axes, [Point(5, 9, 8, 12, open=True)], STYLE, "mine")
    assert line(axes, "mine") == []
    assert axes.get_legend_handles_labels()[1] == ["mine"]


def test_open_marks_are_explained_where_there_are_any(axes):
    explain_open(axes, [{"delta": 0.1, "confident": 1.0}, {"delta": None, "confident": 0.0}])
    assert axes.get_legend_handles_labels()[1] == []
    explain_open(axes, [{"delta": 0.1, "confident": 1.0}, {"delta": 0.1, "confident": 0.5}])
    assert axes.get_legend_handles_labels()[1] == ["open: unfinished (set side by side)"]


def numbers_on(axis):
    """What is written beside an axis that is seen, large ticks and small ones."""
    axis.axes.figure.draw_without_rendering()
    low, high = sorted(axis.get_view_interval())
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    return {tick.label1.get_text() for tick in ticks if low <= tick.get_loc() <= high} - {""}


@pytest.mark.parametrize("direction", ["x", "y"])
def test_few_numbers_are_written_out_on_a_logarithmic_axis(axes, direction):
    logarithmic(axes, direction, [0.1, 0.001, 0.1, 30])
    axes.set(xlim=(1e-4, 100), ylim=(1e-4, 100))
    axis = getattr(axes, f"{direction}axis")
    assert axis.get_scale() == "log"
    assert numbers_on(axis) == {"0.001", "0.1", "30"}


def test_many_numbers_or_one_leave_it_to_powers_of_ten_as_plain_numbers(axes):
    logarithmic(axes, "x", range(1, 8))
    logarithmic(axes, "y", [7])
    axes.set(xlim=(0.5, 2000), ylim=(0.5, 2000))
    assert numbers_on(axes.xaxis) == numbers_on(axes.yaxis) == {"1", "10", "100", "1,000"}


def test_a_short_axis_has_twos_and_fives_between_its_powers(axes):
    logarithmic(axes, "y", [])
    axes.set_ylim(3, 140)
    assert numbers_on(axes.yaxis) == {"5", "10", "20", "50", "100"}
