"""Errors of a database's driver, in the library's own words."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from linkedbandits.errors import StoreUnavailable


class DriverErrors:
    """A context in which the ``failures`` of a driver, but for ``mistakes``, become StoreUnavailable.

    A mistake is a statement that would fail on a sound store, too, and is nothing to try again. The context is put
    around every statement, and not only around a transaction: code with several commands in one has to tell a store
    that failed from a command that did.
    """

    def __init__(
        self,
        failures: type[Exception],
        mistakes: tuple[type[Exception], ...],
        explain: Callable[[Exception], StoreUnavailable],
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
