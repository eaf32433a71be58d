"""The errors of the library as types of RFC 9457 problem documents, and back.

A type is a URN made of the class's name, so that a client raises the same error that an experiment in its own process
would have raised.
"""

from __future__ import annotations

import re

from linkedbandits import errors
from linkedbandits.errors import LinkedBanditError

PREFIX = "urn:linkedbandits:"


def type_of(error: type[LinkedBanditError]) -> str:
    """The type under which an error travels.

    >>> type_of(errors.ConflictingTell)
    'urn:linkedbandits:conflicting-tell'
    """
    return PREFIX + "-".join(word.lower() for word in _words(error.__name__))


def title_of(error: type[LinkedBanditError]) -> str:
    """The same for people.

    >>> title_of(errors.TooManyInFlight)
    'Too many in flight'
    """
    return " ".join(_words(error.__name__)).capitalize()


def class_of(problem_type: str) -> type[LinkedBanditError] | None:
    """The error that travels under this type, if the library has one.

    >>> class_of("urn:linkedbandits:unknown-play")
    <class 'linkedbandits.errors.UnknownPlay'>
    """
    return _BY_TYPE.get(problem_type)


def _words(name: str) -> list[str]:
    return re.findall("[A-Z][a-z]+", name)


_BY_TYPE = {
    type_of(found): found
    for found in vars(errors).values()
    if isinstance(found, type) and issubclass(found, LinkedBanditError)
}
