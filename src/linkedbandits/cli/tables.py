"""What commands print for people: tables and paragraphs that fit the terminal, numbers, and a progress bar.

On a terminal, text is broken between words, and a table without room stands upright, one block a row. In a pipe, which
programs read, every row of a table is one line. No figure is cut and no name is broken.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, Literal

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from linkedbandits.display import percent
from linkedbandits.model import COUNT_LIMIT

__all__ = ["Report", "count", "duration", "finite", "interval", "listed", "percent", "progress_bar", "standard_report"]
__all__ += ["terminal_width", "times", "wrapped"]

_TEXT_IN_A_PIPE = 200
_UNLIMITED = 1_000_000
_LEAST_PROSE = 24
"""A narrower column of sentences reads worse than one block a row."""


class Report:
    """Prints to standard output, or to ``file``. Text is taken as it is, without markup.

    ``table_width`` is the room for a line of a table, unless it is ``width``, at which text is broken.
    """

    def __init__(self, width: int, table_width: int | None = None, file: IO[str] | None = None) -> None:
        self.width = max(width, 1)
        self._room = self.width if table_width is None else table_width
        self._console = Console(
            file=file, width=self._room, height=25, markup=False, emoji=False, highlight=False, soft_wrap=True
        )

    def print(self, said: str = "", style: str = "", *, indent: int = 0) -> None:
        """Print a paragraph. A word longer than the line stays whole."""
        for line in wrapped(said, self.width - indent):
            self._console.print(Text(" " * indent + line, style=style))

    def lines(self, lines: Sequence[str]) -> None:
        """Print a list of paragraphs, each with a dash."""
        for said in lines:
            for number, line in enumerate(wrapped(said, self.width - 2)):
                self._console.print(Text(("  " if number else "- ") + line))

    def table(
        self, headings: Sequence[str], rows: Sequence[Sequence[str]], *, names: int = 1, prose: str | None = None
    ) -> None:
        """Print a table: ``names`` columns of text, then columns of figures; upright where it has no room.

        ``prose`` is the heading of a column of sentences, which may be broken between words.
        """
        loose, tight = (_table(headings, rows, names, prose, tight=tight) for tight in (False, True))
        if self._measured(loose).maximum <= self._room:
            self._console.print(loose, soft_wrap=False)
        elif self._measured(tight).minimum <= self._room:
            self._console.print()
            self._console.print(tight, soft_wrap=False)
            self._console.print()
        else:
            self._upright(headings, rows, names)

    def fits(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
        """True if there is room for the table with every cell on one line."""
        return self._measured(_table(headings, rows, 0, None, tight=True)).maximum <= self._room

    def pairs(self, pairs: Sequence[tuple[str, str]], *, indent: int = 0) -> None:
        """Print names with a value each, side by side where there is room, else the value below its name."""
        widest = max((cell_len(name) for name, _ in pairs), default=0)
        for name, value in pairs:
            if widest + 2 + cell_len(value) <= self.width - indent:
                self.print(f"{name}{' ' * (widest + 2 - cell_len(name))}{value}", indent=indent)
            else:
                self.print(name, indent=indent)
                self.print(value, indent=indent + 2)

    def _measured(self, table: Table) -> Measurement:
        return self._console.measure(table, options=self._console.options.update(max_width=_UNLIMITED))

    def _upright(self, headings: Sequence[str], rows: Sequence[Sequence[str]], names: int) -> None:
        """One block a row: its name, then a line for each other cell that is not empty."""
        if " " in headings[0]:  # the heading says more than the kind of the names
            self.print(f"\n{headings[0]}", style="dim")
        for row in rows:
            self.print(f"\n{row[0] if names and row[0] else f'{headings[0]} {row[0]}'.rstrip()}", style="bold")
            self.pairs([pair for pair in zip(headings[1:], row[1:], strict=True) if pair[1]], indent=2)
        self.print()


def standard_report() -> Report:
    """A report on standard output: as wide as the terminal or COLUMNS, and without a limit for tables in a pipe."""
    if not _columns() and not sys.stdout.isatty():
        return Report(_TEXT_IN_A_PIPE, table_width=_UNLIMITED)
    return Report(terminal_width())


def terminal_width() -> int:
    """Columns of the terminal, as COLUMNS or the terminal says; 80 where neither does."""
    try:
        return _columns() or os.get_terminal_size(sys.__stdout__.fileno()).columns or 80  # type: ignore[union-attr]
    except (AttributeError, OSError, ValueError):  # no standard output, no terminal, or shut
        return 80


def _columns() -> int:
    said = os.environ.get("COLUMNS", "")
    return int(said) if said.isdigit() else 0


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most ``width``, broken at spaces alone and not before a percent sign; indentation is kept.

    >>> wrapped("linked-elimination finds it", 18)
    ['linked-elimination', 'finds it']
    >>> wrapped("  a/path/that/is/long b", 10)
    ['  a/path/that/is/long', '  b']
    """
    lines = []
    for paragraph in text.replace(" %", "\u00a0%").split("\n"):
        body = paragraph.lstrip(" ")
        indent, line = " " * (len(paragraph) - len(body)), ""
        for word in re.findall(" *[^ ]+", body):
            if line and cell_len(indent + line + word) > width:
                lines.append(indent + line)
                line = word.lstrip(" ")
            else:
                line += word
        lines.append(indent + line if line else "")
    return [line.replace("\u00a0%", " %") for line in lines]


