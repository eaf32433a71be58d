"""One style for all figures."""

from __future__ import annotations

import sys

import pytest

import linkedbandits as lb
from linkedbandits.figures.style import (
    beside_axes,
    check_figure,
    new_figure,
    new_panels,
    save,
    series_styles,
    with_rows,
)


def test_49_series_are_told_apart():
    chosen = series_styles(map(str, range(49)))
    assert len({(style.colour, str(style.line)) for style in chosen.values()}) == 49
    assert len({(style.marker, str(style.line)) for style in chosen.values()}) == 49


def test_a_name_keeps_its_look_however_often_it_comes_up():
    assert series_styles(["a", "b", "a"]) == series_styles(["a", "b"])


@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
def test_the_same_picture_is_the_same_file(tmp_path, ending):
    pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install 'linkedbandits[plot]'")
    contents = []
    for name in ("first", "second"):
        with new_figure(2, 2) as (figure, axes):
            axes.plot([1, 2], [1, 2], label="line")
            axes.legend()
        save(figure, tmp_path / f"{name}.{ending}")
        contents.append((tmp_path / f"{name}.{ending}").read_bytes())
    assert contents[0] == contents[1]


def test_panels_come_row_by_row():
    pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install 'linkedbandits[plot]'")
    with new_panels(2, 3, 4, 4) as (_, axes):
        assert [panel.get_subplotspec().num1 for panel in axes] == list(range(6))


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(lb.MissingExtra, match=r"linkedbandits\[plot\]"), new_figure(2, 2):
        pass


def test_a_name_has_one_look_in_all_figures_of_a_study():
    among = ["a", "b", "c"]
    assert series_styles(["c", "a"], among)["c"] == series_styles(["c"], among)["c"] == series_styles(among)["c"]
    assert series_styles(["new"], among)["new"] == series_styles([*among, "new"])["new"]


@pytest.mark.parametrize(("name", "said"), [("x.xyz", r"name a file in \.png, \.svg, \.pdf"), ("no/x.png", "make it")])
def test_what_no_figure_can_be_written_to_is_refused_before_the_work(tmp_path, name, said):
    with pytest.raises(lb.CannotWrite, match=said):
        check_figure(tmp_path / name)


def test_so_is_a_folder(tmp_path):
    (tmp_path / "x.png").mkdir()
    with pytest.raises(lb.CannotWrite, match="name a file"):
        check_figure(tmp_path / "x.png")


def test_so_is_any_without_matplotlib(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(lb.MissingExtra, match=r"linkedbandits\[plot\]"):
        check_figure(tmp_path / "x.png")


@pytest.mark.parametrize("ending", ["png", "SVG", "pdf"])
def test_what_a_figure_can_be_written_to_is_not(tmp_path, ending):
    pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install 'linkedbandits[plot]'")
    check_figure(tmp_path / f"x.{ending}")


def test_rows_of_panels_have_the_heights_they_are_given():
    pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install 'linkedbandits[plot]'")
    with new_panels(2, 1, 4, 4, heights=(3, 1)) as (figure, (above, below)):
        figure.draw_without_rendering()
        assert above.get_position().height > 2 * below.get_position().height


def test_labels_are_shown_as_they_are():
    assert [beside_axes(label) for label in ("_x", "x" * 28, 1.5)] == [" _x", "x" * 28, "1.5"]


def test_a_figure_with_long_rows_is_wider():
    assert with_rows(9.0, ["a" * 28]) == 9.0
    assert with_rows(9.0, ["short", "a" * 38 + "\nb"]) == pytest.approx(9.7)
    assert with_rows(9.0, ["a" * 480]) == pytest.approx(10.4)
