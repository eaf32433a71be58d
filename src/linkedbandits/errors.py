"""The library's errors: one tree, each also the built-in error its users would expect.

Messages name the value that was wrong and what to do about it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping


class LinkedBanditError(Exception):
    """Anything this library refuses or cannot do.

    ``request_id`` is set by clients of a service, where it says so: under it the request is in the service's log.
    """

    request_id: str | None = None


class InvalidMeans(LinkedBanditError, ValueError):
    """A vector of means that is no bandit: too short, not finite, or outside [0, 1]."""


class InvalidParameter(LinkedBanditError, ValueError):
    """A parameter outside the range that gives it a meaning.

    ``parameter`` is its name and ``value`` what was given, where the error is about one; ``problem`` is the message
    without them, for a front end that calls the parameter otherwise.
    """

    def __init__(self, problem: str, parameter: str | None = None, value: object = None) -> None:
        super().__init__(problem if parameter is None else f"{parameter}={value!r} {problem}")
        self.problem, self.parameter, self.value = problem, parameter, value


class InvalidNeeds(LinkedBanditError, ValueError):
    """A request for samples that cannot be fulfilled."""


class InvalidLabels(LinkedBanditError, ValueError):
    """Arm labels that could not be told apart or saved."""


class UnknownName(LinkedBanditError, KeyError):
    """A policy, linkage or scenario that does not exist under that name."""

    def __str__(self) -> str:  # KeyError would show the message in quotes
        return str(self.args[0])


class LinkageMismatch(LinkedBanditError, ValueError):
    """A policy that asks for plays which the linkage does not allow."""


class UnknownPlay(LinkedBanditError, KeyError):
    """An answer to a play that was never asked."""

    def __str__(self) -> str:
        return str(self.args[0])


class HitNotInPlay(LinkedBanditError, ValueError):
    """An answer that names an arm which the play did not try."""


class ConflictingTell(LinkedBanditError, ValueError):
    """A second answer to a play that differs from the first; ``on_record`` is the first: an arm, or None."""

    def __init__(self, message: str, on_record: Hashable = None) -> None:
        super().__init__(message)
        self.on_record = on_record


class ExperimentFinished(LinkedBanditError, RuntimeError):
    """A request for plays of an experiment that has its verdict."""


class TooManyInFlight(LinkedBanditError, RuntimeError):
    """A request for plays while as many are out as ``parallel`` allows."""


class ChainFailed(LinkedBanditError, RuntimeError):
    """A call of a chain for which no option worked.

    ``tried`` are the options in the order they were tried in, ``causes`` has the error of each.
    """

    def __init__(
        self, message: str, tried: tuple[Hashable, ...] = (), causes: Mapping[Hashable, Exception] | None = None
    ) -> None:
        super().__init__(message)
        self.tried = tried
        self.causes: Mapping[Hashable, Exception] = {} if causes is None else causes


class AttemptTimedOut(LinkedBanditError, TimeoutError):
    """An option of a chain that took longer than its timeout."""


class ValueRejected(LinkedBanditError, ValueError):
    """A ``value`` that an option of a chain returned, and that did not count as a success."""

    def __init__(self, message: str, value: object = None) -> None:
        super().__init__(message)
        self.value = value


class InvalidAttempts(LinkedBanditError, ValueError):
    """A log of attempts that contradicts itself, or cannot be used as it was asked to be."""


class CannotRead(LinkedBanditError, OSError):
    """A file that could not be read as what it was given for."""


class CannotWrite(LinkedBanditError, OSError):
    """A file that could not be written."""


class MissingExtra(LinkedBanditError, ImportError):
    """Something that needs an optional dependency which is not installed."""


class DamagedSave(LinkedBanditError, ValueError):
    """A saved experiment that cannot be read back as it was written."""


class NewerSave(LinkedBanditError, ValueError):
    """A saved experiment written by a later version of the library."""


class UnknownExperiment(LinkedBanditError, KeyError):
    """An experiment that the store does not have."""

    def __str__(self) -> str:
        return str(self.args[0])


class UnknownWebhook(LinkedBanditError, KeyError):
    """A webhook that the store does not have."""

    def __str__(self) -> str:
        return str(self.args[0])


class ExperimentPaused(LinkedBanditError, RuntimeError):
    """A request for plays of an experiment that is paused."""


class ExperimentArchived(LinkedBanditError, RuntimeError):
    """A change to an experiment that is closed for good."""


class ExperimentNotArchived(LinkedBanditError, RuntimeError):
    """A request to delete an experiment that is not archived."""


class KeyReused(LinkedBanditError, ValueError):
    """An idempotency key that was used for another request before."""


class StoreUnavailable(LinkedBanditError, OSError):
    """A store that cannot be read or written now; try again.

    ``reason`` is what anybody may be told of it, with what to do: it names no file, server or user.
    """

    def __init__(self, message: str, reason: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason


class DamagedRecord(LinkedBanditError, RuntimeError):
    """What a store has on record and cannot be read as it was written; to try again does not help."""


class JournalMismatch(LinkedBanditError, RuntimeError):
    """A journal that, replayed, does not give what it says."""


class InvalidStudy(LinkedBanditError, ValueError):
    """A study file that says something the library cannot run."""


class ResultsMismatch(LinkedBanditError, ValueError):
    """A folder of results that belongs to another study, or to another version of it."""


class ResultsInUse(LinkedBanditError, RuntimeError):
    """A folder of results that another run is writing to."""


class DamagedResults(LinkedBanditError, ValueError):
    """Results that cannot be read back as they were written."""


class EngineFailure(LinkedBanditError, RuntimeError):
    """Workers that died, or could not be reached."""


class MissingToken(LinkedBanditError, PermissionError):
    """A request without a token that the service knows."""


class AccessDenied(LinkedBanditError, PermissionError):
    """A request that the caller's role does not allow."""


class RequestTooLarge(LinkedBanditError, ValueError):
    """A request with more in it than the service takes at once."""


class TooManyRequests(LinkedBanditError, RuntimeError):
    """More requests than a token may make; ``retry_after`` is in how many seconds the next is welcome."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ServiceUnavailable(LinkedBanditError, ConnectionError):
    """A service that did not answer, however often it was asked."""


class UnexpectedAnswer(LinkedBanditError, RuntimeError):
    """An answer that no service of this version of the library gives; ``status`` is that of HTTP, where it is known."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


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
