"""What the OpenAPI document says of every route's refusals."""

from __future__ import annotations

from typing import Any

from linkedbandits.service.http.problems import MEDIA_TYPE
from linkedbandits.service.http.sent import Problem

_REASONS = {
    400: "The request cannot be read.",
    401: "A token is missing or not known.",
    403: "The token's role does not allow this.",
    404: "There is no such experiment.",
    409: "The experiment's state does not allow this.",
    413: "The request is too large.",
    415: "The body is not JSON.",
    422: "The request is not valid.",
    429: "Too many requests with this token.",
    503: "The store cannot be reached; try again.",
}
ALWAYS = (401, 403, 429, 503)


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Problem documents that a route may answer with, besides those that every route may."""
    return {
        status: {
            "description": _REASONS[status],
            "model": Problem,
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in sorted({*statuses, *ALWAYS})
    }
