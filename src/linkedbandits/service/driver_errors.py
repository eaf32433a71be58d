"""Errors of a database's driver, in the library's own words."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from linkedbandits.errors import StoreUnavailable
from linkedbandits.service.store_errors import DamagedRecord

FULL = "its disk is full; make room on it"
HELD = "somebody else holds it; end the process or transaction that does"
AWAY = "its server does not answer; is it up, and not stopped?"
SLOW = "it took too long; try again, and look at what keeps its server busy"
DENIED = "it may not be written; look at the rights of its files or of its user"
"""What anybody may be told of a store that cannot be used, with what to do: no file, server or user is named."""


class DriverErrors:
    """A context in which the ``failures`` of a driver, but for ``mistakes``, become StoreUnavailable or DamagedRecord.

    A mistake is a statement that would fail on a sound store, too, and is nothing to try again. The context is put
    around every statement, and not only around a transaction: code with several commands in one has to tell a store
    that failed from a command that did.
    """

    def __init__(
        self,
        failures: type[Exception],
        mistakes: tuple[type[Exception], ...],
        explain: Callable[[Exception], StoreUnavailable | DamagedRecord],
    ) -> None:
        self._failures = failures
        self._mistakes = mistakes
        self._explain = explain

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, self._failures) and not isinstance(error, self._mistakes):
            raise self._explain(error) from error
