"""Where reports go, and the one place that fits them to it: no figure is cut, and no name broken.

On a terminal text is broken between words, and a table that has no room stands upright, a block a row. A pipe is
read by programs: there a row of a table is a line, however long.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import IO, Literal

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

_TEXT_IN_A_PIPE = 200
_UNLIMITED = 1_000_000
_UNKNOWN = 80
"""What a terminal that does not say is taken for."""
_LEAST_PROSE = 24
"""A column of sentences that is narrower than this is worse to read than a block a row."""


class Report:
    """What a command prints for people. Names come from people's files, so nothing in them is taken for markup.

    ``table_width`` is the room for a line of a table, where that is not the ``width`` that text is broken at.
    """

    def __init__(self, width: int, table_width: int | None = None, file: IO[str] | None = None) -> None:
        self.width = max(width, 1)
        self._room = self.width if table_width is None else table_width
        self._console = Console(
            file=file, width=self._room, height=25, markup=False, emoji=False, highlight=False, soft_wrap=True
        )

    def print(self, said: str = "", style: str = "", *, indent: int = 0) -> None:
        """A paragraph. A word that is longer than the line stays whole, and the terminal goes on with it below."""
        for line in wrapped(said, self.width - indent):
            self._console.print(Text(" " * indent + line, style=style))

    def lines(self, lines: Sequence[str]) -> None:
        """Paragraphs, each with a mark, and what goes on in the next line set in."""
        for said in lines:
            for number, line in enumerate(wrapped(said, self.width - 2)):
                self._console.print(Text(("  " if number else "- ") + line))

    def table(
        self, headings: Sequence[str], rows: Sequence[Sequence[str]], *, names: int = 1, prose: str | None = None
    ) -> None:
        """A table whose first columns are ``names`` and whose others are figures; upright where it has no room.

        ``prose`` is the heading of a column of sentences, which may be broken between words.
        """
        whole = _table(headings, rows, names)
        if self._wants(whole) > self._room:
            whole = _table(headings, rows, names, tight=True)
        if self._wants(whole) > self._room and prose is not None:
            for_prose = self._room_for(headings, rows, headings.index(prose))
            whole = whole if for_prose is None else _table(headings, rows, names, tight=True, wide={prose: for_prose})
        if self._wants(whole) > self._room:
            self.upright(headings, rows, names=names)
        else:
            around = "" if whole.show_edge else "\n"  # an edge is a blank line
            self._console.print(around, end="")
            self._console.print(whole, soft_wrap=False)
            self._console.print(around, end="")

    def fits(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
        """Is there room for the table without a break in any of its cells?"""
        return self._wants(_table(headings, rows, 0, tight=True)) <= self._room

    def _wants(self, table: Table) -> int:
        unlimited = self._console.options.update(max_width=_UNLIMITED)
        return self._console.measure(table, options=unlimited).maximum

    def upright(self, headings: Sequence[str], rows: Sequence[Sequence[str]], *, names: int = 1) -> None:
        """A block a row: what it is called, and its other cells a line each; those without anything are left out."""
        if " " in headings[0]:  # it says more than what kind of names there are
            self.print(f"\n{headings[0]}", style="dim")
        for row in rows:
            called = row[0] if names and row[0] else f"{headings[0]} {row[0]}".rstrip()
            self.print(f"\n{called}", style="bold")
            self.pairs([pair for pair in zip(headings[1:], row[1:], strict=True) if pair[1]], indent=2)
        self.print()

    def pairs(self, pairs: Sequence[tuple[str, str]], *, indent: int = 0) -> None:
        """Names with a value each, side by side where there is room, else the value below its name."""
        room = self.width - indent
        widest = max((cell_len(name) for name, _ in pairs), default=0)
        for name, value in pairs:
            if widest + 2 + cell_len(value) <= room:
                self.print(f"{name}{' ' * (widest + 2 - cell_len(name))}{value}", indent=indent)
            else:
                self.print(name, indent=indent)
                self.print(value, indent=indent + 2)

    def _room_for(self, headings: Sequence[str], rows: Sequence[Sequence[str]], column: int) -> int | None:
        """How wide this column can be beside the others, which stay whole; None if that is too little."""
        others = [[cell for place, cell in enumerate(row) if place != column] for row in [headings, *rows]]
        taken = self._wants(_table(others[0], others[1:], 0, tight=True))
        room = self._room - taken - 1  # what divides columns
        longest = max(cell_len(word) for row in [headings, *rows] for word in row[column].split() or [""])
        return room if room >= max(longest, _LEAST_PROSE) else None


def standard_report() -> Report:
    """Standard output: a terminal as wide as it is, a pipe as wide as its tables, unless COLUMNS says how wide."""
    if _said_to_be() is None and not sys.stdout.isatty():
        return Report(_TEXT_IN_A_PIPE, table_width=_UNLIMITED)
    return Report(terminal_width())


def terminal_width() -> int:
    """The columns of the terminal; those of one that does not say, and in a pipe, are 80."""
    said = _said_to_be()
    if said is not None:
        return said
    if sys.__stdout__ is None:
        return _UNKNOWN
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or _UNKNOWN
    except (OSError, ValueError):  # no terminal, or shut
        return _UNKNOWN


def _said_to_be() -> int | None:
    """How many columns the environment says that there are."""
    said = os.environ.get("COLUMNS", "")
    return int(said) if said.isdigit() and int(said) > 0 else None


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most this width, broken at spaces alone; the spaces that a line begins with are kept.

    >>> wrapped("linked-elimination finds it", 18)
    ['linked-elimination', 'finds it']
    >>> wrapped("  a/path/that/is/long b", 10)
    ['  a/path/that/is/long', '  b']
    """
    lines = []
    for paragraph in text.split("\n"):
        begin = paragraph[: len(paragraph) - len(paragraph.lstrip(" "))]
        line = ""
        # Runs of spaces are kept within a line: they set values apart from their names.
        for word in _words(paragraph.strip(" ")):
            longer = line + word if line else word.lstrip(" ")
            if line and cell_len(begin + longer) > width:
                lines.append(begin + line)
                line = word.lstrip(" ")
            else:
                line = longer
        lines.append((begin + line).rstrip(" "))
    return lines


def _words(text: str) -> list[str]:
    """Words, each with the spaces before it; a sign of percent stays with its number."""
    words: list[str] = []
    spaces = ""
    for part in text.split(" "):
        if part.startswith("%") and words:
            words[-1] += spaces + part
            spaces = " "
        elif part:
            words.append(spaces + part)
            spaces = " "
        else:
            spaces += " "
    return words


def _table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    names: int,
    *,
    tight: bool = False,
    wide: dict[str, int] | None = None,
) -> Table:
    """``tight`` has one space between columns and none around them; ``wide`` says how wide some columns are."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=0 if tight else (0, 1, 0, 0), show_edge=not tight)
    for place, heading in enumerate(headings):
        width = (wide or {}).get(heading)
        justify: Literal["left", "right"] = "left" if place < names else "right"
        table.add_column(Text(heading), justify=justify, width=width, no_wrap=width is None)
    for row in rows:
        table.add_row(*map(Text, row))
    return table
