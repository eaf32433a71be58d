"""Figures show themselves in notebooks."""

from __future__ import annotations

import pytest

from linkedbandits.figures.style import new_figure


def test_a_notebook_gets_a_picture():
    pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install 'linkedbandits[plot]'")
    with new_figure(2, 2) as (figure, _):
        pass
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert figure.get_facecolor() == (1, 1, 1, 1)  # white ground, on dark pages too
