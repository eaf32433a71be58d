"""Numbers along logarithmic axes are few, plain, and 1, 2 or 5 times a power of ten."""

from __future__ import annotations

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install 'linkedbandits[plot]'")

from linkedbandits.figures.style import logarithmic_axis, new_figure

WRITTEN = {
    (10, 60): ["10", "20", "50"],
    (30, 900): ["50", "100", "200", "500"],
    (20, 1_000): ["20", "50", "100", "200", "500", "1,000"],
    (15, 9_000): ["100", "1,000"],
    (0.5, 2e8): ["1", "100", "10,000", "1,000,000", "1e+08"],
    (0.0004, 0.02): ["0.0005", "0.001", "0.002", "0.005", "0.01", "0.02"],
    (210, 480): ["300", "400"],
}


def test_where_there_is_no_room_powers_are_enough():
    with new_figure(2, 2) as (figure, axes):
        logarithmic_axis(axes, "x")
        axes.set_xlim(300, 12_000)
        figure.draw_without_rendering()
        assert [label.get_text() for label in axes.get_xticklabels()] == ["1,000", "10,000"]


@pytest.mark.parametrize(("low", "high"), WRITTEN)
@pytest.mark.parametrize("direction", ["x", "y"])
def test_numbers_are_few_and_plain(low, high, direction):
    with new_figure(6, 3) as (figure, axes):
        logarithmic_axis(axes, direction)
        axes.set(**{f"{direction}lim": (low, high)})
        figure.draw_without_rendering()
        axis = getattr(axes, f"{direction}axis")
        ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
        assert axis.get_scale() == "log"
        shown = [tick.label1.get_text() for tick in ticks if low <= tick.get_loc() <= high]
    assert [text for text in shown if text] == WRITTEN[low, high]
