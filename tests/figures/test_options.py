"""What is known of options, as pictures."""

from __future__ import annotations

import numpy as np
import pytest

from linkedbandits.figures.options import Known, draw_course, draw_known, height_for
from linkedbandits.figures.style import new_figure

pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install 'linkedbandits[plot]'")


def drawn(draw, *given):
    with new_figure(6, 3) as (_, axes):
        draw(axes, *given)
    return axes


def test_every_option_has_its_mean_between_its_limits_and_is_hollow_when_out():
    axes = drawn(draw_known, [Known("a", 0.5, 0.4, 0.6, True), Known("b", 0.2, 0.1, 0.3, False)])
    limits_a, mean_a, limits_b, mean_b, *_ = axes.get_lines()
    assert [list(line.get_xdata()) for line in (limits_a, mean_a, limits_b, mean_b)] == [
        [0.4, 0.6],
        [0.5],
        [0.1, 0.3],
        [0.2],
    ]
    assert [list(line.get_ydata()) for line in (mean_a, mean_b)] == [[0], [1]]
    assert mean_a.get_markerfacecolor() == mean_a.get_color() != mean_b.get_color()
    assert mean_b.get_markerfacecolor() == "none"
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    assert axes.get_ylim() == (1.5, -0.5)


def test_without_a_sample_there_are_limits_and_no_mean():
    axes = drawn(draw_known, [Known("a", None, 0.0, 1.0, True)])
    assert [list(line.get_xdata()) for line in axes.get_lines()] == [[0.0, 1.0], [], []]


def test_labels_are_cut_and_dollars_are_no_mathematics():
    axes = drawn(draw_known, [Known("$x$" + "y" * 50, 0.5, 0.4, 0.6, True)])
    (label,) = axes.get_yticklabels()
    assert label.get_text().startswith(r"\$x\$yyy")
    assert len(label.get_text()) == 28 + 2  # with the strokes before the dollars
    assert "y…y" in label.get_text()


@pytest.mark.parametrize(("options", "labels"), [(40, 40), (41, 21), (100, 34)])
def test_of_many_options_some_are_named(options, labels):
    axes = drawn(draw_known, [Known(str(number), 0.5, 0.4, 0.6, True) for number in range(options)])
    assert len(axes.get_yticks()) == labels


def test_the_picture_grows_with_the_options_up_to_a_page():
    assert height_for(1) == height_for(3) < height_for(10) < height_for(40) == height_for(1000)


def test_the_course_of_evidence_has_a_line_for_each_option_and_one_for_enough():
    course = [(10, np.array([0.0, 0.5])), (20, np.array([-np.inf, 2.0]))]
    axes = drawn(draw_course, ["a", "_b"], course, 20.0)
    first, second, enough = axes.get_lines()
    assert list(first.get_xdata()) == [10, 20]
    assert list(first.get_ydata()) == pytest.approx([0.0, -0.8 * np.log10(20)])
    assert list(second.get_ydata()) == [0.5, 2.0]
    assert enough.get_ydata()[0] == pytest.approx(np.log10(20))
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", " _b", "enough to be out"]


def test_of_many_options_those_that_may_be_best_have_a_line():
    course = [(1, np.arange(10.0)), (2, np.arange(10.0)[::-1])]
    axes = drawn(draw_course, [str(number) for number in range(10)], course, 20.0)
    assert [line.get_label() for line in axes.get_lines()[:-1]] == list("3456789")
    assert axes.get_legend().get_title().get_text() == "3 that fell behind are left out"
