"""One style for all figures."""

from __future__ import annotations

import sys

import pytest

import linkedbandits as lb
from linkedbandits.figures.style import new_figure, new_panels, save, series_styles


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
