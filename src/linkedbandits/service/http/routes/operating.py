"""Health, readiness, metrics, and the caller's role: for operators of the service."""

from __future__ import annotations

import asyncio

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
        """The store answers, too."""
        await asyncio.to_thread(service.ping)
        return Health(version=__version__)

    @router.get("/v1/me", dependencies=[Depends(allow(service, "viewer"))], responses=refusals())
    async def me(request: Request) -> Me:
        """What the caller may do: viewers look, players play, admins manage."""
        return Me(role=request.state.caller.role)

    @router.get(
        "/metrics", dependencies=[Depends(allow(service, "viewer"))], responses=refusals(), response_class=Response
    )
    async def metrics() -> Response:
        """Figures for Prometheus."""
        in_flight = await service.bring(service.desk.in_flight())
        return Response(service.metrics.text(in_flight), media_type=CONTENT_TYPE)

    return router
