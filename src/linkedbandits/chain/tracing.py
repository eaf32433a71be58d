"""Where a tracer takes hold of a chain: what is told of calls while they run.

Hooks hear of an attempt when it is over. A tracer has to be there before, so that what the option does belongs to the
attempt: its methods are called in the thread and the context of the call, around each attempt.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from linkedbandits.chain.results import Attempt, Role
from linkedbandits.chain.tally import Ending
from linkedbandits.model import Label, Verdict


class CallTrace(Protocol):
    """One call that is followed. What it raises is logged, and changes nothing."""

    def attempt(self, option: Label, /) -> None:
        """An attempt begins."""

    def attempted(self, attempt: Attempt, /) -> None:
        """That attempt is over."""

    def end(self, ending: Ending, /) -> None:
        """The call is over."""


@runtime_checkable
class Tracing(Protocol):
    """Follows the calls of a chain."""

    def call(self, role: Role, /) -> CallTrace:
        """A call begins."""

    def verdict(self, verdict: Verdict, /) -> None:
        """The chain has its verdict; in the context of the call that brought it."""

    def alarm(self, alarm: Any, /) -> None:
        """Something speaks against the verdict; in a thread of its own."""
