"""What of a file is not used: counted, with the first few lines, so that nothing is dropped in silence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from linkedbandits.model import IntArray

WITHOUT_OUTCOME = "no outcome"
"""What rows are that have none; too many of them are refused."""
OUT_OF_TIME = ("requests behind later ones", "they were put where their times belong")
LINES_SHOWN = 5
A_FILE = 1 << 40
"""Lines are numbered through all files of a log, this far apart: no file has so many."""


@dataclass(frozen=True)
class SetAside:
    """Rows of a file that are not used, and by which rule: ``what`` they are, how many, and the first few ``lines``.

    Of a log in several files, ``files`` has the file of each of these lines.
    """

    what: str
    rule: str
    rows: int
    lines: tuple[int, ...] = ()
    files: tuple[str, ...] = ()

    def __str__(self) -> str:
        at = f", first in line {self.lines[0]:,}" if self.lines else ""
        at += f" of {self.files[0]}" if self.files else ""
        return f"{self.what}: {self.rows:,} row{'s' if self.rows != 1 else ''}{at}; {self.rule}"


@dataclass
class Tally:
    """Counts rows that are set aside, part by part of a file.

    >>> import numpy as np
    >>> tally = Tally()
    >>> tally.add("torn rows", "a row has to be whole", np.array([7, 9]))
    >>> tally.add("torn rows", "a row has to be whole", np.array([3]))
    >>> print(*tally.all(), sep=chr(10))
    torn rows: 3 rows, first in line 3; a row has to be whole
    """

    files: tuple[str, ...] = ()
    """Those of a log in several."""
    _found: dict[tuple[str, str], tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    _ahead: int = 0

    def of_file(self, number: int) -> Tally:
        """The same tally, for one of the files, whose lines are those of that file."""
        return Tally(self.files, self._found, number * A_FILE)

    def add(self, what: str, rule: str, lines: IntArray, rows: int | None = None) -> None:
        """These lines as well; there are so many ``rows``, if the lines are but the first of them."""
        if not len(lines):
            return
        more = len(lines) if rows is None else rows
        rows, first = self._found.get((what, rule), (0, ()))
        shown = sorted((*first, *(int(line) + self._ahead for line in lowest(lines))))[:LINES_SHOWN]
        self._found[what, rule] = (rows + more, tuple(shown))

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Forget what is counted meanwhile, for rows that are looked at before they are read."""
        before = dict(self._found)
        try:
            yield
        finally:
            self._found.clear()
            self._found.update(before)

    @property
    def rows(self) -> int:
        """How many there are in all."""
        return sum(rows for rows, _ in self._found.values())

    def all(self) -> tuple[SetAside, ...]:
        """One entry for each rule, in the order in which they were first needed."""
        return tuple(
            SetAside(
                what,
                rule,
                rows,
                tuple(line % A_FILE for line in lines),
                tuple(self.files[line // A_FILE] for line in lines) if self.files else (),
            )
            for (what, rule), (rows, lines) in self._found.items()
        )


def lowest(numbers: IntArray) -> IntArray:
    """The few that are shown, of lines or rows; these may have been brought into another order since."""
    import numpy as np

    return numbers if len(numbers) <= LINES_SHOWN else np.partition(numbers, LINES_SHOWN)[:LINES_SHOWN]
