"""Images of pixels, as panels and as small pictures."""

from __future__ import annotations

import sys
from io import BytesIO

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.figures.images import MOST_PIXELS, Image, colour_bar, depth_picture, limits, plot_images, small_png
from linkedbandits.figures.style import new_figure

DEPTH = Image("depth (m)", np.arange(101.0).reshape(1, -1), "viridis")
ERROR = Image("error (cm)", np.array([[-4.0, 1.0], [2.0, np.nan]]), "RdBu", around_zero=True)
MATPLOTLIB = "matplotlib is missing; pip install 'linkedbandits[plot]'"


def test_colours_go_from_percentile_to_percentile():
    assert limits(DEPTH) == (2.0, 98.0)


def test_those_of_an_error_have_their_middle_at_zero():
    low, high = limits(ERROR)
    assert -low == high == pytest.approx(np.percentile([4, 1, 2], 98))


@pytest.mark.parametrize(("around_zero", "wanted"), [(False, (0.0, 1.0)), (True, (-1.0, 1.0))])
def test_without_a_number_there_are_colours_all_the_same(around_zero, wanted):
    assert limits(Image("none", np.full((2, 2), np.nan), "viridis", around_zero)) == wanted


@pytest.mark.parametrize("around_zero", [False, True])
def test_rounding_does_not_have_all_the_colours(around_zero):
    low, high = limits(Image("flat", np.zeros((2, 2)), "viridis", around_zero))
    assert low < high


def test_every_image_has_its_panel_and_its_colour_bar():
    pytest.importorskip("matplotlib", reason=MATPLOTLIB)
    figure = plot_images({"depth": DEPTH, "error": ERROR}, None, None, columns=2)
    first, second = figure.axes
    bars = [*first.child_axes, *second.child_axes]
    assert [axes.get_title() for axes in (first, second)] == ["depth (m)", "error (cm)"]
    assert len(bars) == 2
    figure.draw_without_rendering()
    for panel, bar in zip((first, second), bars, strict=True):
        image = panel.get_images()[0].get_window_extent()
        assert 0.8 * image.height < bar.get_window_extent().height < 1.001 * image.height  # arrows come on top
    (grey,) = [text.get_text() for text in figure.texts]
    assert grey == "grey: no depth"
    (shown,) = second.get_images()
    assert shown.get_clim() == limits(ERROR)
    assert shown.get_array().mask.tolist() == [[False, False], [False, True]]


@pytest.mark.parametrize(
    ("values", "extend"),
    [([0.0, 1.0], "neither"), ([-1.0, 1.0], "min"), ([0.0, 2.0, np.nan], "max"), ([-1.0, 2.0], "both")],
)
@pytest.mark.parametrize("shape", [(2, 3), (3, 2)])
def test_a_bar_that_is_cut_has_an_arrow(values, extend, shape):
    pytest.importorskip("matplotlib", reason=MATPLOTLIB)
    with new_figure(3, 3) as (_, axes):
        drawn = axes.imshow(np.zeros(shape), vmin=0.0, vmax=1.0)
        colour_bar([axes], drawn, [np.array(values)])
        assert drawn.colorbar.extend == extend


def test_one_image_can_be_wanted_alone_or_in_axes_of_ones_own():
    pytest.importorskip("matplotlib", reason=MATPLOTLIB)
    from matplotlib.figure import Figure

    images = {"depth": DEPTH, "error": ERROR}
    (alone,) = plot_images(images, "error", None, columns=2).axes
    assert alone.get_title() == "error (cm)"
    axes = Figure().subplots()
    assert plot_images(images, None, axes, columns=2) is axes
    assert axes.get_title() == "depth (m)"
    axes = Figure().subplots()
    assert plot_images(images, "error", axes, columns=2).get_title() == "error (cm)"


def test_an_image_that_there_is_not_is_refused():
    with pytest.raises(lb.UnknownName, match="no image 'colour'; choose one of depth"):
        plot_images({"depth": DEPTH}, "colour", None, columns=1)
    with pytest.raises(lb.UnknownName, match=r"to save the picture write plot\(\)\.savefig\('pp\.png'\)"):
        plot_images({"depth": DEPTH}, "pp.png", None, columns=1)


def test_a_small_picture_is_transparent_where_there_is_no_number_and_never_large():
    pytest.importorskip("matplotlib", reason=MATPLOTLIB)
    from matplotlib.image import imread

    pixels = imread(BytesIO(small_png(ERROR)))
    assert pixels[..., 3].tolist() == [[1, 1], [1, 0]]
    large = small_png(Image("large", np.zeros((MOST_PIXELS * 2 + 1, 10)), "viridis"))
    assert imread(BytesIO(large)).shape[:2] == (171, 4)


def test_a_notebook_has_the_picture_or_without_matplotlib_nothing(monkeypatch):
    pytest.importorskip("matplotlib", reason=MATPLOTLIB)
    assert depth_picture(ERROR).startswith('<img alt="error (cm)"')
    assert depth_picture(Image("empty", np.zeros((0, 3)), "viridis")) == ""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert depth_picture(ERROR) == ""
