"""Work in the background: a thread that makes a round when there is something to do, and now and then anyway."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from types import MethodType

from linkedbandits.chain.home import LONGEST_WAIT
from linkedbandits.chain.troubles import Troubles

SHORTEST_PAUSE = 0.02
"""Seconds between two rounds when there is something to do;"""
IDLE_PAUSE = 0.5
"""and when there is not;"""
LONGEST_PAUSE = 30.0
"""and when rounds fail, twice as long each time until this."""
SHARE_OF_TIME = 0.25
"""How much of the time rounds take at most; but behind one that took long, as where a client keeps trying to reach a
service that is away, the pause is no longer than the longest."""


class Pause:
    """How long not to ask again for what was refused: twice as long each time, up to :data:`LONGEST_PAUSE`.

    >>> now = 0.0
    >>> pause = Pause(lambda: now, shortest=1.0)
    >>> pause.begin()
    >>> pause.lasts
    True
    >>> now = 1.5
    >>> pause.lasts
    False
    >>> pause.begin()
    >>> now = 3.0
    >>> pause.lasts
    True
    """

    def __init__(self, clock: Callable[[], float], shortest: float = IDLE_PAUSE) -> None:
        self._clock = clock
        self._shortest = self._next = shortest
        self._until: float | None = None

    @property
    def lasts(self) -> bool:
        """Is it too early to ask again?"""
        return self._until is not None and self._clock() < self._until

    def begin(self) -> None:
        """It was refused."""
        self._until = self._clock() + self._next
        self._next = min(2 * self._next, LONGEST_PAUSE)

    def over(self) -> None:
        """It may be asked for at once, and the next pause is a short one."""
        self._until = None
        self._next = self._shortest


class Rounds:
    """Makes rounds from the first :meth:`wake` to :meth:`stop`, in a daemon thread.

    What a round raises is noted under ``where``, and the next one is made all the same. ``last`` is called in the end.
    If it ``ends_with_owner`` it does not keep alive whose method the work is: when that is gone, so is the thread.
    """

    def __init__(
        self,
        where: str,
        work: Callable[[], None],
        troubles: Troubles,
        last: Callable[[], None] = lambda: None,
        ends_with_owner: bool = False,
    ) -> None:
        self._where = where
        self._work = _weakly(work) if ends_with_owner else lambda: work
        self._last = last
        self._troubles = troubles
        self._woken, self._stopped = threading.Event(), threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self.made = 0
        """Rounds that are over, those that failed among them."""

    def wake(self) -> None:
        """There is something to do. Never waits."""
        if self._thread is None:
            self._start()
        if not self._woken.is_set():
            self._woken.set()

    def begin(self) -> None:
        """Make rounds now and then, though there is nothing to do. Never waits."""
        if self._thread is None:
            self._start()

    def stop(self) -> None:
        """Make the last round, and no more; wait for it :data:`LONGEST_WAIT` seconds at most."""
        self._stopped.set()
        self._woken.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(LONGEST_WAIT)

    def wait_for(self, made: int) -> None:
        """Wait until so many rounds are over, :data:`LONGEST_WAIT` seconds at most."""
        deadline = time.monotonic() + LONGEST_WAIT
        while self.made < made and not self._stopped.is_set() and time.monotonic() < deadline:
            self.wake()
            self._stopped.wait(SHORTEST_PAUSE / 4)

    def _start(self) -> None:
        if self._stopped.is_set() or not self._starting.acquire(blocking=False):
            return
        try:
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="linkedbandits-chain", daemon=True)
                thread.start()
                self._thread = thread
        except RuntimeError as error:  # no thread to be had, or the interpreter ends: the next call tries again
            self._troubles.note(self._where, error)
        finally:
            self._starting.release()

    def _run(self) -> None:
        backoff = SHORTEST_PAUSE
        while not self._stopped.is_set():
            self._woken.wait(IDLE_PAUSE)
            if self._stopped.is_set():
                break
            if self._work() is None:
                return
            self._woken.clear()
            began = time.monotonic()
            backoff = SHORTEST_PAUSE if self._done(self._work) else min(2 * backoff, LONGEST_PAUSE)
            took = time.monotonic() - began
            self._stopped.wait(max(backoff, min(took * (1 / SHARE_OF_TIME - 1), LONGEST_PAUSE)))
        self._done(lambda: self._last)

    def _done(self, find: Callable[[], Callable[[], None] | None]) -> bool:
        try:
            work = find()
            if work is not None:
                work()
        except Exception as error:
            self._troubles.note(self._where, error)
            return False
        finally:
            self.made += 1
        return True


def _weakly(work: Callable[[], None]) -> Callable[[], Callable[[], None] | None]:
    """What gives the work as long as there is the object whose method it is."""
    return weakref.WeakMethod(work) if isinstance(work, MethodType) else lambda: work
