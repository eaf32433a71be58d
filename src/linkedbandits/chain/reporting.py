"""What first attempts of this process took and cost in one experiment, as it is told to the service.

It is told as sums of all that there was so far, under a name of its own for each process, so that it does no harm to
tell it twice: the latest counts, and the service adds up those of all processes.
"""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable, Mapping

from linkedbandits.chain.backlog import Backlog
from linkedbandits.chain.expenses import Spent
from linkedbandits.model import Label
from linkedbandits.option_estimates import FirstAttempts

LONGEST_HOLD = 1.0
"""Seconds that the thread in the background waits for calls that are adding what they took."""


class Reporting:
    """The sums of one process. Calls add to them in any thread, and never wait; all else is for one thread.

    >>> reporting = Reporting(lambda label: FirstAttempts())
    >>> reporting.add(Spent("east", True, 0.25, None))
    >>> reporting.changed
    True
    >>> reporting.now()["east"].tries
    1
    >>> reporting.sent(1)
    >>> reporting.changed
    False
    """

    def __init__(self, nothing_tried: Callable[[Label], FirstAttempts]) -> None:
        self._nothing_tried = nothing_tried
        self._backlog: Backlog[Spent] = Backlog(self._add)
        self._empty()

    def begin_anew(self) -> None:
        """With nothing, under another name."""
        if self._backlog.hold(LONGEST_HOLD):
            self._empty()
            self._backlog.release()

    def _empty(self) -> None:
        self.source = uuid.uuid4().hex
        self._firsts: dict[Label, FirstAttempts] = {}
        self._tries = self._sent = 0

    def add(self, first: Spent) -> None:
        """What a call began with is over."""
        self._backlog.put(first)

    @property
    def changed(self) -> bool:
        """Is there something that was not sent?"""
        return self._tries > self._sent

    def now(self) -> Mapping[Label, FirstAttempts]:
        """The sums up to now, as a copy; nothing if calls keep adding to them."""
        if not self._backlog.hold(LONGEST_HOLD):
            return {}
        try:
            return copy.deepcopy(self._firsts)
        finally:
            self._backlog.release()

    def sent(self, tries: int) -> None:
        """As many attempts are known to the service."""
        self._sent = tries

    def _add(self, first: Spent) -> None:
        if first.option not in self._firsts:
            self._firsts[first.option] = self._nothing_tried(first.option)
        self._firsts[first.option].add(first.worked, first.seconds, first.cost)
        self._tries += 1
