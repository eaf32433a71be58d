"""Claims that a section checks: all of it is measured, then the claims that failed are named, and the exit status is 1.

Times are no such claims: they depend on what else the machine does, so a ratio above its limit is marked, and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import log

CONFIDENCE = 0.99


class Claims:
    """What was claimed and did not hold."""

    def __init__(self) -> None:
        self._failed: list[str] = []

    def check(self, holds: bool, otherwise: str) -> None:
        """Note a claim that does not hold, in the words of ``otherwise``."""
        if not holds:
            self._failed.append(otherwise)

    def report(self) -> None:
        """Say that all of them hold, or end with those that do not."""
        if self._failed:
            raise SystemExit("\n".join(f"claim failed: {said}" for said in self._failed))
        print("all claims that are not about time hold")


Row = tuple[str, str, str]
"""What is measured, what it was before, and what it is now."""
Measure = Callable[[Claims], Iterator[Row]]


def print_rows(claims: Claims, measures: Iterable[Measure]) -> None:
    """A table of what is measured, with what it was before."""
    print("| claim | before | now |")
    print("|---|--:|--:|")
    for measure in measures:
        for row in measure(claims):
            print(f"| {' | '.join(row)} |", flush=True)


def enough_to_tell(trials: int, delta: float) -> bool:
    """Would the chance to be wrong be below delta, with that confidence, if no trial were wrong?

    >>> enough_to_tell(90, 0.05), enough_to_tell(89, 0.05)
    (True, False)
    """
    return trials >= log(1 - CONFIDENCE) / log(1 - delta)


def mark_over(ratio: float, limit: float) -> str:
    """What stands behind a ratio of times.

    >>> mark_over(1.6, 1.5), mark_over(1.4, 1.5)
    ('   over', '')
    """
    return "   over" if ratio > limit else ""
