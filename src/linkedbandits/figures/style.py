"""One style for all figures: readable in print, and for readers who do not see all colours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linkedbandits.errors import CannotWrite, MissingExtra, why_not

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000")
"""Okabe and Ito's palette, told apart with any kind of colour vision; markers tell them apart without colour."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (6, 2)))

SETTINGS: dict[Any, Any] = {
    "figure.dpi": 150,
    "savefig.dpi": 200,
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "svg.hashsalt": "linkedbandits",  # the same picture is the same file
}

ENDINGS = (".png", ".svg", ".pdf")
"""Of the files that figures are written to."""

_UNDATED: dict[str, dict[str, Any]] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
"""What keeps the day out of a file, for the same reason."""


_LETTERS = 28
"""Of a label beside an axis."""
LETTERS_OF_A_ROW = 48
"""Of a label that has a row to itself: names of policies with their parameters stay whole."""
_LETTER = 0.07
"""Inches that a letter takes."""


def with_rows(width: float, labels: Iterable[str]) -> float:
    """The width of a figure in inches that has such rows, where ``width`` is enough for labels of usual length."""
    longest = max((len(line) for label in labels for line in label.split("\n")), default=0)
    return width + _LETTER * max(min(longest, LETTERS_OF_A_ROW) - _LETTERS, 0)


@dataclass(frozen=True)
class SeriesStyle:
    """How one series is drawn, in every panel of a figure."""

    colour: str
    marker: str
    line: Any


def series_styles(names: Iterable[str], among: Iterable[str] = ()) -> dict[str, SeriesStyle]:
    """A style for every name, in the order in which names first come up; 49 names have 49 styles.

    ``among`` are all names of a study: given to each of its figures they have one look in all of them, whichever of
    them a figure shows.

    >>> series_styles(["uniform", "maximal", "uniform"])["maximal"].marker
    's'
    >>> series_styles(["maximal"], among=["uniform", "maximal"])["maximal"].marker
    's'
    """
    chosen = {}
    for number, name in enumerate(dict.fromkeys([*among, *names])):
        # Seven colours, but lines that shift by one each round, so that 49 names are still told apart.
        line = LINES[(number + number // len(COLOURS)) % len(LINES)]
        chosen[name] = SeriesStyle(COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)], line)
    return chosen


def beside_axes(label: object, letters: int = _LETTERS) -> str:
    """A label that fits beside an axis or into a legend, in at most so many letters, and is shown as it is.

    To matplotlib dollars would be mathematics, and what begins with an underscore no entry of a legend.

    >>> beside_axes("a" * 40 + "b"), beside_axes("$5"), beside_axes(7)
    ('aaaaaaaaaaaaaa…aaaaaaaaaaaab', '\\\\$5', '7')
    """
    text = str(label)
    # Names of policies differ in their parameters, at the end, and others at the beginning.
    short = text if len(text) <= letters else f"{text[: letters // 2]}…{text[-(letters // 2 - 1) :]}"
    return (f" {short}" if short.startswith("_") else short).replace("$", r"\$")


@contextmanager
def new_figure(width: float, height: float) -> Iterator[tuple[Any, Any]]:
    """A figure and its axes in the common style, without a window system."""
    with new_panels(1, 1, width, height) as (figure, axes):
        yield figure, axes[0]


@contextmanager
def new_panels(
    rows: int, columns: int, width: float, height: float, heights: Sequence[float] | None = None
) -> Iterator[tuple[Any, list[Any]]]:
    """A figure of that size in inches and the axes of its panels, row by row, in the common style.

    ``heights`` are those of the rows, in proportion; all are alike unless given.
    """
    with _style():
        from linkedbandits.figures.shown import ShownFigure  # as below

        figure = ShownFigure(figsize=(width, height), layout="constrained")
        yield figure, list(figure.subplots(rows, columns, squeeze=False, height_ratios=heights).flat)


def logarithmic_axis(axes: Any, direction: str) -> None:
    """Make the x or the y axis logarithmic, with few and plain numbers on it that do not touch each other."""
    from linkedbandits.figures.log_ticks import plain_log_ticks  # it needs matplotlib

    axes.set(**{f"{direction}scale": "log"})
    plain_log_ticks(getattr(axes, f"{direction}axis"))


def check_figure(path: Path) -> None:
    """Refuse before the work what no figure can be written to, or where there is nothing to draw it with."""
    if path.suffix.lower() not in ENDINGS or path.is_dir():
        raise CannotWrite(f"the figure {str(path)!r} cannot be written; name a file in {', '.join(ENDINGS)}")
    if not path.parent.is_dir():
        raise CannotWrite(
            f"the figure {str(path)!r} cannot be written: there is no folder {str(path.parent)!r}; make it"
        )
    _style()


def save(figure: Any, path: Path, *, trimmed: bool = False) -> None:
    """Write the figure in the format that the file's ending names.

    ``trimmed`` fits the picture to what is drawn. Images that keep their proportions get other places than the layout
    has reckoned with, and what is written at the border may be outside, or far inside.
    """
    room = {"bbox_inches": "tight", "pad_inches": 0.1} if trimmed else {}
    try:
        with _style():  # some of a figure is made only now
            figure.savefig(path, metadata=_UNDATED.get(path.suffix.lower()), **room)
    except (OSError, ValueError) as error:
        why = why_not(error)
        raise CannotWrite(f"the figure {path} cannot be written: {why}; name a .png, .svg or .pdf file") from error


def _style() -> AbstractContextManager[None]:
    try:
        import matplotlib as mpl  # takes a second to import, and not everybody draws
    except ModuleNotFoundError as error:
        raise MissingExtra("figures need matplotlib; install it with: pip install 'linkedbandits[plot]'") from error
    return mpl.rc_context(SETTINGS)
