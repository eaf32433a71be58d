"""The ASGI application: routes, errors, layers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp

from linkedbandits.errors import LinkedBanditError
from linkedbandits.service.http.access import Guard
from linkedbandits.service.http.allowed_methods import AllowedMethods
from linkedbandits.service.http.compression import Compression
from linkedbandits.service.http.deadline import Deadline
from linkedbandits.service.http.edge import Edge
from linkedbandits.service.http.fast_lane import FastLane
from linkedbandits.service.http.forwarded import Forwarded
from linkedbandits.service.http.limits import LARGEST_BODY, BodyLimit
from linkedbandits.service.http.problems import broken_response, error_response, status_response, validation_response
from linkedbandits.service.http.routes.api import add_api_page
from linkedbandits.service.http.routes.auditing import auditing_routes
from linkedbandits.service.http.routes.expenses import expenses_routes
from linkedbandits.service.http.routes.experiments import experiment_routes
from linkedbandits.service.http.routes.looking import looking_routes
from linkedbandits.service.http.routes.operating import operating_routes
from linkedbandits.service.http.routes.page import add_page
from linkedbandits.service.http.routes.playing import playing_routes
from linkedbandits.service.http.routes.webhooks import webhook_routes
from linkedbandits.service.http.service import Service
from linkedbandits.service.http.unread import UnreadLimit
from linkedbandits.version import __version__

_ABOUT = """
Which option is best, when you try options in order and stop at the first that works?

`ask` what to play, try the arms from left to right until one works, `tell` which did. Answers may be told twice without
harm. A play that is not answered in its time goes back; a late answer is recorded, and used only where the guarantee
allows. Errors are problem documents (RFC 9457).
"""


class _Application(FastAPI):
    """Says in its OpenAPI document that requests may need a bearer token."""

    def openapi(self) -> dict[str, Any]:
        """The document."""
        document = super().openapi()
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}, {}]  # none is needed on loopback as long as none was made
        _write_limits_of_whole_numbers(document)
        return document


def _write_limits_of_whole_numbers(part: Any) -> None:
    """As what they are: the framework writes fractions, of which the largest are not quite the same number."""
    if isinstance(part, dict):
        for name in ("minimum", "maximum") if part.get("type") == "integer" else ():
            if name in part:
                part[name] = int(part[name])
    for inside in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        _write_limits_of_whole_numbers(inside)


def create_app(service: Service) -> ASGIApp:
    """The whole service as one application; it starts and stops with its lifespan."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with service.running():
            yield

    app = _Application(
        title="linkedbandits",
        version=__version__,
        description=_ABOUT,
        lifespan=lifespan,
        docs_url=None,  # the framework's own pages load scripts from elsewhere
        redoc_url=None,
        openapi_url=None,  # the framework would encode the document anew for every stranger who asks for it
    )
    for router in (
        playing_routes(service),
        experiment_routes(service),
        looking_routes(service),
        expenses_routes(service),
        operating_routes(service),
        auditing_routes(service),
        webhook_routes(service),
    ):
        app.router.routes.extend(router.routes)  # included, every route would be made a second time
    add_page(app)
    add_api_page(app)
    app.add_middleware(Compression, run=service.pools.compression.run)
    _answer_errors_with_problems(app, service.guard)
    # All that takes a large body takes a player; whether it takes more than that is seen to where it is answered.
    known = partial(service.guard.admit, needed="player", counts=False)
    unread = UnreadLimit(app)
    deadline = Deadline(unread)
    lanes = FastLane(deadline, service, deadline, unread)
    bounded = BodyLimit(lanes, LARGEST_BODY, lambda headers, client: known(headers, client=client))
    whole = Forwarded(bounded, service)
    return Edge(whole, service.metrics, service.clock, service.settings.log_requests, service.closing)


def _answer_errors_with_problems(app: FastAPI, guard: Guard) -> None:
    @app.exception_handler(LinkedBanditError)
    async def refused(request: Request, error: LinkedBanditError) -> Response:
        return error_response(error, request.url.path)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        if not hasattr(request.state, "caller"):  # the body was found to be no JSON before its sender was checked
            try:
                await guard.admit(request.headers, "viewer", request.client.host if request.client else None)
            except LinkedBanditError as refusal:
                return error_response(refusal, request.url.path)
        in_body = any(mistake["loc"][0] == "body" for mistake in error.errors())
        if in_body and not is_json(request.headers.get("content-type", "")):
            return status_response(415, "send JSON, with the header 'Content-Type: application/json'", request.url.path)
        return validation_response(error.errors(), request.url.path)

    allowed: list[AllowedMethods] = []

    @app.exception_handler(HTTPException)
    async def plain(request: Request, error: HTTPException) -> Response:
        headers = error.headers
        if error.status_code == 405:
            if not allowed:
                allowed.append(AllowedMethods(app.openapi()["paths"]))
            methods = allowed[0].of(request.url.path)
            headers = headers if methods is None else {**(headers or {}), "Allow": methods}
        return status_response(error.status_code, str(error.detail), request.url.path, headers)

    @app.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> Response:
        return broken_response(error, request.url.path)


def is_json(content_type: str) -> bool:
    """Does the header announce JSON?"""
    return content_type.partition(";")[0].strip().lower() == "application/json"
