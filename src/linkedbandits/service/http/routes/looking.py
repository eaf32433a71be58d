"""Estimates, verdict, view, journal and events: for people, and for programmes that report."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response, StreamingResponse

from linkedbandits.service.expenses import CONFIDENCE
from linkedbandits.service.http import looking
from linkedbandits.service.http.exports import MEDIA_TYPES, Form
from linkedbandits.service.http.routes.documented import refusals
from linkedbandits.service.http.routes.parameters import (
    Confidence,
    ExperimentId,
    LastEventId,
    ListedStatus,
    ListedTag,
    PageNumber,
    Search,
    Sort,
    allow,
)
from linkedbandits.service.http.sent import Curves, EstimateList, ExpensesOut, Recommendation, View
from linkedbandits.service.http.service import Service
from linkedbandits.service.http.stream import without_before
from linkedbandits.service.listing import ListQuery

_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"description": "Server-sent events, until the service stops.", "content": {"text/event-stream": {}}}
}


_JOURNAL: dict[int | str, dict[str, Any]] = {
    200: {"description": "The journal.", "content": {media_type: {} for media_type in MEDIA_TYPES.values()}}
}


def looking_routes(service: Service) -> APIRouter:
    """For viewers."""
    router = APIRouter(prefix="/v1", tags=["looking"], dependencies=[Depends(allow(service, "viewer"))])

    @router.get("/experiments/{experiment}/estimates", response_model=EstimateList, responses=refusals(404, 422))
    async def estimates(experiment: ExperimentId) -> Response:
        """What is known of every arm."""
        return await looking.estimates(service, experiment)

    @router.get("/experiments/{experiment}/expenses", response_model=ExpensesOut, responses=refusals(404, 422))
    async def expenses(experiment: ExperimentId, confidence: Confidence = CONFIDENCE) -> Response:
        """What first attempts took and cost, in all processes that have told it, with limits."""
        found = await service.pools.limits.run(service.limits_of_expenses.latest, experiment, confidence)
        return Response(found, media_type="application/json")

    @router.get("/experiments/{experiment}/verdict", response_model=Recommendation, responses=refusals(404, 422))
    async def verdict(experiment: ExperimentId) -> Response:
        """The verdict; before there is one, the arm that leads."""
        return await looking.verdict(service, experiment)

    @router.get("/experiments/{experiment}/view", response_model=View, responses=refusals(404, 422))
    async def view(request: Request, experiment: ExperimentId) -> Response:
        """All that the live page shows."""
        found = await looking.view(service, experiment)
        if found.status_code == 200 and not await service.visibility.shows_before(
            request.state.caller.scope, experiment
        ):
            body = await service.pools.looks.run(without_before, bytes(found.body))
            return Response(body, media_type=found.media_type)
        return found

    @router.get(
        "/experiments/{experiment}/events", response_class=StreamingResponse, responses=refusals(404, 422) | _EVENTS
    )
    async def events(request: Request, experiment: ExperimentId, last_event_id: LastEventId = None) -> Response:
        """The view as it changes, at most twice a second: events "view", whose id is the journal number."""
        await looking.check(service, experiment)
        caller = request.state.caller
        shows_before = await service.visibility.shows_before(caller.scope, experiment)
        found = service.live_views.view_events(experiment, last_event_id or 0, shows_before)
        return service.open_streams.stream(found, caller)

    @router.get("/events", response_class=StreamingResponse, responses=refusals(422) | _EVENTS)
    async def list_events(
        request: Request,
        search: Search = "",
        status: ListedStatus = None,
        tag: ListedTag = None,
        sort: Sort = "-created",
        page: PageNumber = 1,
    ) -> Response:
        """A page of the list of experiments as it changes: events "list".

        The first has all rows of the page in `experiments`, those after it the ones that have changed. `order` has the
        identifiers of the page in order, or null if these are the same as before.
        """
        caller = request.state.caller
        query = ListQuery(search, status, tag, sort, page)
        events = service.live_list.events(query, service.visibility.sees(caller.scope), caller.actor)
        return service.open_streams.stream(events, caller)

    @router.get("/experiments/{experiment}/curves", response_model=Curves, responses=refusals(404, 422))
    async def curves(experiment: ExperimentId) -> Response:
        """Estimates, limits, evidence and who led, as plays were told; of the eight arms that are best now."""
        return Response(await service.live_views.curves(experiment), media_type="application/json")

    @router.get("/experiments/{experiment}/journal", response_class=Response, responses=refusals(404, 422) | _JOURNAL)
    async def journal(
        request: Request, experiment: ExperimentId, form: Annotated[Form, Query(alias="format")] = "jsonl"
    ) -> Response:
        """Every play handed out, told or given up: JSON lines, or a Parquet file. Few are sent at once (503 beyond)."""
        await service.bring(service.desk.record(experiment))
        return service.exports.download(experiment, form, request.state.caller)

    return router
