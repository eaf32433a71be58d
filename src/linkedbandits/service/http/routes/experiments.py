"""Create, list, read, pause, resume and archive experiments."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from linkedbandits.attempts.log import AttemptLog
from linkedbandits.errors import LinkedBanditError
from linkedbandits.live import WarmStart
from linkedbandits.service.http.logs import log_event
from linkedbandits.service.http.received import NewExperiment, SuccessorRequest
from linkedbandits.service.http.routes.documented import refusals
from linkedbandits.service.http.routes.parameters import ExperimentId, allow
from linkedbandits.service.http.sent import ExperimentInfo, ExperimentList
from linkedbandits.service.http.service import Service
from linkedbandits.service.records import ExperimentRecord, RunStatus, Setup
from linkedbandits.service.succession import succeed


def experiment_routes(service: Service) -> APIRouter:
    """Looking takes a viewer, everything else an admin."""
    router = APIRouter(prefix="/v1/experiments", tags=["experiments"])
    viewer, admin = Depends(allow(service, "viewer")), Depends(allow(service, "admin"))

    @router.post("", status_code=201, dependencies=[admin], responses=refusals(400, 413, 415, 422))
    async def create(new: NewExperiment, response: Response) -> ExperimentInfo:
        """Open an experiment."""
        setup = Setup(
            arms=tuple(new.arms),
            policy=new.policy.model_dump(),
            linkage=new.linkage,
            seed=new.seed,
            max_plays=new.max_plays,
            parallel=new.parallel,
            lease_seconds=new.lease_seconds,
            whole_chains=new.whole_chains,
        )
        warm = None if new.log is None else await asyncio.to_thread(_warm_start, new)
        record = await service.bring(service.desk.create(setup, new.name, warm))
        log_event(
            "experiment-created",
            experiment=record.id,
            arms=len(setup.arms),
            policy=setup.policy["name"],
            assumes=[assumption.name for assumption in record.setup.assumptions()],
            logged_requests=0 if warm is None else warm.requests,
        )
        response.headers["Location"] = f"/v1/experiments/{record.id}"
        return _info(record)

    @router.get("", dependencies=[viewer], responses=refusals(422))
    async def list_experiments(
        status: Annotated[RunStatus | None, Query(description="Only those in this state.")] = None,
    ) -> ExperimentList:
        """All experiments, oldest first."""
        records = await service.bring(service.desk.records())
        return ExperimentList(
            experiments=[_info(record) for record in records if status is None or record.status == status]
        )

    @router.get("/{experiment}", dependencies=[viewer], responses=refusals(404, 422))
    async def read(experiment: ExperimentId) -> ExperimentInfo:
        """One experiment, as it was opened."""
        return _info(await service.bring(service.desk.record(experiment)))

    @router.post(
        "/{experiment}/successor", status_code=201, dependencies=[admin], responses=refusals(400, 404, 409, 415, 422)
    )
    async def succeed_it(experiment: ExperimentId, wanted: SuccessorRequest, response: Response) -> ExperimentInfo:
        """Go on with a new experiment: with other arms, or anew. This one is paused; it has one successor for good."""
        record = await asyncio.to_thread(
            succeed, service.store, service.desk, experiment, wanted.arms, wanted.keep, wanted.why
        )
        log_event("experiment-succeeded", experiment=experiment, successor=record.id, why=wanted.why)
        response.headers["Location"] = f"/v1/experiments/{record.id}"
        return _info(record)

    async def change(experiment: str, status: RunStatus) -> ExperimentInfo:
        record = await service.bring(service.desk.set_status(experiment, status))
        log_event("experiment-status", experiment=experiment, status=status)
        return _info(record)

    @router.post("/{experiment}/pause", dependencies=[admin], responses=refusals(404, 409, 422))
    async def pause(experiment: ExperimentId) -> ExperimentInfo:
        """Hand out no plays for now; answers are still welcome."""
        return await change(experiment, "paused")

    @router.post("/{experiment}/resume", dependencies=[admin], responses=refusals(404, 409, 422))
    async def resume(experiment: ExperimentId) -> ExperimentInfo:
        """Hand out plays again."""
        return await change(experiment, "running")

    @router.post("/{experiment}/archive", dependencies=[admin], responses=refusals(404, 409, 422))
    async def archive(experiment: ExperimentId) -> ExperimentInfo:
        """Close it for good; it can still be looked at."""
        return await change(experiment, "archived")

    return router


def _warm_start(new: NewExperiment) -> WarmStart:
    log = AttemptLog.from_plays((tuple(logged.order), logged.hit) for logged in new.log or ())
    return WarmStart.of(log, new.arms, new.log_attempts, new.log_others, new.log_independent)


def _info(record: ExperimentRecord) -> ExperimentInfo:
    setup = record.setup
    return ExperimentInfo.model_validate(
        {
            "id": record.id,
            "name": record.name,
            "status": record.status,
            "arms": list(setup.arms),
            "policy": setup.policy,
            "linkage": setup.linkage,
            "assumptions": _assumptions(setup),
            "seed": setup.seed,
            "max_plays": setup.max_plays,
            "parallel": setup.parallel,
            "lease_seconds": setup.lease_seconds,
            "whole_chains": setup.whole_chains,
            "log": None if setup.log is None else asdict(setup.log),
            "before": None if setup.before is None else asdict(setup.before),
            "created_at": record.created_at,
            "head": record.head,
        }
    )


def _assumptions(setup: Setup) -> list[dict[str, str]] | None:
    """What the policy takes for granted; None for a policy that cannot be made, which must not spoil a list."""
    try:
        return [asdict(assumption) for assumption in setup.assumptions()]
    except LinkedBanditError:
        return None
