"""How many arms are still in as plays go on."""

from __future__ import annotations

import polars as pl

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
