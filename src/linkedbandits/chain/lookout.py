"""When to look for alarms by itself: each time that there were a tenth more calls, in a thread, one at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable
from typing import Protocol

from linkedbandits.chain import forks
from linkedbandits.chain.troubles import Troubles

FIRST_LOOK = 100
GROWTH = 0.1


class AnyAlarm(Protocol):
    """What alarms of all kinds have."""

    @property
    def kind(self) -> str:
        """What differs."""
        ...

    @property
    def option(self) -> Hashable:
        """In which option."""
        ...


def in_a_thread(work: Callable[[], None], name: str = "linkedbandits-alarms") -> None:
    """Do something without that a call waits for it."""
    threading.Thread(target=work, name=name, daemon=True).start()


class Lookout:
    """Calls ``heard`` with every alarm that ``alarms`` gives, once for each kind and option."""

    def __init__(
        self,
        alarms: Callable[[], Iterable[AnyAlarm]],
        heard: Callable[[AnyAlarm], None],
        troubles: Troubles,
        start: Callable[[Callable[[], None]], None] = in_a_thread,
    ) -> None:
        self._alarms = alarms
        self._heard = heard
        self._troubles = troubles
        self._start = start
        self._next = FIRST_LOOK
        self._looking = threading.Lock()
        self._known: set[tuple[str, Hashable]] = set()
        forks.call_in_child(self._forget_the_thread)

    def look_after(self, calls: int) -> None:
        """There were as many calls; look if it is time."""
        if calls < self._next or not self._looking.acquire(blocking=False):
            return
        try:
            self._next = calls + max(1, int(GROWTH * calls))
            self._start(self._look)
        except BaseException:
            self._looking.release()
            raise

    def _forget_the_thread(self) -> None:
        self._looking = threading.Lock()

    def _look(self) -> None:
        try:
            for alarm in self._alarms():
                if (alarm.kind, alarm.option) not in self._known:
                    self._known.add((alarm.kind, alarm.option))
                    self._heard(alarm)
        except Exception as error:
            self._troubles.note("looking for alarms", error)
        finally:
            self._looking.release()
