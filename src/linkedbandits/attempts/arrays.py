"""Arrays of a log while it is read: in parts, and with the lines that they come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from linkedbandits.attempts.set_aside import Tally, lowest
from linkedbandits.model import BoolArray, IntArray

Numbers = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Gathered:
    """What a log says, in the arrays of :class:`linkedbandits.attempts.Attempts`."""

    request: Numbers
    option: Numbers
    success: BoolArray
    second: Numbers
    time: Floats | None = None
    cost: Floats | None = None
    seconds: Floats | None = None


class Parts:
    """Columns that grow by parts."""

    def __init__(self) -> None:
        self._parts: dict[str, list[npt.NDArray[Any]]] = {}

    def add(self, **columns: npt.NDArray[Any] | None) -> None:
        """The next part of each; one that is None is none."""
        for name, part in columns.items():
            if part is not None:
                self._parts.setdefault(name, []).append(part)

    def take(self, name: str) -> Any:
        """A column as a whole array, and no longer kept here; None if there is none."""
        parts = self._parts.pop(name, None)
        if parts is None:
            return None
        whole = np.empty(sum(map(len, parts)), dtype=parts[0].dtype)
        end = whole.size
        while parts:  # each is let go when it has been copied, so that a long column is never held twice
            part = parts.pop()
            whole[end - len(part) : end] = part
            end -= len(part)
        return whole


@dataclass
class LineNumbers:
    """The lines of rows. They nearly always go up by one, so what is kept is where they do not.

    >>> lines = LineNumbers()
    >>> lines.add(np.array([2, 3, 6]))
    >>> lines.add(np.array([7, 9]))
    >>> lines.of(np.array([4, 0, 3])).tolist()
    [9, 2, 7]
    """

    rows: int = 0
    _jumps: list[IntArray] = field(default_factory=list)
    _ahead: list[IntArray] = field(default_factory=list)
    _last: int | None = None

    def add(self, lines: IntArray) -> None:
        """Those of the next rows."""
        ahead = lines - np.arange(self.rows, self.rows + len(lines))
        changed = np.flatnonzero(np.diff(ahead, prepend=ahead[:1] - 1 if self._last is None else self._last))
        if len(lines):
            self._jumps.append(changed + self.rows)
            self._ahead.append(ahead[changed])
            self._last = int(ahead[-1])
        self.rows += len(lines)

    def of(self, rows: IntArray) -> IntArray:
        """Those of these rows."""
        if not len(rows):
            return np.empty(0, dtype=np.int64)
        jumps, ahead = np.concatenate(self._jumps), np.concatenate(self._ahead)
        return np.asarray(rows + ahead[np.searchsorted(jumps, rows, side="right") - 1])

    def notice(self, noticed: Tally, rule: tuple[str, str], rows: IntArray) -> None:
        """Count rows that were put into order. In a long log they may be most of it, and a few lines are shown."""
        noticed.add(*rule, self.of(np.sort(lowest(rows))), rows=len(rows))


def ranges(begins: IntArray, ends: IntArray) -> IntArray:
    """All numbers from each begin up to its end, which is not one of them.

    >>> ranges(np.array([3, 7, 9]), np.array([5, 7, 10])).tolist()
    [3, 4, 9]
    """
    sizes = np.maximum(ends - begins, 0)
    before = np.cumsum(sizes) - sizes
    return np.repeat(begins - before, sizes) + np.arange(sizes.sum())
