"""What schemathesis checks besides its own: loaded by it, as its hooks."""

from __future__ import annotations

import schemathesis
from schemathesis.checks import CheckContext
from schemathesis.core.transport import Response
from schemathesis.specs.openapi.checks import ensure_resource_availability, use_after_free

UNREAD = "urn:linkedbandits:invalid-request"
"""The type of a refusal that comes from the models behind the OpenAPI document."""
UNKNOWN_PLAY = "urn:linkedbandits:unknown-play"


@schemathesis.check
def the_schema_is_not_looser(ctx: CheckContext, response: Response, case: schemathesis.Case) -> None:
    """What the document allows is understood.

    It may still be refused for what it means: an arm that the experiment does not have, a key that was used, a policy
    without a parameter that it needs. For that there are other types, and no schema.
    """
    meta = case.meta
    if meta is None or not meta.generation.mode.is_positive or response.status_code not in (400, 413, 415, 422):
        return
    problem = response.json()
    assert problem["type"].startswith("urn:linkedbandits:"), f"the document allows what is refused: {problem}"
    assert problem["type"] != UNREAD, f"the document allows what is not understood: {problem['detail']}"


@schemathesis.check
def what_was_created_is_there(ctx: CheckContext, response: Response, case: schemathesis.Case) -> bool | None:
    """But for a play that nobody has asked for: the experiment is there."""
    if response.status_code == 404 and response.json()["type"] == UNKNOWN_PLAY:
        return None
    return ensure_resource_availability(ctx, response, case)


@schemathesis.check
def what_was_deleted_is_gone(ctx: CheckContext, response: Response, case: schemathesis.Case) -> bool | None:
    """But for expenses, which are the experiment's: to delete them is to begin anew."""
    return None if "/expenses" in case.operation.path else use_after_free(ctx, response, case)
