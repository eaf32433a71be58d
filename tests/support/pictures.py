"""What is written in a picture: whole, and nothing over anything else."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from PIL import Image


def texts_of(figure: Any) -> list[tuple[str, Any]]:
    """The texts that are drawn, and the boxes that they take up; axes have more of them, which nobody sees."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    drawn: list[tuple[str, Any]] = []
    draw = Text.draw

    def noted(self: Text, renderer: Any, *rest: Any, **more: Any) -> None:
        if self.get_visible() and self.get_text().strip():
            drawn.append((self.get_text(), self.get_window_extent(renderer)))
        draw(self, renderer, *rest, **more)

    with mock.patch.object(Text, "draw", noted):
        canvas.draw()
    return drawn


def overlapping(figure: Any) -> list[tuple[str, str]]:
    """Pairs of texts of which one is over the other."""
    texts = texts_of(figure)
    return [
        (one, other)
        for number, (one, here) in enumerate(texts)
        for other, there in texts[:number]
        if here.overlaps(there)
    ]


def margins(path: Path) -> tuple[int, int, int, int]:
    """White pixels above, below, left and right of what is drawn: none where it is cut."""
    with Image.open(path) as image:
        inked = np.asarray(image.convert("RGB")).min(axis=2) < 250
    rows, columns = np.flatnonzero(inked.any(axis=1)), np.flatnonzero(inked.any(axis=0))
    high, wide = inked.shape
    return int(rows[0]), int(high - 1 - rows[-1]), int(columns[0]), int(wide - 1 - columns[-1])
