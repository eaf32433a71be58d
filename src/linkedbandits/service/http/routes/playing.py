"""Ask, tell, abandon: what every web worker does all the time.

Requests that are just as they should be are mostly answered in :mod:`linkedbandits.service.http.fast_lane` already.
"""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from linkedbandits.service.http import playing
from linkedbandits.service.http.received import AbandonRequest, AskRequest, ExpensesReport, TellRequest
from linkedbandits.service.http.routes.documented import AFTER_ASKING, AFTER_EXPENSES, AFTER_TELLING, refusals
from linkedbandits.service.http.routes.parameters import ExperimentId, IdempotencyKey, SourceName, TuplesOnce, allow
from linkedbandits.service.http.sent import AbandonResponse, AskedTuples, AskResponse, Kept, TellResponse
from linkedbandits.service.http.service import Service


def playing_routes(service: Service) -> APIRouter:
    """For players."""
    router = APIRouter(
        prefix="/v1/experiments/{experiment}", tags=["playing"], dependencies=[Depends(allow(service, "player"))]
    )

    @router.post(
        "/ask",
        response_model=AskResponse | AskedTuples,
        responses=refusals(400, 404, 409, 413, 415, 422) | AFTER_ASKING,
    )
    async def ask(
        experiment: ExperimentId,
        wanted: AskRequest | None = None,
        idempotency_key: IdempotencyKey = None,
        tuples: TuplesOnce = False,
    ) -> Response:
        """Plays to make: as many as asked for, or those there are and that fit into an answer; at least one."""
        return await playing.ask(service, experiment, wanted or AskRequest(), idempotency_key, tuples)

    @router.post("/tell", response_model=TellResponse, responses=refusals(400, 404, 409, 413, 415, 422) | AFTER_TELLING)
    async def tell(experiment: ExperimentId, told: TellRequest, request: Request) -> Response:
        """Say how plays ended. Of a single answer that is refused, the answer is the problem itself."""
        return await playing.tell(service, experiment, told, request.url.path)

    @router.post("/abandon", response_model=AbandonResponse, responses=refusals(400, 404, 409, 413, 415, 422))
    async def abandon(experiment: ExperimentId, given_up: AbandonRequest) -> Response:
        """Give plays back that will not be answered, for reasons that have nothing to do with their outcome."""
        return await playing.abandon(service, experiment, given_up.plays, given_up.unused)

    @router.put(
        "/expenses/{source}",
        response_model=Kept,
        responses=refusals(400, 404, 409, 413, 415, 422) | AFTER_EXPENSES,
    )
    async def keep_expenses(experiment: ExperimentId, source: SourceName, told: ExpensesReport) -> Response:
        """Say what first attempts of one process took and cost, all of them so far; to say it twice does no harm."""
        return await playing.keep_expenses(service, experiment, source, told)

    return router
