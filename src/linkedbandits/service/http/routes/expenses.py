"""Which processes have told expenses, and to forget what one has told: for admins."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request

from linkedbandits.service.audit import Actor
from linkedbandits.service.http.logs import log_event
from linkedbandits.service.http.routes.documented import refusals
from linkedbandits.service.http.routes.parameters import ExperimentId, SourceName, allow
from linkedbandits.service.http.sent import Forgotten, SourceList
from linkedbandits.service.http.service import Service


def expenses_routes(service: Service) -> APIRouter:
    """No verdict goes by expenses, so nothing else changes with them."""
    router = APIRouter(
        prefix="/v1/experiments/{experiment}/expenses",
        tags=["expenses"],
        dependencies=[Depends(allow(service, "admin"))],
    )

    @router.get("/sources", responses=refusals(404, 422))
    async def sources(experiment: ExperimentId) -> SourceList:
        """What each process has told, all arms together: to find one that tells what cannot be."""
        found = await service.bring(service.desk.expenses_sources(experiment))
        return SourceList.model_validate({"sources": found})

    @router.delete("/{source}", responses=refusals(404, 422))
    async def forget(request: Request, experiment: ExperimentId, source: SourceName) -> Forgotten:
        """Take what one process has told out of the sums. It has to begin anew, under another name."""
        return await forgotten(request.state.caller.actor, experiment, source)

    @router.delete("", responses=refusals(404, 422))
    async def forget_all(request: Request, experiment: ExperimentId) -> Forgotten:
        """Begin anew: take out all that was told, that of processes which are gone included."""
        return await forgotten(request.state.caller.actor, experiment, None)

    async def forgotten(by: Actor, experiment: str, source: str | None) -> Forgotten:
        count = await service.bring(service.desk.forget_expenses(experiment, source, by))
        log_event("expenses-forgotten", by=by.to_json(), experiment=experiment, source=source, sources=count)
        return Forgotten(forgotten=count)

    return router
