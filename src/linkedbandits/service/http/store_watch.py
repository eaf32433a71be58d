"""Is the store there, how large is it, what waits in it? A thread of its own asks, so that nobody else has to wait.

What it found is kept with the time at which it did. A question that is not answered in time is an answer, too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from linkedbandits.errors import StoreUnavailable
from linkedbandits.service.outbox_tables import OutboxCounts
from linkedbandits.service.pulse import Pulse
from linkedbandits.service.records import Room, RunStatus
from linkedbandits.service.store import Store

ASK_SECONDS = 2.0
"""How often the store is asked whether it is there;"""
FIGURES_SECONDS = 15.0
"""and how often what takes longer to find out."""
PATIENCE_SECONDS = 5.0
"""A store that has not answered for so long is away."""
SECONDS_TO_STOP = 0.5


@dataclass(frozen=True, slots=True)
class StoreFigures:
    """What was found, at a time of the watch's clock."""

    at: float
    bytes: int
    room: Room | None
    experiments: dict[RunStatus, int]
    outbox: OutboxCounts


class StoreWatch:
    """Runs from :meth:`start` to :meth:`stop`.

    ``on_away`` and ``on_back`` are called once each time the store goes and comes, in any thread, the one with the
    reason, the other with the seconds that it was away.
    """

    def __init__(
        self,
        store: Store,
        ping: Callable[[], None],
        pulse: Pulse,
        on_away: Callable[[str], None],
        on_back: Callable[[float], None],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._store = store
        self._ping = ping
        self._pulse = pulse
        self._on_away = on_away
        self._on_back = on_back
        self._clock = clock
        self._wake = threading.Event()
        self._stopping = False
        self._asked_at: float | None = None
        self._refused: StoreUnavailable | None = None
        self._away_since: float | None = None
        self._lock = threading.Lock()
        self.figures: StoreFigures | None = None
        self._figures_tried_at = -FIGURES_SECONDS
        self._thread = threading.Thread(target=self._work, name="store-watch", daemon=True)

    def start(self) -> None:
        """Begin to ask; once."""
        self._thread.start()

    def stop(self) -> None:
        """Ask no more. A question that the store does not answer is not waited for."""
        self._stopping = True
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join(SECONDS_TO_STOP)

    def away(self) -> bool:
        """Is it away as far as is known now? Waits for nothing."""
        with self._lock:  # a reason from before must not be noted behind one from now
            reason, before, now = self._reason(), self._away_since, self._clock()
            changed = (reason is None) != (before is None)
            if changed:
                self._away_since = None if reason is None else now
        if changed and reason is not None:
            self._on_away(reason)
        elif changed and before is not None:
            self._on_back(now - before)
        return reason is not None

    def age(self) -> float | None:
        """Seconds since the figures were read; None before the first time."""
        return None if self.figures is None else max(0.0, self._clock() - self.figures.at)

    def _reason(self) -> str | None:
        asked_at, refused, failure = self._asked_at, self._refused, self._pulse.failure
        if asked_at is not None and self._clock() - asked_at > PATIENCE_SECONDS:
            return f"the store has not answered for {PATIENCE_SECONDS:g} s"
        if refused is not None:
            return str(refused)
        return None if failure is None else str(failure)

    def _work(self) -> None:
        while not self._stopping:
            self.ask()
            self._wake.wait(ASK_SECONDS)

    def ask(self) -> None:
        """Ask the store now."""
        self._asked_at = self._clock()
        try:
            self._ping()
            if self._clock() - self._figures_tried_at >= FIGURES_SECONDS:
                self._figures_tried_at = self._clock()
                self.figures = self._read()
        except StoreUnavailable as error:
            self._refused = error
        except Exception as error:  # a store that breaks in a new way is no reason to ask no more
            self._refused = StoreUnavailable(f"the store cannot be asked ({type(error).__name__}); see to it")
        else:
            self._refused = None
        self._asked_at = None
        self.away()

    def _read(self) -> StoreFigures:
        with self._store.reading() as reading:
            size, experiments, outbox = reading.size(), reading.count_by_status(), reading.outbox_counts()
        return StoreFigures(self._clock(), size, self._store.room(), experiments, outbox)
