"""Counts over the calls of a chain."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

from linkedbandits.chain import forks
from linkedbandits.chain.backlog import Backlog
from linkedbandits.chain.expenses import Spent
from linkedbandits.chain.results import Role
from linkedbandits.model import Label

Ending = Literal["worked", "failed", "lost"]
"""How a call ended: with a value, with :class:`~linkedbandits.errors.ChainFailed`, or with any other error."""


class Ended(NamedTuple):
    """A call that is over. Where it was lost, the last option tried is the one it was lost in."""

    role: Role
    tried: tuple[Label, ...]
    ending: Ending
    spent: tuple[Spent, ...]


@dataclass
class Counts:
    """What was counted. ``lost_of`` is by option, of calls that were plays.

    ``spent`` is what attempts have cost by role, where that is known.
    """

    lost_of: dict[Label, int]
    began: int = 0
    calls: dict[Role, int] = field(default_factory=lambda: dict.fromkeys(get_args(Role), 0))
    attempts: dict[Role, int] = field(default_factory=lambda: dict.fromkeys(get_args(Role), 0))
    endings: dict[Ending, int] = field(default_factory=lambda: dict.fromkeys(get_args(Ending), 0))
    spent: dict[Role, float] = field(default_factory=lambda: dict.fromkeys(get_args(Role), 0.0))

    @property
    def ended(self) -> int:
        """Calls that are over."""
        return sum(self.endings.values())

    def add(self, ended: Ended | None) -> None:
        """A call began, if it is None, or ended."""
        if ended is None:
            self.began += 1
            return
        role, tried, ending, spent = ended
        self.calls[role] += 1
        self.attempts[role] += len(tried)
        self.endings[ending] += 1
        for attempt in spent:
            if attempt.cost is not None:
                self.spent[role] += attempt.cost
        if role == "play":
            for option in tried:
                self.lost_of.setdefault(option, 0)  # it may have been added
            if ending == "lost" and tried:
                self.lost_of[tried[-1]] += 1


class Tally:
    """The counts of a chain, of calls as they end; no call waits for another to count.

    They describe what was done, and no option: what calls say of options is read in the order in which they began.

    >>> tally = Tally(["north", "east"])
    >>> tally.begin()
    >>> tally.end("play", ("east", "north"), "worked")
    >>> tally.counts().attempts["play"]
    2
    """

    def __init__(self, options: Iterable[Label]) -> None:
        self._counts = Counts(dict.fromkeys(options, 0))
        self._backlog: Backlog[Ended | None] = Backlog(self._counts.add)
        forks.call_in_child(self._backlog.free)

    def begin(self) -> None:
        """A call begins."""
        self._backlog.put(None)

    def end(self, role: Role, tried: tuple[Label, ...], ending: Ending, spent: tuple[Spent, ...] = ()) -> None:
        """A call is over; ``spent`` are those of its attempts that were not lost."""
        self._backlog.put(Ended(role, tried, ending, spent))

    @property
    def ended(self) -> int:
        """Calls that are over, without waiting: some may be left out."""
        return self._counts.ended

    def counts(self) -> Counts:
        """All up to now, as a copy."""
        held = self._backlog.hold(seconds=1.0)
        try:
            return copy.deepcopy(self._counts)
        finally:
            if held:
                self._backlog.release()
