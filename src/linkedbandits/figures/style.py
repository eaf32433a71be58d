"""One look for all figures: readable in print, and for readers who do not see all colours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from linkedbandits.errors import CannotWrite, MissingExtra

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000")
"""Okabe and Ito's palette, told apart with any kind of colour vision; markers tell them apart without colour."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

SETTINGS: dict[Any, Any] = {
    "figure.dpi": 150,
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "svg.hashsalt": "linkedbandits",  # the same picture is the same file
}


@contextmanager
def new_figure(width: float, height: float) -> Iterator[tuple[Any, Any]]:
    """A figure and its axes in the common style, without a window system."""
    try:
        import matplotlib as mpl  # noqa: PLC0415 - takes a second to import, and not everybody draws
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise MissingExtra("figures need matplotlib; install it with: pip install 'linkedbandits[plot]'") from error
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.add_subplot()


def save(figure: Any, path: Path) -> None:
    """Write the figure in the format that the file's ending names."""
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise CannotWrite(f"the figure {path} cannot be written: {error}; name a .png, .svg or .pdf file") from error
