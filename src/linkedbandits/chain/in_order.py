"""Outcomes of calls in the order in which the calls began.

Calls that are in flight together end in another order, and what fails often takes longer. In the order in which they
end, outcomes of an option that never changes would begin with too many successes. In the order in which they begin
they are coins.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from linkedbandits.chain import forks
from linkedbandits.chain.backlog import Backlog
from linkedbandits.model import Label


class Ticket:
    """A call that began: the option it tries first, and how that ended; ``outcome`` is None if that is not known."""

    __slots__ = ("began", "ended", "option", "outcome")

    def __init__(self, option: Label, began: float) -> None:
        self.option = option
        self.began = began
        self.ended = False
        self.outcome: bool | None = None


class InOrder:
    """Passes outcomes on as soon as all calls before have ended, or are out for longer than ``lease`` seconds.

    >>> seen = []
    >>> order = InOrder(lambda option, worked: seen.append((option, worked)), 60.0, lambda: 0.0)
    >>> first, second, third = order.begin("a"), order.begin("b"), order.begin("a")
    >>> order.end(second, True)
    >>> seen
    []
    >>> order.end(first, None)
    >>> order.end(third, False)
    >>> seen
    [('b', True), ('a', False)]
    """

    def __init__(self, apply: Callable[[Label, bool], None], lease: float, clock: Callable[[], float]) -> None:
        self._apply = apply
        self._lease = lease
        self._clock = clock
        self._tickets: deque[Ticket] = deque()
        self._backlog: Backlog[None] = Backlog(self._advance)
        forks.call_in_child(self._backlog.free)

    def begin(self, option: Label) -> Ticket:
        """A call begins."""
        ticket = Ticket(option, self._clock())
        self._tickets.append(ticket)
        return ticket

    def end(self, ticket: Ticket, outcome: bool | None) -> None:
        """Its first option has worked, or failed; None if the call was lost in it. Waits a moment at most."""
        ticket.outcome = outcome
        ticket.ended = True
        self._backlog.put(None)

    def _advance(self, _: None) -> None:
        tickets = self._tickets
        while tickets:
            ticket = tickets[0]
            if not ticket.ended:
                if self._clock() - ticket.began <= self._lease:
                    return
                ticket.ended = True  # whatever comes of it, it is too late
            tickets.popleft()
            if ticket.outcome is not None:
                self._apply(ticket.option, ticket.outcome)
