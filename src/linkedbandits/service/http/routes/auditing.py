"""Who did what: for admins."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from linkedbandits.service.audit import Action
from linkedbandits.service.http.routes.documented import refusals
from linkedbandits.service.http.routes.parameters import allow
from linkedbandits.service.http.sent import AuditPage
from linkedbandits.service.http.service import Service

MOST_ENTRIES = 1_000
_IDENTIFIER = "^[0-9a-zA-Z_-]+$"


def auditing_routes(service: Service) -> APIRouter:
    """For admins whose token is not limited."""
    router = APIRouter(tags=["operating"], dependencies=[Depends(allow(service, "admin", of_all=True))])

    @router.get("/v1/audit", responses=refusals(422))
    async def audit(
        limit: Annotated[int, Query(ge=1, le=MOST_ENTRIES)] = 100,
        before: Annotated[
            str | None, Query(max_length=64, pattern=_IDENTIFIER, description="Only entries older than this one.")
        ] = None,
        action: Annotated[Action | None, Query(description="Only what was done so.")] = None,
        subject: Annotated[
            str | None,
            Query(
                max_length=64,
                pattern=_IDENTIFIER,
                description="Only what was done to this experiment, token or webhook.",
            ),
        ] = None,
    ) -> AuditPage:
        """Who created, paused, archived and deleted what, tokens and webhooks made and gone, and failed sign-ins."""
        found = await service.bring(service.desk.audit(limit + 1, before, action=action, subject=subject))
        page = found[:limit]
        return AuditPage.model_validate(
            {"entries": [asdict(entry) for entry in page], "next": page[-1].id if len(found) > limit else None}
        )

    return router
