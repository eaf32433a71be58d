"""A name for every request: in its log lines, in its problem document, and in the header of its answer."""

from __future__ import annotations

import itertools
import re
import secrets
from collections.abc import Callable, Iterable
from contextvars import ContextVar, copy_context
from typing import TypeVar

T = TypeVar("T")

HEADER = b"x-request-id"

_SANE = re.compile(rb"[0-9A-Za-z][0-9A-Za-z._:/+=@-]{0,99}")
_process = secrets.token_hex(6)  # so that two services, or one before and after a restart, do not use the same names
_numbers = itertools.count(1)
_current: ContextVar[str | None] = ContextVar("request_id", default=None)


def begin_request(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The identifier of the request that begins in this task: the one that it brings, if it is sane, or a new one."""
    for name, value in headers:
        if name == HEADER and _SANE.fullmatch(value):
            identifier = value.decode()
            break
    else:
        identifier = new_request_id()
    _current.set(identifier)
    return identifier


def continue_request(identifier: str | None) -> None:
    """What this task does belongs to a request that began at another server."""
    _current.set(identifier)


def new_request_id() -> str:
    """An identifier that no other request has."""
    return f"{_process}-{next(_numbers)}"


def with_new_id(function: Callable[[], T]) -> T:
    """What a function returns that speaks of something which never became a request."""

    def named() -> T:
        _current.set(new_request_id())
        return function()

    return copy_context().run(named)


def current_request_id() -> str | None:
    """That of the request at work; None outside of one."""
    return _current.get()
