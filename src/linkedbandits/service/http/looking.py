"""Estimates, verdict and view of an experiment, by the server that owns it: others would have to replay its journal."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from linkedbandits.service.hosted import HostedExperiment
from linkedbandits.service.http import commands
from linkedbandits.service.http.sent import EstimateList, Recommendation
from linkedbandits.service.http.service import Service
from linkedbandits.service.webhooks import verdict_data


async def estimates(service: Service, experiment: str) -> Response:
    """What is known of every arm."""
    return await _at_owner(service, experiment, "estimates") or await estimates_here(service, experiment)


async def verdict(service: Service, experiment: str) -> Response:
    """The verdict, or what leads."""
    return await _at_owner(service, experiment, "verdict") or await verdict_here(service, experiment)


async def view(service: Service, experiment: str) -> Response:
    """All that the live page shows."""
    return await _at_owner(service, experiment, "view") or await view_here(service, experiment)


async def check(service: Service, experiment: str) -> None:
    """Say at once what is wrong with an experiment that cannot be opened."""
    if await _at_owner(service, experiment, "verdict") is None:
        await service.read(experiment, lambda hosted: hosted.head)


async def estimates_here(service: Service, experiment: str) -> Response:
    """The same, by this server."""
    found = await service.look(experiment, _estimates)
    return Response(await service.pools.looks.run(_encoded_estimates, found), media_type="application/json")


async def verdict_here(service: Service, experiment: str) -> Response:
    """The same, by this server."""
    found = await service.read(experiment, _recommendation)
    return Response(found.model_dump_json(), media_type="application/json")


async def view_here(service: Service, experiment: str) -> Response:
    """The same, by this server."""
    return Response(await service.live_views.view(experiment), media_type="application/json")


async def state_here(service: Service, experiment: str) -> Response:
    """The view without its history, which every server reads for itself, behind its journal number."""
    state = await service.live_views.state(experiment)
    return Response(b"%d\n%b" % (state.head, state.body), media_type="application/json")


async def _at_owner(service: Service, experiment: str, what: commands.Looking) -> Response | None:
    return await service.forwarding.answer(experiment, lambda: commands.look(experiment, what), repeatable=True)


def _estimates(hosted: HostedExperiment) -> dict[str, Any]:
    exp = hosted.experiment
    return {"plays": exp.plays, "only_first_tries": exp.only_first_tries, "estimates": exp.estimates()}


def _encoded_estimates(found: dict[str, Any]) -> bytes:
    return EstimateList.model_validate(found, from_attributes=True).model_dump_json().encode()


def _recommendation(hosted: HostedExperiment) -> Recommendation:
    exp = hosted.experiment
    return Recommendation.model_validate({"done": exp.done, "verdict": verdict_data(exp.recommend())})
