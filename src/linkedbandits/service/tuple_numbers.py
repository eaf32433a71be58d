"""Numbers for the tuples that an experiment plays, so that its journal need not spell them out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from linkedbandits.model import IntArray

MOST_REMEMBERED = 1_000_000
"""Arms in all tuples remembered. One that was forgotten gets a new number when it comes again."""


class ReadsTuples(Protocol):
    """The part of a store that is read here."""

    def tuples(self, experiment: str, numbers: Iterable[int]) -> dict[int, IntArray]:
        """The arms of these tuples, by number."""
        ...


class TupleNumbers:
    """Which number stands for which tuple of arms. New ones wait in ``new`` until they are written."""

    def __init__(self, next_number: int = 0) -> None:
        self.next_number = next_number
        self.new: dict[int, IntArray] = {}
        self._numbers: dict[bytes, int] = {}
        self._tuples: dict[int, IntArray] = {}
        self._remembered = 0

    def runs(self, tuples: Iterable[IntArray]) -> list[list[int]]:
        """The tuples as numbers, each with how many times in a row."""
        runs: list[list[int]] = []
        last: IntArray | None = None
        for arms in tuples:
            if arms is not last:  # the same tuple again is the same array, mostly
                last = arms
                number = self._numbers.get(arms.tobytes())
                runs.append([self._take_number(arms) if number is None else number, 0])
            runs[-1][1] += 1
        return runs

    def spelled_out(self, store: ReadsTuples, experiment: str, runs: Sequence[Sequence[int]]) -> list[IntArray]:
        """The tuple of each play in these runs, from the store where it is not remembered."""
        missing = {number for number, _ in runs} - self._tuples.keys()
        if missing:
            for number, arms in store.tuples(experiment, missing).items():
                self._remember(number, arms)
        return [self._tuples[number] for number, times in runs for _ in range(times)]

    def written(self) -> None:
        """The new ones are in the store."""
        self.new.clear()
        if self._remembered > MOST_REMEMBERED:
            self._numbers.clear()
            self._tuples.clear()
            self._remembered = 0

    def _take_number(self, arms: IntArray) -> int:
        number = self.next_number
        self.new[number] = arms
        self._remember(number, arms)
        return number

    def _remember(self, number: int, arms: IntArray) -> None:
        self.next_number = max(self.next_number, number + 1)
        self._numbers[arms.tobytes()] = number
        self._tuples[number] = arms
        self._remembered += arms.size
