"""Where the experiment of a chain lives: in memory, in a file, or in the service.

Calls take plays from it and bring back how they ended. None of that may wait: not for a disk or a network, and not for
what a policy computes for another call. Where no play is at hand there is none, and the call is served in the best
order known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from linkedbandits.assumptions import INDEPENDENT_OPTIONS
from linkedbandits.attempts.alarms import Alarm
from linkedbandits.attempts.log import AttemptLog, Which
from linkedbandits.chain.expenses import Spent
from linkedbandits.chain.history import Era, Move
from linkedbandits.live import Experiment, Learning, Play
from linkedbandits.model import Label, Verdict

LONGEST_WAIT = 10.0
"""Seconds that those who want to know how things stand, or to close a chain, wait at most."""


@dataclass(frozen=True)
class Condition:
    """How a home is: plays told and applied, plays out, answers that wait to be applied, answers given up for lack of
    room, and plays that were given up because they were out for
    too long."""

    told: int = 0
    out: int = 0
    waiting: int = 0
    dropped: int = 0
    expired: int = 0


def what_is_read(experiment: Experiment) -> Which:
    """All attempts, where the policy takes options to be independent; else the first of each play, or the first two."""
    if INDEPENDENT_OPTIONS in experiment.assumptions:
        return "all"
    return "first" if experiment.linkage_object.tries_one else "duels"


class Home(Protocol):
    """What a chain needs of the place where its experiment lives. All methods may be called from any thread.

    A home is for one experiment. Where another one goes on from that, it has a home of its own, the ``successor``.
    """

    @property
    def arms(self) -> tuple[Label, ...]:
        """The options of the experiment, in its order."""
        ...

    @property
    def eras(self) -> tuple[Era, ...]:
        """The experiments before this one, the first one first."""
        ...

    @property
    def era(self) -> Era:
        """This one."""
        ...

    @property
    def share(self) -> float:
        """The part of the level of alarms that this process has, where several watch for themselves."""
        ...

    @property
    def successor(self) -> Home | None:
        """Where the experiment lives that goes on from this one, if there is one."""
        ...

    def go_on(self, move: Move, seconds: float = 0.0) -> None:
        """Have another experiment go on from this one, unless one does already.

        It is the ``successor`` then, at once or when those who do the work in the background come to it. Waits so many
        seconds at most.
        """
        ...

    @property
    def order(self) -> tuple[Label, ...]:
        """All options in the best order known; after a verdict the option that it names comes first."""
        ...

    @property
    def verdict(self) -> Verdict | None:
        """The verdict, or None while there is none."""
        ...

    @property
    def reads(self) -> Which:
        """Which attempts of plays the verdict is read from, and so which alarms speak against it."""
        ...

    def take(self) -> Play | None:
        """A play for a call, or None if none is at hand. Never waits."""
        ...

    def tell(self, play: Play, hit: Label | None) -> None:
        """How a play ended: the option that worked, or None if all have failed. Waits a moment at most."""
        ...

    def lose(self, play: Play) -> None:
        """A play will not be answered. Waits a moment at most."""
        ...

    def spend(self, first: Spent) -> None:
        """What a call of any kind began with is over, and took or cost this. Waits a moment at most."""
        ...

    def settle(self) -> None:
        """Wait until all that was told before is applied, :data:`LONGEST_WAIT` seconds at most."""
        ...

    def attempts(self) -> AttemptLog | None:
        """The plays on record as a log, where that is at hand."""
        ...

    def alarms(self) -> tuple[Alarm, ...]:
        """Alarms that are raised elsewhere, such as by the service. Those of :meth:`attempts` are not among them."""
        ...

    def losses(self) -> tuple[Mapping[Label, int], Mapping[Label, int]] | None:
        """Plays of all processes by the option that they begin with, and those lost; None where the chain counts."""
        ...

    def learning(self) -> Learning | None:
        """What the plays have cost so far, as far as it is known."""
        ...

    def condition(self) -> Condition:
        """How it is."""
        ...

    def close(self) -> None:
        """Let go of everything; what was told is kept. Waits :data:`LONGEST_WAIT` seconds at most."""
        ...
