"""Numbers for the tuples that an experiment plays, so that its journal need not spell them out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from linkedbandits.model import IntArray, Label
from linkedbandits.service.store import Reading
from linkedbandits.tickets import Play

MOST_REMEMBERED = 1_000_000
"""Arms in all tuples remembered. One that was forgotten gets a new number when it comes again."""


class TupleNumbers:
    """Which number stands for which tuple. New ones wait in ``new`` until they are written."""

    def __init__(self, labels: Sequence[Label], next_number: int = 0) -> None:
        self.labels = labels
        self.next_number = next_number
        self.new: dict[int, IntArray] = {}
        self._index = {label: arm for arm, label in enumerate(labels)}
        self._numbers: dict[tuple[Label, ...], int] = {}
        self._tuples: dict[int, tuple[Label, ...]] = {}
        self._remembered = 0

    def runs(self, plays: Iterable[Play]) -> list[list[int]]:
        """The plays as numbers, each with how many times in a row."""
        runs: list[list[int]] = []
        last: tuple[Label, ...] | None = None
        for play in plays:
            if play.arms is not last:  # the same play again is the same object, mostly
                last = play.arms
                number = self._numbers.get(last)
                runs.append([self._take_number(last) if number is None else number, 0])
            runs[-1][1] += 1
        return runs

    def spelled_out(self, store: Reading, experiment: str, runs: Sequence[Sequence[int]]) -> list[tuple[Label, ...]]:
        """The tuple of each play in these runs, from the store where it is not remembered."""
        missing = {number for number, _ in runs} - self._tuples.keys()
        if missing:
            for number, arms in store.tuples(experiment, missing).items():
                self._remember(number, tuple(self.labels[arm] for arm in arms.tolist()))
        return [self._tuples[number] for number, times in runs for _ in range(times)]

    def written(self) -> None:
        """The new ones are in the store."""
        self.new.clear()
        if self._remembered > MOST_REMEMBERED:
            self._numbers.clear()
            self._tuples.clear()
            self._remembered = 0

    def _take_number(self, labels: tuple[Label, ...]) -> int:
        number = self.next_number
        self.new[number] = np.array([self._index[label] for label in labels])
        self._remember(number, labels)
        return number

    def _remember(self, number: int, labels: tuple[Label, ...]) -> None:
        self.next_number = max(self.next_number, number + 1)
        self._numbers[labels] = number
        self._tuples[number] = labels
        self._remembered += len(labels)
