"""What went wrong beside the calls: noted, logged once of each kind, and never raised."""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import suppress

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
        self.last = f"{where}: {type(error).__name__}: {_words_of(error)}"
        if self._seen[key] == 1:
            _log(
                logging.ERROR,
                "%s failed; calls go on without it, and further errors of this kind are only counted",
                where,
                error=error,
            )

    def once(self, what: str, message: str) -> None:
        """Warn of something, the first time that it is noticed."""
        key = ("warned", what)
        self._seen[key] += 1
        if self._seen[key] == 1:
            _log(logging.WARNING, "%s", message)

    @property
    def count(self) -> int:
        """How many errors there were."""
        return sum(times for (where, _), times in list(self._seen.items()) if where != "warned")


def _words_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # an error that cannot say what it is
        return "(without words)"


def _log(level: int, message: str, *arguments: object, error: BaseException | None = None) -> None:
    """What a user's filters and handlers raise must not break a call."""
    with suppress(Exception):
        LOGGER.log(level, message, *arguments, exc_info=error)
