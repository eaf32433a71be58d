"""Errors as RFC 9457 problem documents: which status each has, and what it carries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse, Response

from linkedbandits import errors
from linkedbandits.errors import LinkedBanditError
from linkedbandits.service.http.logs import log_failure
from linkedbandits.service.http.request_ids import current_request_id
from linkedbandits.service.problem_types import PREFIX, name_of, title_of, type_of

MEDIA_TYPE = "application/problem+json"

_STATUS = {
    "missing-token": 401,
    "access-denied": 403,
    "unknown-experiment": 404,
    "unknown-play": 404,
    "unknown-webhook": 404,
    "conflicting-tell": 409,
    "experiment-finished": 409,
    "experiment-paused": 409,
    "experiment-archived": 409,
    "experiment-not-archived": 409,
    "too-many-in-flight": 409,
    "request-too-large": 413,
    "key-reused": 422,
    "hit-not-in-play": 422,
    "invalid-attempts": 422,
    "invalid-labels": 422,
    "invalid-parameter": 422,
    "linkage-mismatch": 422,
    "unknown-name": 422,
    "too-many-requests": 429,
    "service-unavailable": 503,
    "store-unavailable": 503,
}
_STORE_AWAY = "the store cannot be used now; try again in a moment, the log of the service says why"
_STORE_AWAY_BECAUSE = "the store cannot be used now: {}. Try again in a moment; the log of the service says more"
_SECONDS_AWAY = {errors.StoreUnavailable: "1", errors.ServiceUnavailable: "10"}


def status_of(error: LinkedBanditError) -> int:
    """The HTTP status of an error; one that no request should be able to cause is the service's own fault."""
    return _STATUS.get(name_of(error), 500)


def problem_of(error: LinkedBanditError, instance: str | None = None, **members: Any) -> dict[str, Any]:
    """The document that describes an error; ``members`` are its extension members.

    Callers are not told where the store is or who uses it: why it is away is in the log alone.
    """
    return {
        "type": type_of(error),
        "title": title_of(error),
        "status": status_of(error),
        "detail": _detail_of(error),
        **({} if instance is None else {"instance": instance}),
        **members,
    }


def _detail_of(error: LinkedBanditError) -> str:
    if isinstance(error, errors.StoreUnavailable):
        return _STORE_AWAY if error.detail is None else _STORE_AWAY_BECAUSE.format(error.detail)
    return str(error)


def error_response(error: LinkedBanditError, instance: str, **members: Any) -> Response:
    """The answer to a request that failed with an error of the library; one that is our own fault is logged."""
    if status_of(error) >= 500:
        log_failure("request-failed", error)
    headers = {}
    if error.reason == "missing_token":
        headers["WWW-Authenticate"] = "Bearer"
    elif isinstance(error, errors.ServiceUnavailable) and error.retry_after is not None:
        headers["Retry-After"] = str(math.ceil(error.retry_after))
    elif type(error) in _SECONDS_AWAY:
        headers["Retry-After"] = _SECONDS_AWAY[type(error)]
    return document_response(problem_of(error, instance, **members), headers)


def stopping_response(instance: str) -> Response:
    """The answer to a request that the end of the service has cut short."""
    error = errors.ServiceUnavailable(
        "the service is being stopped; try again, with the same idempotency key: what was asked for may or may not be "
        "on record"
    )
    return document_response(problem_of(error, instance), {"Retry-After": "1"})


def broken_response(error: Exception, instance: str) -> Response:
    """The answer to a request that failed with an error which nobody foresaw; it is logged."""
    log_failure("request-broke", error)
    return status_response(500, "the service made a mistake; its log says where", instance)


def status_response(
    status: int, detail: str, instance: str | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """A problem that is nothing but its HTTP status, such as 404 or 405."""
    document = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        **({} if instance is None else {"instance": instance}),
    }
    return document_response(document, headers)


def validation_response(found: Sequence[Mapping[str, Any]], instance: str) -> Response:
    """A request that is not what the OpenAPI document says, with every place where it is not.

    What the caller sent is not repeated: it may be large, and it may be nothing that JSON can hold.
    """
    places = [{"at": list(mistake["loc"]), "says": mistake["msg"]} for mistake in found[:20]]
    first = places[0]
    document = {
        "type": PREFIX + "invalid-request",
        "title": "Invalid request",
        "status": 422,
        "detail": f"{' / '.join(str(part) for part in first['at'])}: {first['says']}",
        "instance": instance,
        "errors": places,
    }
    return document_response(document)


def document_response(document: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    """A problem document as an answer, with the identifier of its request."""
    identifier = current_request_id()
    named = document if identifier is None else {**document, "request_id": identifier}
    return JSONResponse(named, status_code=document["status"], headers=dict(headers or {}), media_type=MEDIA_TYPE)
