"""Work on something that one thread at a time may change, where nobody waits for a turn.

What is to be done goes into a queue, which is safe in any thread. Whoever finds the thing free does all that is in the
queue; who finds it taken goes away, and the one who has it does that work as well.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


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

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: T) -> None:
        """Have an item applied, now or by whoever holds the thing. Never waits for another thread."""
        self._items.append(item)
        self._apply_if_free()

    def leave(self, item: T) -> None:
        """Have an item applied by whoever comes next to the thing, and not now."""
        self._items.append(item)

    def hold(self, seconds: float = 0.0) -> bool:
        """Take the thing, with all items applied; False if another thread has it, after so many seconds."""
        busy = self._busy
        if not busy.acquire(blocking=False) and not (seconds and busy.acquire(timeout=seconds)):
            return False
        try:
            self._apply_all()
        except BaseException:
            busy.release()
            raise
        return True

    def release(self) -> None:
        """Give it back; what came meanwhile is applied."""
        self._busy.release()
        self._apply_if_free()

    def free(self) -> None:
        """Take it from whoever has it: in a process that was forked, where that thread is not."""
        self._busy = threading.Lock()

    def _apply_if_free(self) -> None:
        # An item that comes between the last look at the queue and the release is seen by the condition of the loop.
        while self._items and self._busy.acquire(blocking=False):
            try:
                self._apply_all()
            finally:
                self._busy.release()

    def _apply_all(self) -> None:
        items, apply = self._items, self._apply
        while items:
            apply(items.popleft())  # whoever holds the thing is the only one to take items
