"""Calls in the order in which they began, up to the first that is still running.

Calls in flight together end in another order, and failures often take longer. Read in the order of their end, the
outcomes of an option that never changes would begin with too many successes. In the order of their beginning they are
independent trials, and every test and estimate of a chain reads them here.

A call that runs for longer than the lease is read without waiting for it, so that no hanging call holds up the others
for ever: the attempt that it is in counts as a failure, whatever comes of it. While
:data:`MOST_WAITING` calls wait behind one that runs, calls that begin are left out: which these are depends on calls
before them alone, so nothing is selected by its outcome.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from linkedbandits.chain import forks
from linkedbandits.chain.backlog import Backlog

T = TypeVar("T")

MOST_WAITING = 100_000
"""Calls that are kept in memory until those before them have ended."""
MOST_AT_A_TIME = 64
"""Calls that are read at the end of one call, which waits for it."""


class Ticket(Generic[T]):
    """The place of a call in the order."""

    __slots__ = ("began", "call", "ended", "late")

    def __init__(self, call: T, began: float) -> None:
        self.call = call
        self.began = began
        self.ended = False
        self.late = False


class InOrder(Generic[T]):
    """Gives each call to ``read``, with whether it ended within ``lease`` seconds, once all before it were given.

    >>> order = InOrder(lambda call, in_time: print(call, in_time), 60.0, lambda: 0.0)
    >>> first, second, third = order.begin("first"), order.begin("second"), order.begin("third")
    >>> order.end(second)
    >>> order.end(first)
    first True
    second True
    """

    def __init__(self, read: Callable[[T, bool], None], lease: float, clock: Callable[[], float]) -> None:
        self._read = read
        self._lease = lease
        self._clock = clock
        self._tickets: deque[Ticket[T]] = deque()
        self._backlog: Backlog[None] = Backlog(self._advance)
        forks.call_in_child(self._be_in_a_child)

    def __len__(self) -> int:
        """Calls that were not read yet."""
        return len(self._tickets)

    def begin(self, call: T) -> Ticket[T] | None:
        """A call begins; None if it is left out, as too many wait."""
        if len(self._tickets) >= MOST_WAITING:
            return None
        ticket = Ticket(call, self._clock())
        self._tickets.append(ticket)
        return ticket

    def end(self, ticket: Ticket[T] | None) -> None:
        """The call is over. Waits a moment at most."""
        if ticket is not None:
            ticket.late = self._is_over(ticket)
            ticket.ended = True
        self._backlog.put(None)

    @contextmanager
    def up_to_now(self) -> Iterator[None]:
        """Read all that can be read, and nothing more meanwhile, unless another thread keeps at it for a second."""
        held = self._backlog.hold(seconds=1.0)
        try:
            while held and self._advance_some():
                pass
            yield
        finally:
            if held:
                self._backlog.release()

    def _advance(self, _: None) -> None:
        self._advance_some()

    def _advance_some(self) -> bool:
        """Read the next calls; may there be more to read?"""
        for _ in range(MOST_AT_A_TIME):
            if not self._tickets or not (self._tickets[0].ended or self._is_over(self._tickets[0])):
                return False
            ticket = self._tickets.popleft()
            self._read(ticket.call, ticket.ended and not ticket.late)
        return True

    def _is_over(self, ticket: Ticket[T]) -> bool:
        """Has the lease of the call expired?"""
        return self._clock() - ticket.began > self._lease

    def _be_in_a_child(self) -> None:
        """After a fork: calls of the parent do not run here."""
        self._tickets.clear()
        self._backlog.free()
