"""What went wrong beside the calls: noted, logged once of each kind, and never raised."""

from __future__ import annotations

import logging
from collections import Counter

LOGGER = logging.getLogger("linkedbandits.chain")


class Troubles:
    """Errors by where they came from. The first of each place and type is logged with its traceback."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[str, str]] = Counter()
        self.last: str | None = None
        """The latest in words; None if there was none."""

    def note(self, where: str, error: BaseException) -> None:
        """An error came from there, and the call went on without."""
        key = (where, type(error).__name__)
        self._seen[key] += 1
        self.last = f"{where}: {type(error).__name__}: {error}"
        if self._seen[key] == 1:
            LOGGER.error(
                "%s failed; calls go on without it, and further errors of this kind are only counted",
                where,
                exc_info=error,
            )

    def once(self, what: str, message: str) -> None:
        """Warn of something, the first time that it is noticed."""
        key = ("warned", what)
        self._seen[key] += 1
        if self._seen[key] == 1:
            LOGGER.warning(message)

    @property
    def count(self) -> int:
        """How many errors there were."""
        return sum(times for (where, _), times in list(self._seen.items()) if where != "warned")