def _table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], names: int, prose: str | None, *, tight: bool
) -> Table:
    """A ``tight`` table has one space between columns and none around them."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=0 if tight else (0, 1, 0, 0), show_edge=not tight)
    for place, heading in enumerate(headings):
        cells = [heading, *(row[place] for row in rows)]
        flows = heading == prose
        words = [word for cell in cells for word in cell.split()] if flows else cells
        least = max(_LEAST_PROSE if flows else 0, *map(cell_len, words))
        justify: Literal["left", "right"] = "left" if place < names else "right"
        table.add_column(Text(heading), justify=justify, no_wrap=not flows, min_width=least)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def listed(names: Sequence[str], most: int = 4) -> str:
    """The first names of a list, and how many more there are.

    >>> listed(["a", "b"]), listed(["a", "b", "c"], most=2)
    ('a and b', 'a, b and 1 more')
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most:,} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def count(value: float) -> str:
    """A number of plays: whole and with separators while that is readable.

    >>> count(28962.4), count(5144000000.0), count(2.0**62)
    ('28,962', '5.14e+09', '> 4.6e+18')
    """
    if value >= COUNT_LIMIT:
        return "> 4.6e+18"
    return f"{value:,.0f}" if value < 1e7 else f"{value:.3g}"


def interval(low: float, high: float) -> str:
    """An interval of shares.

    >>> interval(0.0, 0.00368), interval(0.013, 0.25)
    ('(0 to 0.37 %)', '(1.3 to 25 %)')
    """
    return f"({percent(low).removesuffix(' %')} to {percent(high)})"


def times(ratio: float) -> str:
    """A ratio.

    >>> times(1.0), times(1.234), times(2641.0)
    ('1.0', '1.2', '2,641')
    """
    return f"{ratio:.1f}" if ratio < 100 else count(ratio)


def duration(seconds: float) -> str:
    """A time to wait.

    >>> duration(0.4), duration(75), duration(7300)
    ('1 s', '1 min 15 s', '2 h 1 min')
    """
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def finite(data: Any) -> Any:
    """Data for JSON, which has neither infinity nor "not a number": they become null.

    >>> finite({"plays": [1.5, float("inf")]})
    {'plays': [1.5, None]}
    """
    if isinstance(data, dict):
        return {key: finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


Advance = Callable[[str, int], None]


@contextmanager
def progress_bar(total: int | None, unit: str | None = None) -> Iterator[Advance]:
    """Show on a terminal how much of ``total`` is done, in percent unless there is a ``unit``; None: not known.

    Yields a function to call with a description and an amount.
    """
    amount = (TaskProgressColumn(),) if unit is None else (MofNCompleteColumn(), TextColumn(unit))
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), *amount, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("", total=total)

        def advance(description: str, amount: int) -> None:
            bar.update(task, description=description, advance=amount)

        yield advance
