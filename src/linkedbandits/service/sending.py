"""How calls travel by httpx, and which failures are worth another try.

Whatever happens on the way, a wrong address or the error page of a proxy included, becomes an error of the library that
says what to do.
"""

from __future__ import annotations

import html
import re
import secrets
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from linkedbandits.errors import InvalidParameter, LinkedBanditError, MissingExtra, ServiceUnavailable, UnexpectedAnswer
from linkedbandits.service.calls import Call, Told, error_of, is_problem, is_request_id, note_request
from linkedbandits.service.retries import Patience, TimeLeft

try:
    import httpx
except ImportError as missing:
    raise MissingExtra("the client needs httpx; install it with: pip install 'linkedbandits[client]'") from missing

T = TypeVar("T")

NewKey = Callable[[], str]

SECONDS_FOR_AN_ANSWER = 15.0
"""Longer than the service itself waits for a lock, and short enough for another try in the time there is for them."""
LONGEST_TIMEOUT = 24 * 3600.0

_NOTHING_DONE = {429}
"""The service says so: whatever was asked for has not been done."""
_PERHAPS_DONE = {408, 502, 503, 504}
"""A proxy says so, and does not know; or the store was lost, perhaps after it had committed."""
_MOST_WORDS = 100  # characters of a foreign answer that are repeated


@dataclass(frozen=True, slots=True)
class Again:
    """Try again, not before ``least_pause`` seconds; ``error`` is what to raise after the last attempt.

    ``perhaps_done``: what was asked for may have been carried out.
    """

    error: LinkedBanditError
    least_pause: float = 0.0
    perhaps_done: bool = False


def random_key() -> str:
    """A key that was never used before."""
    return uuid.uuid4().hex


def random_request_id() -> str:
    """A name for a call, short enough to be read aloud."""
    return secrets.token_hex(8)


def address_of(url: str) -> httpx.URL:
    """The address of a service, or why it is none. What it says of a password is not repeated."""
    try:
        found = httpx.URL(url)
    except (httpx.InvalidURL, TypeError, ValueError) as error:
        raise InvalidParameter("the address of the service is no URL; give one as http://127.0.0.1:8000") from error
    if found.scheme not in ("http", "https") or not found.host:
        raise InvalidParameter(
            f"the address of the service begins with {found.scheme + ':' if found.scheme else 'no scheme'}; give one "
            "as http://127.0.0.1:8000, with http:// or https:// and a host"
        )
    return found


def headers_for(token: str | None) -> dict[str, str]:
    """What every request carries. Blanks around a token come from the file it was read from."""
    if token is None:
        return {}
    text = token.strip()
    if not text or not all("!" <= letter <= "~" for letter in text):
        raise InvalidParameter(
            "the token is none that 'linkedbandits token create' has made: it is empty, or has other signs than they "
            "have; was something else copied with it?"
        )
    return {"Authorization": f"Bearer {text}"}


def named(call: Call[T], request_id: str) -> Call[T]:
    """The call with the name that all its attempts carry, and the errors that come of it."""
    return replace(call, request_id=request_id)


def request_of(http: httpx.Client | httpx.AsyncClient, call: Call[Any], limits: TimeLeft) -> httpx.Request:
    """The call as a request that takes no longer than this."""
    try:
        return http.build_request(
            call.method,
            call.path,
            json=call.body,
            headers=_headers_of(call),
            extensions={"timeout": limits},
        )
    except (TypeError, ValueError) as error:
        raise InvalidParameter(
            f"{call.method} {call.path} cannot be sent ({error}); labels and hits are text, whole numbers, fractions "
            "or booleans, and keys are text in ASCII"
        ) from error


def _headers_of(call: Call[Any]) -> dict[str, str]:
    headers = {"X-Request-Id": call.request_id, "Idempotency-Key": call.key}
    return {name: value for name, value in headers.items() if value is not None}


def after_failure(call: Call[Any], error: httpx.RequestError) -> Again:
    """What to do when no answer came; raises where another try would not help or not be safe."""
    failure = ServiceUnavailable(
        f"{call.method} {call.path} was not answered{_by(error)} ({error!r}); is the service running, and is this its "
        "address?"
    )
    failure.__cause__ = error
    note_request(failure, call.request_id)
    hopeless = isinstance(error, httpx.UnsupportedProtocol | httpx.LocalProtocolError | httpx.TooManyRedirects)
    arrived = not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
    if hopeless or (arrived and not call.repeatable):
        raise failure
    return Again(failure, perhaps_done=arrived)


