"""Work on something that one thread at a time may change, where nobody waits long and nobody works long for others.

What is to be done goes into a queue, which is safe in any thread. Whoever finds the thing free does all that is in the
queue; who finds it taken goes away, and the one who has it does that work as well. Where threads put in more than one
of them can do, that one would never come away: after a turn it hands the thing to the next who comes, and as long as
it works through many items, who comes waits a moment for a turn. Nobody waits for one who holds the thing for itself.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

A_TURN = 100
"""So many items of others a thread applies before it looks for another thread to go on."""
MANY = 500
"""With more items than these in the queue, who puts one in waits for a turn."""
A_MOMENT = 0.01
"""For so many seconds at most."""


class Backlog(Generic[T]):
    """A queue of items to apply, and who may apply them.

    ``apply`` is called by one thread at a time, with every item once, in the order they were put in.

    >>> done = []
    >>> backlog = Backlog(done.append)
    >>> backlog.put("north")
    >>> backlog.hold()
    True
    >>> backlog.put("east")
    >>> done, len(backlog)
    (['north'], 1)
    >>> backlog.release()
    >>> done, len(backlog)
    (['north', 'east'], 0)
    """

    def __init__(self, apply: Callable[[T], None]) -> None:
        self._apply = apply
        self._items: deque[T] = deque()
        self._busy = threading.Lock()
        self._held = False  # by one who has it for itself, and does not work through the queue
        self._tired = False  # who works through the queue had its turn, and waits for someone to take over
        self._waiting: deque[None] = deque()  # one for each who waits for a turn; unlike a number, safe in any thread

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: T) -> None:
        """Have an item applied, now or by whoever holds the thing. Waits a moment at most, and only behind many."""
        self._items.append(item)
        if (self._tired or len(self._items) > MANY) and not self._held:
            self._take_over()
        self._apply_if_free()

    def leave(self, item: T) -> None:
        """Have an item applied by whoever comes next to the thing, and not now."""
        self._items.append(item)

    def hold(self, seconds: float = 0.0) -> bool:
        """Take the thing, with all items applied that were put in before; False if another thread has it.

        It waits for it so many ``seconds``. Who does not want to wait gets False as well where more than a turn of
        items is to be applied before, and has done a turn of that; the rest is for the next who puts something in. What
        is put in while the thing is held is applied when it is given back.
        """
        busy = self._busy
        if not busy.acquire(blocking=False) and not (seconds and busy.acquire(timeout=seconds)):
            return False
        if not seconds and len(self._items) > A_TURN:
            self._apply_for_a_turn(A_TURN)
            return False
        try:
            for _ in range(len(self._items)):
                self._apply_next()
            self._held = True
        except BaseException:
            busy.release()
            raise
        return True

    def release(self) -> None:
        """Give it back; what came meanwhile is applied."""
        self._held = False
        self._busy.release()
        self._apply_if_free()

    def free(self) -> None:
        """Take it from whoever has it: in a process that was forked, where that thread is not."""
        self._busy = threading.Lock()
        self._held = self._tired = False
        self._waiting.clear()

    def _apply_if_free(self) -> None:
        # An item that comes between the last look at the queue and the release is seen by the condition of the loop.
        while self._items and self._busy.acquire(blocking=False):
            if self._apply_for_a_turn():
                return

    def _take_over(self) -> None:
        """Wait a moment for a turn, and take it."""
        self._waiting.append(None)
        try:
            taken = self._busy.acquire(timeout=A_MOMENT)
        finally:
            self._waiting.pop()
        if taken:
            self._apply_for_a_turn()

    def _apply_for_a_turn(self, most: int | None = None) -> bool:
        """Apply what is in the queue, ``most`` items of it, and give the thing back; True if another thread goes on.

        Who waits says so no longer before it looks for the last time whether the thing is free. So if it is said after
        the release that someone waits, that one finds what is left; if it is not said, this thread has to go on.
        """
        items, waiting = self._items, self._waiting
        applied = 0
        try:
            while items and applied != most and not (self._tired and waiting):
                self._apply_next()
                applied += 1
                self._tired = applied >= A_TURN
        finally:
            self._tired = False
            self._busy.release()
        return bool(items and waiting)

    def _apply_next(self) -> None:
        self._apply(self._items.popleft())  # whoever holds the thing is the only one to take items
