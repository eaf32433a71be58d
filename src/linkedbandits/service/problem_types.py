"""The errors of the library as types of RFC 9457 problem documents, and back.

A type is a URN made of the error's reason, or of its class's name, so that a client raises the same error that an
experiment in its own process would have raised.
"""

from __future__ import annotations

import re

from linkedbandits import errors
from linkedbandits.errors import REASONS, LinkedBanditError

PREFIX = "urn:linkedbandits:"


def name_of(error: LinkedBanditError) -> str:
    """The error's reason, or its class's name, in kebab case.

    >>> name_of(errors.ConflictingTell("told before")), name_of(errors.WrongState("wait", reason="experiment_paused"))
    ('conflicting-tell', 'experiment-paused')
    """
    return (error.reason or "_".join(re.findall("[A-Z][a-z]+", type(error).__name__))).replace("_", "-").lower()


def type_of(error: LinkedBanditError) -> str:
    """The type under which an error travels."""
    return PREFIX + name_of(error)


def title_of(error: LinkedBanditError) -> str:
    """The type for people.

    >>> title_of(errors.TooManyInFlight("2 are out"))
    'Too many in flight'
    """
    return name_of(error).replace("-", " ").capitalize()


def error_for(problem_type: str, message: str) -> LinkedBanditError | None:
    """The error that travels under this type, if the library has one.

    >>> error = error_for("urn:linkedbandits:unknown-play", "no play 1 was asked")
    >>> error, error.reason
    (UnknownName('no play 1 was asked'), 'unknown_play')
    """
    reason = problem_type.removeprefix(PREFIX).replace("-", "_")
    if problem_type.startswith(PREFIX) and reason in REASONS:
        error = REASONS[reason](message)
        error.reason = reason
        return error
    found = _BY_TYPE.get(problem_type)
    return None if found is None else found(message)


_BY_TYPE = {
    type_of(found("")): found
    for found in vars(errors).values()
    if isinstance(found, type) and issubclass(found, LinkedBanditError)
}
