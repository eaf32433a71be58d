"""How calls travel by httpx, and which failures are worth another try."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from linkedbandits.errors import LinkedBanditError, MissingExtra, ServiceUnavailable, UnexpectedAnswer
from linkedbandits.service.calls import Call, error_of

try:
    import httpx
except ImportError as missing:
    raise MissingExtra("the client needs httpx; install it with: pip install 'linkedbandits[client]'") from missing

T = TypeVar("T")

NewKey = Callable[[], str]

_NOTHING_DONE = {429}
"""The service says so: whatever was asked for has not been done."""
_PERHAPS_DONE = {502, 503, 504}
"""A proxy says so, and does not know; or the store was lost, perhaps after it had committed."""
_LONGEST_PAUSE = 60.0
"""Seconds: whatever a Retry-After header asks for, a caller does not wait longer than this."""


@dataclass(frozen=True, slots=True)
class Again:
    """Try again, not before ``least_pause`` seconds; ``error`` is what to raise after the last attempt."""

    error: LinkedBanditError
    least_pause: float = 0.0


def random_key() -> str:
    """A key that was never used before."""
    return uuid.uuid4().hex


def headers_for(token: str | None) -> dict[str, str]:
    """What every request carries."""
    return {} if token is None else {"Authorization": f"Bearer {token}"}


def request_of(http: httpx.Client | httpx.AsyncClient, call: Call[Any]) -> httpx.Request:
    """The call as a request."""
    return http.build_request(call.method, call.path, json=call.body)


def after_failure(call: Call[Any], error: httpx.TransportError) -> Again:
    """What to do when no answer came; raises where another try would not help or not be safe."""
    message = f"{call.method} {call.path} was not answered ({error!r}); is the service running?"
    hopeless = isinstance(error, httpx.UnsupportedProtocol | httpx.LocalProtocolError)
    if hopeless or not (call.repeatable or isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)):
        raise ServiceUnavailable(message) from error
    return Again(ServiceUnavailable(message))


def after_answer(call: Call[T], response: httpx.Response) -> T | Again:
    """What the answer says, or that it should be asked for again; raises the error that it speaks of."""
    try:
        content = response.json()
    except ValueError:
        content = None
    if response.is_success:
        try:
            return call.read(content)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise UnexpectedAnswer(
                f"{call.method} {call.path} was answered with something else; is this address a linkedbandits service?"
            ) from error
    status = response.status_code
    if status not in _NOTHING_DONE | _PERHAPS_DONE:
        raise error_of(content)
    known = isinstance(content, dict)
    refusal = error_of(content) if known else ServiceUnavailable(f"{call.method} {call.path}: status {status}")
    if status in _PERHAPS_DONE and not call.repeatable:
        raise refusal
    return Again(refusal, _seconds(response.headers.get("Retry-After")))


def _seconds(retry_after: str | None) -> float:
    """What a Retry-After header asks for, within reason; dates are not worth the trouble."""
    try:
        wanted = float(retry_after or 0.0)
    except ValueError:
        return 0.0
    return min(wanted, _LONGEST_PAUSE) if wanted > 0 else 0.0  # "nan" is a number, too


__all__ = [
    "Again",
    "NewKey",
    "after_answer",
    "after_failure",
    "headers_for",
    "httpx",
    "random_key",
    "request_of",
]
