"""The library's errors: one tree, each also the built-in error its callers would expect.

Messages name the value that was wrong and what to do about it. ``reason`` tells apart, as data, errors of one class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping


class LinkedBanditError(Exception):
    """Anything this library refuses or cannot do.

    ``reason`` is one of :data:`REASONS`, or None where the class says it all. ``request_id`` is set by clients of a
    service: the service's log has the request under it.
    """

    reason: str | None = None
    request_id: str | None = None

    def __init__(self, message: str = "", *, reason: str | None = None) -> None:
        super().__init__(message)
        if reason is not None:
            self.reason = reason


class InvalidParameter(LinkedBanditError, ValueError):
    """An argument that the library cannot use.

    ``parameter`` is its name and ``value`` what was given, where one argument is to blame; ``problem`` is the message
    without them, for a front end that calls the parameter otherwise. Without a value (``...``) the message is whole.
    """

    def __init__(
        self, problem: str = "", parameter: str | None = None, value: object = ..., *, reason: str | None = None
    ) -> None:
        super().__init__(problem if value is ... else f"{parameter}={value!r} {problem}", reason=reason)
        self.problem, self.parameter, self.value = problem, parameter, value


class UnknownName(LinkedBanditError, KeyError):
    """A policy, linkage, scenario, play, experiment or webhook that does not exist under that name or number."""

    def __str__(self) -> str:  # KeyError would show the message in quotes
        return str(self.args[0])


class ConflictingTell(LinkedBanditError, ValueError):
    """A second answer to a play that differs from the first; ``on_record`` is the first: an arm, or None."""

    def __init__(self, message: str = "", on_record: Hashable = None) -> None:
        super().__init__(message)
        self.on_record = on_record


class ExperimentFinished(LinkedBanditError, RuntimeError):
    """A request for plays of an experiment that has its verdict."""


class TooManyInFlight(LinkedBanditError, RuntimeError):
    """A request for plays while as many are out as ``parallel`` allows."""


class WrongState(LinkedBanditError, RuntimeError):
    """A request that an experiment's state does not allow: it is paused, archived, or not archived."""


class ChainFailed(LinkedBanditError, RuntimeError):
    """A call of a chain for which no option worked.

    ``tried`` are the options in the order they were tried in, ``causes`` has the error of each.
    """

    def __init__(
        self, message: str = "", tried: tuple[Hashable, ...] = (), causes: Mapping[Hashable, Exception] | None = None
    ) -> None:
        super().__init__(message)
        self.tried = tried
        self.causes: Mapping[Hashable, Exception] = {} if causes is None else causes


class AttemptTimedOut(LinkedBanditError, TimeoutError):
    """An option of a chain that took longer than its timeout."""


class ValueRejected(LinkedBanditError, ValueError):
    """A ``value`` that an option of a chain returned, and that did not count as a success."""

    def __init__(self, message: str = "", value: object = None) -> None:
        super().__init__(message)
        self.value = value


class InvalidAttempts(LinkedBanditError, ValueError):
    """A log of attempts that contradicts itself, or cannot be used as it was asked to be."""


class InvalidStudy(LinkedBanditError, ValueError):
    """A study file that the library cannot run, or a folder of results that does not belong to it."""


class CannotRead(LinkedBanditError, OSError):
    """A file that could not be read as what it was given for."""


class CannotWrite(LinkedBanditError, OSError):
    """A file that could not be written."""


class DamagedSave(LinkedBanditError, ValueError):
    """A saved experiment, record or result that cannot be read back: damaged, or of a later version (by its reason)."""


class MissingExtra(LinkedBanditError, ImportError):
    """Something that needs an optional dependency which is not installed."""


class EngineFailure(LinkedBanditError, RuntimeError):
    """Workers that died, or could not be reached."""


class StoreUnavailable(LinkedBanditError, OSError):
    """A store that cannot be read or written now; try again.

    ``detail`` is fit for any caller, with what to do: it names no file, server or user.
    """

    def __init__(self, message: str = "", detail: str | None = None) -> None:
        super().__init__(message)
        self.detail = detail


class ServiceUnavailable(LinkedBanditError, ConnectionError):
    """A service that did not answer, or has no room for the request; ``retry_after`` are seconds until it may have."""

    def __init__(self, message: str = "", retry_after: float | None = None, *, reason: str | None = None) -> None:
        super().__init__(message, reason=reason)
        self.retry_after = retry_after


class AccessDenied(LinkedBanditError, PermissionError):
    """A request without a token that the service knows, or that the caller's role does not allow."""


class UnexpectedAnswer(LinkedBanditError, RuntimeError):
    """An answer that no service of this version of the library gives; ``status`` is that of HTTP, where it is known."""

    def __init__(self, message: str = "", status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


REASONS: dict[str, type[LinkedBanditError]] = {
    "invalid_labels": InvalidParameter,
    "linkage_mismatch": InvalidParameter,
    "hit_not_in_play": InvalidParameter,
    "key_reused": InvalidParameter,
    "request_too_large": InvalidParameter,
    "unknown_play": UnknownName,
    "unknown_experiment": UnknownName,
    "unknown_webhook": UnknownName,
    "experiment_paused": WrongState,
    "experiment_archived": WrongState,
    "experiment_not_archived": WrongState,
    "results_mismatch": InvalidStudy,
    "results_in_use": InvalidStudy,
    "newer_save": DamagedSave,
    "damaged_record": DamagedSave,
    "damaged_results": DamagedSave,
    "journal_mismatch": DamagedSave,
    "too_many_requests": ServiceUnavailable,
    "missing_token": AccessDenied,
}
"""Each reason, with the class whose errors may have it."""


def why_not(error: Exception) -> str:
    """Why a file could not be read or written, in words without a number of the system or the path once more.

    >>> why_not(FileNotFoundError(2, "No such file or directory", "log.csv")), why_not(OSError(28, "No space left"))
    ('there is no such file or folder', 'no space left')
    """
    for kind, words in _REASONS.items():
        if isinstance(error, kind):
            return words
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return said[:1].lower() + said[1:]


_REASONS: dict[type[Exception], str] = {
    FileNotFoundError: "there is no such file or folder",
    IsADirectoryError: "it is a folder",
    NotADirectoryError: "a part of its path is no folder",
    PermissionError: "you have no permission for it",
    UnicodeDecodeError: "it is no text in UTF-8",
}