def after_answer(call: Call[T], response: httpx.Response, perhaps_done: bool = False) -> T | Again:
    """What the answer says, or that it should be asked for again; raises the error that it speaks of.

    ``perhaps_done``: an attempt before this may have been carried out.
    """
    request_id = _request_id(call, response)
    try:
        content = response.json()
    except ValueError:
        content = None
    if response.is_success:
        try:
            outcome = _read(call, response, content)
        except UnexpectedAnswer as error:
            note_request(error, request_id)
            raise
        if isinstance(outcome, Told):
            outcome.note_request(request_id)
        return outcome
    status = response.status_code
    pause = _seconds(response.headers.get("Retry-After"))
    refusal = error_of(content) if is_problem(content) else _of_another(call, response)
    # A 500 without a problem document is not the service's own: a proxy, or the web server, has given the request up.
    unclear = status in _PERHAPS_DONE or (status >= 500 and not is_problem(content))
    if (unclear or status in _NOTHING_DONE) and isinstance(refusal, UnexpectedAnswer):
        refusal = ServiceUnavailable(
            f"{_said(call, response)}{_words(response)}; is the service up, behind the proxy that answers for it?"
        )
    if isinstance(refusal, ServiceUnavailable):
        refusal.retry_after = pause or None
    note_request(refusal, request_id)
    if perhaps_done and call.removes and refusal.reason == "unknown_experiment":
        return call.read(None)
    if status not in _NOTHING_DONE and not (unclear and call.repeatable):
        raise refusal
    return Again(refusal, pause, unclear)


def _request_id(call: Call[Any], response: httpx.Response) -> str | None:
    """What the answer calls the request, if that can be; else the name that it was sent with."""
    said = response.headers.get("X-Request-Id", "")
    return said if is_request_id(said) else call.request_id


def _read(call: Call[T], response: httpx.Response, content: object) -> T:
    try:
        return call.read(content)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise UnexpectedAnswer(
            f"{call.method} {call.path} was answered with something else{_words(response)}; is this address a "
            "linkedbandits service?",
            response.status_code,
        ) from error


def after_the_last(error: LinkedBanditError, patience: Patience) -> LinkedBanditError:
    """What to raise where there is no other try; of a service that is away, with how long it was tried."""
    if isinstance(error, ServiceUnavailable) and error.reason is None and patience.attempts > 1:
        error.args = (f"{error.args[0]} Tried {patience.attempts} times in {patience.spent:.1f} s.", *error.args[1:])
    return error


def _of_another(call: Call[Any], response: httpx.Response) -> UnexpectedAnswer:
    """What to make of an answer that no service gives: that of a proxy, or of a web site."""
    status, said = response.status_code, _said(call, response)
    if response.has_redirect_location:
        target = response.headers["Location"].partition("?")[0][:200]
        return UnexpectedAnswer(f"{said}: go to {target!r}; give the client the address of the service itself", status)
    return UnexpectedAnswer(
        f"{said}{_words(response)}, which is no problem document; is this address a linkedbandits service, and does a "
        "proxy before it pass everything on?",
        status,
    )


def _said(call: Call[Any], response: httpx.Response) -> str:
    return f"{call.method} {call.path} was answered {response.status_code}"


def _by(error: httpx.RequestError) -> str:
    """Who did not answer; of its address no more than where it is."""
    try:
        url = error.request.url
    except RuntimeError:  # it was never sent
        return ""
    return f" by {url.scheme}://{url.netloc.decode('ascii', 'replace')}"


def _words(response: httpx.Response) -> str:
    """The first words of an answer, for those who know which program answers like that."""
    text = response.text[:20_000]
    title = re.search(r"<title[^>]*>(.*?)</title>", text, flags=re.IGNORECASE | re.DOTALL)
    plain = html.unescape(re.sub(r"<[^>]*>", " ", title[1] if title else text))
    words = " ".join("".join(letter if letter.isprintable() else " " for letter in plain).split())
    return f" ({words[:_MOST_WORDS]!r})" if words else ""


def _seconds(retry_after: str | None) -> float:
    """What a Retry-After header asks for; dates are not worth the trouble."""
    try:
        wanted = float(retry_after or 0.0)
    except ValueError:
        return 0.0
    return wanted if wanted > 0 else 0.0  # "nan" is a number, too


__all__ = [
    "LONGEST_TIMEOUT",
    "SECONDS_FOR_AN_ANSWER",
    "Again",
    "NewKey",
    "address_of",
    "after_answer",
    "after_failure",
    "after_the_last",
    "headers_for",
    "httpx",
    "named",
    "random_key",
    "random_request_id",
    "request_of",
]
