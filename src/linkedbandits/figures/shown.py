"""A figure that notebooks show by themselves, whether or not pyplot was imported. Needs matplotlib."""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure


class ShownFigure(Figure):
    """A matplotlib figure, on white ground, with a picture for notebooks."""

    def _repr_png_(self) -> bytes:
        written = BytesIO()
        self.savefig(written, format="png", dpi=110)
        return written.getvalue()
