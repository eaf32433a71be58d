"""How many arms are still in as plays go on."""

from __future__ import annotations

import polars as pl

from linkedbandits.figures.style import series_styles
from linkedbandits.study.figures import TracePanel, arms_still_in


def trace(*trials):
    rows = [(number, plays, arms_in) for number, trial in enumerate(trials) for plays, arms_in in trial]
    return pl.DataFrame(rows, schema=["trial", "plays", "arms_in"], orient="row")


def test_the_strong_line_is_the_median_of_the_trials():
    traces = {"a": trace([(10, 2), (30, 1)], [(20, 2), (40, 1)], [(10, 3), (50, 2), (60, 1)])}
    (axes,) = arms_still_in([TracePanel("mine", 3, traces)]).axes
    strong, faint = [], []
    for line in axes.get_lines():
        if line.get_drawstyle() == "steps-post":
            (faint if line.get_alpha() else strong).append(line)
    assert len(faint) == 3
    (median,) = strong
    points = dict(zip(median.get_xdata(), median.get_ydata(), strict=True))
    assert points == {1: 3, 10: 3, 20: 2, 30: 2, 40: 1, 50: 1, 60: 1}
    assert axes.get_xlim()[0] == 5  # half of the plays at which the first arm went out
    assert axes.get_xscale() == "log"


def test_between_two_middle_trials_the_median_is_the_lower_one():
    traces = {"a": trace([(10, 1)], [(20, 1)])}
    (axes,) = arms_still_in([TracePanel("mine", 4, traces)]).axes
    (median,) = [line for line in axes.get_lines() if line.get_drawstyle() == "steps-post" and not line.get_alpha()]
    assert list(median.get_ydata()) == [4, 1, 1]


def test_many_arms_are_counted_on_a_logarithmic_axis():
    few, many = arms_still_in(
        [TracePanel("few", 3, {"a": trace([(10, 1)])}), TracePanel("many", 300, {"a": trace([(10, 1)])})]
    ).axes
    assert (few.get_yscale(), many.get_yscale()) == ("linear", "log")


def test_of_many_trials_the_first_are_drawn_faintly_and_all_count_for_the_median():
    early, late = [(10, 1)], [(1000, 1)]
    (axes,) = arms_still_in([TracePanel("mine", 3, {"a": trace(*[early] * 20, *[late] * 30)})]).axes
    faint = [line for line in axes.get_lines() if line.get_drawstyle() == "steps-post" and line.get_alpha()]
    assert [line.get_xdata().tolist() for line in faint] == [[1, 10]] * 20
    (median,) = [line for line in axes.get_lines() if line.get_drawstyle() == "steps-post" and not line.get_alpha()]
    assert dict(zip(median.get_xdata(), median.get_ydata(), strict=True)) == {1: 3, 10: 3, 1000: 1}


def test_a_mark_stands_where_the_median_ends_and_policies_keep_their_look():
    panels = [
        TracePanel("first", 3, {"a": trace([(10, 1)]), "b": trace([(30, 2), (50, 1)])}),
        TracePanel("second", 3, {"b": trace([(70, 1)])}),
    ]
    figure = arms_still_in(panels)
    first, second = figure.axes
    ends = {
        line.get_marker(): (line.get_xdata()[0], line.get_ydata()[0], line.get_color())
        for axes in (first, second)
        for line in axes.get_lines()
        if len(line.get_xdata()) == 1
    }
    styles = series_styles(["a", "b"])
    assert ends == {styles["a"].marker: (10, 1, styles["a"].colour), styles["b"].marker: (70, 1, styles["b"].colour)}
    assert [axes.get_title(loc="left") for axes in (first, second)] == ["first", "second"]
    (legend,) = figure.legends
    assert {text.get_text() for text in legend.get_texts()} == {"a", "b", "single trials", "their median"}


def test_the_axes_count_whole_arms_from_none_to_all():
    (axes,) = arms_still_in([TracePanel("mine", 3, {"a": trace([(10, 1)])})]).axes
    assert axes.get_ylim() == (0, 3.5)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("plays", "arms still in")
    assert all(tick == int(tick) for tick in axes.get_yticks())


def test_a_policy_of_which_no_arm_goes_out_does_not_move_the_beginning_of_the_axis():
    traces = {"a": trace([(40, 1)]), "idle": trace([(7, 3)])}
    (axes,) = arms_still_in([TracePanel("mine", 3, traces)]).axes
    assert axes.get_xlim()[0] == 20


def test_policies_that_take_no_arm_out_are_named():
    figure = arms_still_in([TracePanel("mine", 3, {"a": trace([(10, 1)])}, others=("b",))])
    (legend,) = figure.legends
    assert "b: takes no arm out" in [text.get_text() for text in legend.get_texts()]
