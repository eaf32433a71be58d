"""Estimates, verdict, view, journal and events: for people, and for programmes that report."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from starlette.concurrency import iterate_in_threadpool
from starlette.responses import Response, StreamingResponse

from linkedbandits.service.expenses import CONFIDENCE, expenses_data, nothing_told
from linkedbandits.service.exporting import journal_lines, journal_parquet
from linkedbandits.service.hosted import HostedExperiment
from linkedbandits.service.http.routes.documented import refusals
from linkedbandits.service.http.routes.parameters import Confidence, ExperimentId, LastEventId, allow
from linkedbandits.service.http.sent import EstimateList, ExpensesOut, Recommendation, View
from linkedbandits.service.http.service import Service
from linkedbandits.service.view import verdict_data

_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"description": "Server-sent events, until the service stops.", "content": {"text/event-stream": {}}}
}


_JSONL = "application/x-ndjson"
_PARQUET = "application/vnd.apache.parquet"
_JOURNAL: dict[int | str, dict[str, Any]] = {
    200: {"description": "The journal.", "content": {_JSONL: {}, _PARQUET: {}}}
}


def looking_routes(service: Service) -> APIRouter:
    """For viewers."""
    router = APIRouter(prefix="/v1", tags=["looking"], dependencies=[Depends(allow(service, "viewer"))])

    @router.get("/experiments/{experiment}/estimates", responses=refusals(404, 422))
    async def estimates(experiment: ExperimentId) -> EstimateList:
        """What is known of every arm."""
        return await service.read(experiment, _estimates)

    @router.get("/experiments/{experiment}/expenses", responses=refusals(404, 422))
    async def expenses(experiment: ExperimentId, confidence: Confidence = CONFIDENCE) -> ExpensesOut:
        """What first attempts took and cost, in all processes that have told it, with limits."""
        spendings = await service.bring(service.desk.spendings(experiment))
        if spendings is None:
            record = await service.bring(service.desk.record(experiment))
            return ExpensesOut.model_validate(nothing_told(record.setup.arms, confidence))
        return ExpensesOut.model_validate(await asyncio.to_thread(expenses_data, spendings, confidence))

    @router.get("/experiments/{experiment}/verdict", responses=refusals(404, 422))
    async def verdict(experiment: ExperimentId) -> Recommendation:
        """The verdict; before there is one, the arm that leads."""
        return await service.read(experiment, _recommendation)

    @router.get("/experiments/{experiment}/view", response_model=View, responses=refusals(404, 422))
    async def view(experiment: ExperimentId) -> Response:
        """All that the live page shows."""
        return Response(await service.live_views.view(experiment), media_type="application/json")

    @router.get(
        "/experiments/{experiment}/events", response_class=StreamingResponse, responses=refusals(404, 422) | _EVENTS
    )
    async def events(request: Request, experiment: ExperimentId, last_event_id: LastEventId = None) -> Response:
        """The view as it changes, at most twice a second: events "view", whose id is the journal number."""
        await service.read(experiment, lambda hosted: hosted.head)  # what cannot be opened is said at once
        return service.open_streams.stream(
            service.live_views.view_events(experiment, last_event_id or 0), request.state.caller
        )

    @router.get("/events", response_class=StreamingResponse, responses=refusals(422) | _EVENTS)
    async def list_events(request: Request) -> Response:
        """The list of experiments as it changes: events "experiments"."""
        return service.open_streams.stream(service.live_views.list_events(), request.state.caller)

    @router.get("/experiments/{experiment}/journal", response_class=Response, responses=refusals(404, 422) | _JOURNAL)
    async def journal(
        experiment: ExperimentId, kind: Annotated[Literal["jsonl", "parquet"], Query(alias="format")] = "jsonl"
    ) -> Response:
        """Every play handed out, told or given up: JSON lines, or a Parquet file."""
        await service.bring(service.desk.record(experiment))
        if kind == "parquet":
            content = await asyncio.to_thread(journal_parquet, service.store, experiment)
            return Response(content, media_type=_PARQUET, headers=attachment(f"{experiment}.parquet"))
        lines = iterate_in_threadpool(journal_lines(service.store, experiment))
        return StreamingResponse(lines, media_type=_JSONL, headers=attachment(f"{experiment}.jsonl"))

    def attachment(name: str) -> dict[str, str]:
        return {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}

    return router


def _estimates(hosted: HostedExperiment) -> EstimateList:
    exp = hosted.experiment
    found = {"plays": exp.plays, "only_first_tries": exp.run.only_first_tries, "estimates": exp.estimates()}
    return EstimateList.model_validate(found, from_attributes=True)


def _recommendation(hosted: HostedExperiment) -> Recommendation:
    exp = hosted.experiment
    return Recommendation.model_validate({"done": exp.done, "verdict": verdict_data(exp.recommend())})
