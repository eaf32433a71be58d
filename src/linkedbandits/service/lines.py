"""The connections to a database's server: not more than a few, let go of when unused, none waited on for ever.

A server that is stopped, or cut off, says nothing: neither its own time limits nor those of TCP help, for the machine
it runs on may still confirm what is sent. So who waits for an answer is freed from here, by a thread that hangs up.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from time import monotonic, sleep
from types import TracebackType
from typing import TYPE_CHECKING, Any

from linkedbandits.errors import StoreUnavailable
from linkedbandits.service.driver_errors import AWAY, DriverErrors

if TYPE_CHECKING:
    import psycopg

MOST_LINES = 14
"""Connections of one process."""
LINES_TO_WRITE = 4
"""So many of them are for those who write (the desk, webhooks, owners, readiness): however many look, they do not
wait."""
LINES_KEPT = 2
"""What is left when nothing happens."""
SECONDS_UNUSED = 10.0
"""When a connection that is not needed is closed."""
SECONDS_FOR_A_TURN = 10.0
"""How long to wait for a connection while all are in use."""
SECONDS_FOR_AN_ANSWER = 35.0
"""How long to wait for the server: longer than it gives itself for a statement, so that mostly it speaks first."""
_ROUND_SECONDS = 1.0

_CLOSED = "the PostgreSQL store was closed; open it again"


class Line:
    """A connection. As a context it is put around every statement: failures are explained, and the wait is watched."""

    def __init__(self, connection: psycopg.Connection[Any], errors: DriverErrors) -> None:
        self.connection = connection
        self.unused_since = 0.0
        self._errors = errors
        self._lock = threading.Lock()
        self._waiting_since: float | None = None
        self._hung_up = False

    def __enter__(self) -> None:
        self._waiting_since = monotonic()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._waiting_since = None
        if error is not None and self._hung_up:
            raise StoreUnavailable(
                f"the PostgreSQL store did not answer within {SECONDS_FOR_AN_ANSWER:g} s; is its server up, and not "
                "stopped? What was not acknowledged may or may not be on record: ask or tell it again",
                AWAY,
            ) from error
        self._errors.__exit__(kind, error, trace)

    def address_here(self) -> str | None:
        """The address of this machine on the way to the server, or to its pooler; None by a socket in a file."""
        with self._wire() as wire:
            found: str | tuple[str, int] = wire.getsockname()
        return found[0] if isinstance(found, tuple) else None

    def hang_up_if_silent(self, now: float) -> None:
        """Free who waits on it, if that is for too long."""
        with self._lock:
            if self._waiting_since is None or now - self._waiting_since < SECONDS_FOR_AN_ANSWER:
                return
            self._hung_up = True
            with suppress(Exception), self._wire() as wire:
                wire.shutdown(socket.SHUT_RDWR)

    def _wire(self) -> socket.socket:
        return socket.socket(fileno=os.dup(self.connection.fileno()))


class Lines:
    """Lends connections, one to each who asks; any thread may."""

    def __init__(self, connect: Callable[[], psycopg.Connection[Any]], errors: DriverErrors) -> None:
        self._connect = connect
        self._errors = errors
        self._changed = threading.Condition()
        self._lent = 0
        self._idle: list[Line] = []  # the one used last is the next
        self._all: set[Line] = set()
        self._closing = threading.Event()
        self._watch: threading.Thread | None = None

    def take(self, to_write: bool) -> Line:
        """A connection for oneself; StoreUnavailable if there is none in time."""
        line = self._wait_for_a_turn(MOST_LINES if to_write else MOST_LINES - LINES_TO_WRITE)
        if line is None:
            try:
                line = self._open_one()
            except BaseException:
                self._one_less_is_lent()
                raise
        return line

    def give_back(self, line: Line, sound: bool) -> None:
        """The next who asks may have it, if it is ``sound``."""
        if line.connection.closed:
            self._close(self._taken_from_idle(lambda _: True))  # they were lost together, most likely
        with self._changed:
            keep = sound and not self._closing.is_set()
            if keep:
                line.unused_since = monotonic()
                self._idle.append(line)
        if not keep:
            self._close([line])
        self._one_less_is_lent()

    def close(self) -> None:
        """Let go of all, and of those that are lent when they come back."""
        with self._changed:
            self._closing.set()
            self._changed.notify_all()
        self._close(self._taken_from_idle(lambda _: True))

    def _wait_for_a_turn(self, most: int) -> Line | None:
        """One that was used before, or None if a new one may be opened."""
        until = monotonic() + SECONDS_FOR_A_TURN
        with self._changed:
            while not self._closing.is_set():
                if self._lent < most:
                    self._lent += 1
                    return self._idle.pop() if self._idle else None
                left = until - monotonic()
                if left <= 0:
                    raise StoreUnavailable(
                        f"all {most} connections to PostgreSQL were in use for {SECONDS_FOR_A_TURN:g} s; try again, "
                        "with fewer downloads at once",
                        "too much is asked of it at once; try again, with fewer downloads",
                    )
                self._changed.wait(left)
        raise StoreUnavailable(_CLOSED)

    def _open_one(self) -> Line:
        with self._errors:
            line = Line(self._connect(), self._errors)
        with self._changed:
            self._all.add(line)
            if self._watch is None:
                self._watch = threading.Thread(target=self._keep_watch, name="postgres-lines", daemon=True)
                self._watch.start()
        return line

    def _one_less_is_lent(self) -> None:
        with self._changed:
            self._lent -= 1
            self._changed.notify_all()  # those who write may go on where those who read may not

    def _keep_watch(self) -> None:
        """In a thread of its own, until the store is closed and nothing is lent any more."""
        while self._all or not self._closing.is_set():
            with self._changed:
                there = list(self._all)
            for line in there:
                line.hang_up_if_silent(monotonic())
            long_ago = monotonic() - SECONDS_UNUSED
            self._close(self._taken_from_idle(partial(_unused_since, long_ago), LINES_KEPT))
            if self._closing.wait(_ROUND_SECONDS):
                sleep(_ROUND_SECONDS)

    def _taken_from_idle(self, which: Callable[[Line], bool], keep: int = 0) -> list[Line]:
        """Idle ones, unused for longest first, as long as more than ``keep`` are open."""
        taken: list[Line] = []
        with self._changed:
            while self._idle and len(self._all) - len(taken) > keep and which(self._idle[0]):
                taken.append(self._idle.pop(0))
        return taken

    def _close(self, lines: list[Line]) -> None:
        for line in lines:
            line.connection.close()
        with self._changed:
            self._all.difference_update(lines)


def _unused_since(time: float, line: Line) -> bool:
    return line.unused_since <= time
