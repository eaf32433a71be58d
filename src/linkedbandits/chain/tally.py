"""Counts over the calls of a chain."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

from linkedbandits.chain import forks
from linkedbandits.chain.backlog import Backlog
from linkedbandits.chain.results import Role
from linkedbandits.model import Label

Ending = Literal["worked", "failed", "lost"]
"""How a call ended: with a value, with :class:`~linkedbandits.errors.ChainFailed`, or with any other error."""


class Ended(NamedTuple):
    """A call that is over. Where it was lost, the last option tried is the one it was lost in."""

    role: Role
    tried: tuple[Label, ...]
    ending: Ending


@dataclass
class Counts:
    """What was counted. ``attempts_of`` and ``lost_of`` are by option, of calls that were plays."""

    attempts_of: dict[Label, int]
    lost_of: dict[Label, int]
    began: int = 0
    calls: dict[Role, int] = field(default_factory=lambda: dict.fromkeys(get_args(Role), 0))
    attempts: dict[Role, int] = field(default_factory=lambda: dict.fromkeys(get_args(Role), 0))
    endings: dict[Ending, int] = field(default_factory=lambda: dict.fromkeys(get_args(Ending), 0))

    @property
    def ended(self) -> int:
        """Calls that are over."""
        return sum(self.endings.values())

    def add(self, ended: Ended | None) -> None:
        """A call began, if it is None, or ended."""
        if ended is None:
            self.began += 1
            return
        role, tried, ending = ended
        self.calls[role] += 1
        self.attempts[role] += len(tried)
        self.endings[ending] += 1
        if role == "play":
            attempts_of = self.attempts_of
            for option in tried:
                if option not in attempts_of:  # it was added
                    attempts_of[option] = self.lost_of[option] = 0
                attempts_of[option] += 1
            if ending == "lost" and tried:
                self.lost_of[tried[-1]] += 1


class Tally:
    """The counts of a chain; no call waits for another to count.

    >>> tally = Tally(["north", "east"])
    >>> tally.begin()
    >>> tally.end("play", ("east", "north"), "worked")
    >>> tally.counts().attempts_of
    {'north': 1, 'east': 1}
    """

    def __init__(self, options: Iterable[Label]) -> None:
        labels = tuple(options)
        self._counts = Counts(dict.fromkeys(labels, 0), dict.fromkeys(labels, 0))
        self._backlog: Backlog[Ended | None] = Backlog(self._counts.add)
        forks.call_in_child(self._backlog.free)

    def begin(self) -> None:
        """A call begins."""
        self._backlog.put(None)

    def end(self, role: Role, tried: tuple[Label, ...], ending: Ending) -> None:
        """A call is over."""
        self._backlog.put(Ended(role, tried, ending))

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
