"""Create, list, read, tag, pause, resume, archive and delete experiments."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import ValidationError
from pydantic_core import to_json
from starlette.responses import StreamingResponse

from linkedbandits.attempts.log import AttemptLog
from linkedbandits.errors import AccessDenied, LinkedBanditError
from linkedbandits.live import WarmStart
from linkedbandits.policies import policy_class
from linkedbandits.policy import linkage_of
from linkedbandits.service.creation import Creation
from linkedbandits.service.http.access import Caller
from linkedbandits.service.http.logs import log_event
from linkedbandits.service.http.received import NewExperiment, SuccessorRequest, TagsRequest
from linkedbandits.service.http.routes.documented import AFTER_CREATION, refusals
from linkedbandits.service.http.routes.parameters import (
    ExperimentId,
    IdempotencyKey,
    ListedStatus,
    ListedTag,
    PageNumber,
    Search,
    Sort,
    allow,
    note_limited,
)
from linkedbandits.service.http.sent import DamagedOut, ExperimentInfo, ExperimentList
from linkedbandits.service.http.service import Service
from linkedbandits.service.listing import A_PAGE, ListQuery, matching, page_of
from linkedbandits.service.records import (
    DamagedExperiment,
    ExperimentRecord,
    ListedExperiment,
    RunStatus,
    Setup,
    damaged_sentence,
)
from linkedbandits.service.store import Store
from linkedbandits.service.store_errors import DamagedRecord
from linkedbandits.service.succession import succeed
from linkedbandits.service.tags import check_tags

Info = Callable[..., Awaitable[ExperimentInfo]]
"""What is said of an experiment to a caller, with its present tags or those that are given."""
ShowingBefore = Callable[[Iterable[str]], frozenset[str]]
"""Those of which the caller may know what they go on from."""


def experiment_routes(service: Service) -> APIRouter:
    """Looking takes a viewer, everything else an admin."""
    router = APIRouter(prefix="/v1/experiments", tags=["experiments"])
    viewer, admin = Depends(allow(service, "viewer")), Depends(allow(service, "admin"))

    async def info(record: ExperimentRecord, request: Request, tags: Sequence[str] | None = None) -> ExperimentInfo:
        if tags is None:
            tags = await service.bring(service.desk.tags(record.id))
        shows_before = await service.visibility.shows_before(request.state.caller.scope, record.id)
        return _info(record, tags, shows_before)

    @router.post("", status_code=201, dependencies=[admin], responses=refusals(400, 413, 415, 422) | AFTER_CREATION)
    async def create(
        new: NewExperiment, request: Request, response: Response, idempotency_key: IdempotencyKey = None
    ) -> ExperimentInfo:
        """Open an experiment. With a key that was used before for the same, it is the one that was opened then."""
        if not request.state.caller.scope.covers_name(new.name):
            note_limited(service, request)
            raise AccessDenied(
                "a limited token creates experiments whose names begin as it says, if any; change the name"
            )
        new.check_log()
        record = await _create(service, new, request.state.caller, new.key or idempotency_key)
        response.headers["Location"] = f"/v1/experiments/{record.id}"
        return await info(record, request)

    @router.get("", response_model=ExperimentList, dependencies=[viewer], responses=refusals(422))
    async def list_experiments(
        request: Request,
        search: Search = "",
        status: ListedStatus = None,
        tag: ListedTag = None,
        sort: Sort = "created",
        page: PageNumber | None = None,
    ) -> Response:
        """A page of the experiments that match, or without `page` all of them, oldest first, sent part by part."""
        query = ListQuery(search, status, tag, sort, page or 1, archived_last=page is not None)
        return await _list(service, request.state.caller, query, whole=page is None)

    @router.get("/{experiment}", dependencies=[viewer], responses=refusals(404, 422))
    async def read(request: Request, experiment: ExperimentId) -> ExperimentInfo:
        """One experiment, as it was opened."""
        record = await service.bring(service.desk.record(experiment))
        try:
            return await info(record, request)
        except ValidationError as error:  # what is on record of it is nothing that an experiment has
            raise DamagedRecord(damaged_sentence(experiment)) from error

    @router.post(
        "/{experiment}/successor",
        status_code=201,
        dependencies=[admin],
        responses=refusals(400, 404, 409, 415, 422) | AFTER_CREATION,
    )
    async def succeed_it(
        experiment: ExperimentId, wanted: SuccessorRequest, request: Request, response: Response
    ) -> ExperimentInfo:
        """Go on with a new experiment: with other arms, or anew. This one is paused; it has one successor for good."""
        by = request.state.caller.actor
        record = await service.pools.admin.run(
            succeed, service.store, service.desk, experiment, wanted.arms, wanted.keep, wanted.why, by
        )
        log_event("experiment-succeeded", by=by.to_json(), experiment=experiment, successor=record.id, why=wanted.why)
        response.headers["Location"] = f"/v1/experiments/{record.id}"
        return await info(record, request)

    _add_changes(router, service, info)
    return router


def _add_changes(router: APIRouter, service: Service, info: Info) -> None:
    """What changes an experiment that is there, or takes it away."""
    admin = Depends(allow(service, "admin"))

    @router.put("/{experiment}/tags", dependencies=[admin], responses=refusals(400, 404, 413, 415, 422))
    async def set_tags(request: Request, experiment: ExperimentId, wanted: TagsRequest) -> ExperimentInfo:
        """Replace its tags."""
        check_tags(wanted.tags)
        by = request.state.caller.actor
        record = await service.bring(service.desk.set_tags(experiment, wanted.tags, by))
        log_event("experiment-tagged", by=by.to_json(), experiment=experiment)
        return await info(record, request, wanted.tags)

    async def change(request: Request, experiment: str, status: RunStatus) -> ExperimentInfo:
        by = request.state.caller.actor
        record = await service.bring(service.desk.set_status(experiment, status, by))
        log_event("experiment-status", by=by.to_json(), experiment=experiment, status=status)
        return await info(record, request)

    @router.post("/{experiment}/pause", dependencies=[admin], responses=refusals(404, 409, 422))
    async def pause(request: Request, experiment: ExperimentId) -> ExperimentInfo:
        """Hand out no plays for now; answers are still welcome."""
        return await change(request, experiment, "paused")

    @router.post("/{experiment}/resume", dependencies=[admin], responses=refusals(404, 409, 422))
    async def resume(request: Request, experiment: ExperimentId) -> ExperimentInfo:
        """Hand out plays again."""
        return await change(request, experiment, "running")

    @router.post("/{experiment}/archive", dependencies=[admin], responses=refusals(404, 409, 422))
    async def archive(request: Request, experiment: ExperimentId) -> ExperimentInfo:
        """Close it for good; it can still be looked at."""
        return await change(request, experiment, "archived")

    @router.delete("/{experiment}", status_code=204, dependencies=[admin], responses=refusals(404, 409, 422))
    async def delete(
        request: Request,
        experiment: ExperimentId,
        force: Annotated[bool, Query(description="Also if it is not archived.")] = False,
    ) -> Response:
        """Delete it with all that it was told, for good; it has to be archived before."""
        by = request.state.caller.actor
        await service.bring(service.desk.delete(experiment, force, by))
        service.housekeeping.erase_soon()
        log_event("experiment-deleted", by=by.to_json(), experiment=experiment, force=force)
        return Response(status_code=204)


async def _list(service: Service, caller: Caller, query: ListQuery, whole: bool) -> Response:
    """A page of what the caller may see, or the whole; what goes wrong at once is answered with its status."""
    run = service.pools.looks.run
    showing = partial(service.visibility.showing_before, caller.scope)
    rows = await service.live_list.listed(service.visibility.sees(caller.scope))
    if whole:
        found = await run(matching, rows, query)
        parts = _parts(service.store, found, showing, {"total": len(rows), "matching": len(found), "pages": None})
    else:
        shown = await run(page_of, rows, query)
        about = {"total": shown.total, "matching": shown.matching, "pages": shown.pages}
        parts = _parts(service.store, shown.rows, showing, about)
    first = await run(next, parts)

    async def content() -> AsyncIterator[bytes]:
        part: bytes | None = first
        while part is not None:
            yield part
            part = await run(next, parts, None)

    return StreamingResponse(content(), media_type="application/json")


async def _create(service: Service, new: NewExperiment, caller: Caller, key: str | None) -> ExperimentRecord:
    check_tags(new.tags)
    setup = Setup(
        arms=tuple(new.arms),
        policy=new.policy.model_dump(),
        linkage=linkage_of([policy_class(new.policy.name)], new.linkage).name,
        seed=new.seed,
        max_plays=new.max_plays,
        parallel=new.parallel,
        lease_seconds=new.lease_seconds,
        whole_chains=new.whole_chains,
    )
    warm = None if new.log is None else await service.pools.admin.run(_warm_start, new)
    creation = Creation(setup, new.name, warm, key, caller.actor, tuple(new.tags), caller.scope.key_space)
    created = await service.bring(service.desk.create_once(creation))
    record = created.record
    if not created.repeated:
        log_event(
            "experiment-created",
            by=caller.actor.to_json(),
            experiment=record.id,
            arms=len(setup.arms),
            policy=setup.policy["name"],
            assumes=[assumption.name for assumption in record.setup.assumptions()],
            logged_requests=0 if warm is None else warm.requests,
        )
    return record


def _warm_start(new: NewExperiment) -> WarmStart:
    log = AttemptLog.from_plays((tuple(logged.order), logged.hit) for logged in new.log or ())
    return WarmStart.of(log, new.arms, new.log_attempts, new.log_others, new.log_independent, judged=new.log_judged)


def _parts(
    store: Store, listed: Sequence[ListedExperiment], showing: ShowingBefore, about: dict[str, Any]
) -> Iterator[bytes]:
    """The answer to a list, in parts: a thousand arms of ten thousand experiments are never in memory together."""
    damaged: list[DamagedOut] = []
    between = b'{"experiments":['
    for start in range(0, len(listed), A_PAGE):
        found = []
        for shown in _infos(store, listed[start : start + A_PAGE], showing):
            if isinstance(shown, DamagedExperiment):
                damaged.append(DamagedOut(**asdict(shown), detail=damaged_sentence(shown.id)))
            else:
                found.append(shown.model_dump_json().encode())
        if found:
            yield between + b",".join(found)
            between = b","
    begun = b"" if between == b"," else between
    yield begun + b"]," + to_json({**about, "damaged": damaged})[1:]


def _infos(
    store: Store, listed: Sequence[ListedExperiment], showing: ShowingBefore
) -> list[ExperimentInfo | DamagedExperiment]:
    """What is said of experiments; those that were deleted meanwhile are left out."""
    with store.reading() as reading:
        records = dict(reading.records_among(row.id for row in listed))
        damaged = {one: reading.damaged(one) for one, record in records.items() if record is None}
    shows_before = showing(records)
    found: list[ExperimentInfo | DamagedExperiment] = []
    for row in listed:
        record = records.get(row.id)
        if record is not None:
            found.append(_info_or_damage(record, row.tags, row.id in shows_before))
        elif row.id in damaged:
            found.append(damaged[row.id])
    return found


def _info_or_damage(
    record: ExperimentRecord, tags: Sequence[str], shows_before: bool
) -> ExperimentInfo | DamagedExperiment:
    """What is said of an experiment, unless its record, which can be read, says something that no experiment is."""
    try:
        return _info(record, tags, shows_before)
    except ValidationError:  # whatever it says, the others are shown
        return DamagedExperiment(record.id, record.name, record.created_at, None)


def _info(record: ExperimentRecord, tags: Sequence[str], shows_before: bool) -> ExperimentInfo:
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
            "before": None if setup.before is None or not shows_before else asdict(setup.before),
            "tags": list(tags),
            "created_at": record.created_at,
            "head": record.head,
        }
    )


def _assumptions(setup: Setup) -> list[dict[str, str]] | None:
    """What the policy takes for granted; None for a policy that cannot be made, which must not spoil a list."""
    try:
        return [asdict(assumption) for assumption in setup.assumptions()]
    except (LinkedBanditError, TypeError, ValueError, KeyError, AttributeError, ArithmeticError):
        return None
