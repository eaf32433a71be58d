"""Health, readiness, metrics, and the caller's role: for operators of the service."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from linkedbandits.service.http.metrics import CONTENT_TYPE
from linkedbandits.service.http.routes.documented import refusals
from linkedbandits.service.http.routes.parameters import allow
from linkedbandits.service.http.sent import Health, Me
from linkedbandits.service.http.service import Service
from linkedbandits.version import __version__


def operating_routes(service: Service) -> APIRouter:
    """Health takes no token, since those who ask seldom have one; metrics take a viewer."""
    router = APIRouter(tags=["operating"])

    @router.get("/healthz")
    async def healthz() -> Health:
        """The process answers."""
        return Health(version=__version__)

    @router.get("/readyz", responses=refusals())
    async def readyz() -> Health:
        """Its store can be written, too; where it cannot, the answer says why."""
        await service.readiness.check()
        return Health(version=__version__)

    @router.get("/v1/me", dependencies=[Depends(allow(service, "viewer"))], responses=refusals())
    async def me(request: Request) -> Me:
        """What the caller may do: viewers look, players play, admins manage."""
        caller = request.state.caller
        return Me(role=caller.role, name=caller.name, limited=caller.scope.limited)

    @router.get(
        "/metrics",
        dependencies=[Depends(allow(service, "viewer", of_all=True, patient=False))],
        responses=refusals(),
        response_class=Response,
    )
    async def metrics() -> Response:
        """Figures for Prometheus. They are there also while the desk is stuck or the store is away."""
        return Response(service.metrics.text(), media_type=CONTENT_TYPE)

    return router
