"""What the service takes for granted of FastAPI and uvicorn, said directly: pyproject.toml allows a range of both.

A new release that breaks one of these breaks something of the service that is harder to see.
"""

from __future__ import annotations

import asyncio
import inspect
from typing import Annotated

import httpx
import pytest
import uvicorn
from fastapi import APIRouter, Body, Depends, FastAPI, Request
from httptools import HttpParserError, HttpRequestParser
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from tools.waiting import run_async


def an_application(seen):
    async def refuse(request: Request) -> None:
        request.state.caller = "somebody"
        if "refuse" in request.headers:
            raise ZeroDivisionError

    router = APIRouter(prefix="/v1/things/{thing}", tags=["things"], dependencies=[Depends(refuse)])

    @router.post("/verb")
    async def verb(thing: str, number: Annotated[int, Body()]) -> dict[str, int]:
        return {"number": number}

    app = FastAPI(docs_url=None, redoc_url=None)
    app.router.routes.extend(router.routes)

    @app.exception_handler(ZeroDivisionError)
    async def refused(request: Request, error: ZeroDivisionError):
        from starlette.responses import Response

        return Response(status_code=401)

    async def outermost(scope, receive, send):
        try:
            await app(scope, receive, send)
        finally:
            seen.append(scope)

    return app, outermost


def post(application, **headers):
    async def send():
        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.post("/v1/things/a/verb", content=b'"x"', headers=headers)

    return run_async(send())


def test_a_layer_outside_sees_the_route_with_its_prefix_and_what_a_dependency_noted():
    """Metrics are named by the one, and the other tells connections of strangers from those of callers."""
    seen = []
    app, outermost = an_application(seen)
    post(outermost, **{"content-type": "application/json"})
    assert seen[-1]["route"].path == "/v1/things/{thing}/verb"
    assert seen[-1]["state"]["caller"] == "somebody"
    assert list(app.openapi()["paths"]) == ["/v1/things/{thing}/verb"]


def test_a_dependency_refuses_before_the_body_is_validated():
    _, outermost = an_application([])
    assert post(outermost, **{"content-type": "application/json", "refuse": "1"}).status_code == 401
    assert post(outermost, **{"content-type": "application/json"}).status_code == 422


@pytest.mark.parametrize(
    "method",
    [
        "connection_made",
        "connection_lost",
        "data_received",
        "on_message_begin",
        "on_headers_complete",
        "on_body",
        "on_message_complete",
        "on_response_complete",
        "pause_writing",
        "resume_writing",
        "send_400_response",
        "shutdown",
    ],
)
def test_a_connection_of_uvicorn_has_the_methods_that_are_wrapped(method):
    assert callable(getattr(HttpToolsProtocol, method))


def test_a_connection_of_uvicorn_has_the_state_that_is_read():
    async def application(scope, receive, send):
        pass

    async def made():
        config = uvicorn.Config(application, http=HttpToolsProtocol, log_config=None)
        return HttpToolsProtocol(config, ServerState(), {}, asyncio.get_running_loop())

    connection = run_async(made())
    assert (len(connection.pipeline), connection.cycle) == (0, None)
    assert connection.server_state.default_headers == []
    assert {"scope", "keep_alive", "on_response"} <= set(inspect.signature(RequestResponseCycle).parameters)
    assert inspect.iscoroutinefunction(uvicorn.Server.on_tick)


def test_an_error_in_a_callback_ends_the_parsing():
    class Refusing:
        def on_headers_complete(self):
            raise ValueError

    with pytest.raises(HttpParserError):
        HttpRequestParser(Refusing()).feed_data(b"GET / HTTP/1.1\r\n\r\n")
