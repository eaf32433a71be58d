"""Sign-ins that were refused: counted here, and kept in the audit once a minute, however many there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

MOST_ADDRESSES = 20
"""Told apart in one entry; the others are counted together."""
SECONDS_BETWEEN = 60.0
"""Between two entries: the first comes at once, and nobody fills the store by guessing."""


class RefusedSignIns:
    """For one thread, that of the event loop."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._reasons: Counter[str] = Counter()
        self._addresses: Counter[str] = Counter()
        self._noted_at = float("-inf")

    def refused(self, reason: str, address: str | None) -> None:
        """One more."""
        self._reasons[reason] += 1
        where = address or "unknown"
        if where not in self._addresses and len(self._addresses) >= MOST_ADDRESSES:
            where = "others"
        self._addresses[where] += 1

    def take(self, at_once: bool = False) -> dict[str, Any] | None:
        """What to keep now, if there is something and the last time is long enough ago."""
        if not self._reasons or (not at_once and self._clock() - self._noted_at < SECONDS_BETWEEN):
            return None
        self._noted_at = self._clock()
        taken = {
            "times": self._reasons.total(),
            "reasons": dict(self._reasons.most_common()),
            "addresses": dict(self._addresses.most_common()),
        }
        self._reasons.clear()
        self._addresses.clear()
        return taken

    def give_back(self, taken: dict[str, Any]) -> None:
        """What could not be kept, to be counted with the next."""
        self._reasons.update(taken["reasons"])
        self._addresses.update(taken["addresses"])
