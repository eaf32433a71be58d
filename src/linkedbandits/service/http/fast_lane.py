"""A short way for ask and tell, which are nearly all of the requests.

The framework takes longer over one of them than the work in it does. So a request that is just as it should be is
answered here, by the functions that are behind the routes, too. Anything else, a wrong field or a header that seldom
comes, goes the long way, where it gets its problem document.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from pydantic import ValidationError
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from linkedbandits.errors import LinkedBanditError
from linkedbandits.service.http import playing
from linkedbandits.service.http.limits import first_then
from linkedbandits.service.http.problems import error_response
from linkedbandits.service.http.received import AskRequest, TellRequest
from linkedbandits.service.http.service import Service

_PATH = re.compile(r"/v1/experiments/([0-9a-zA-Z_-]{1,64})/(ask|tell)")


class _Route(NamedTuple):
    """What the metrics call it."""

    path: str


_ROUTES = {verb: _Route(f"/v1/experiments/{{experiment}}/{verb}") for verb in ("ask", "tell")}


class FastLane:
    """A layer that answers what it knows, and passes on the rest. It takes the body as one message."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        found = _PATH.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if found is None:
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        message = await receive()
        understood = _understand(found[2], headers, message)
        if understood is None:
            await self._app(scope, first_then(message, receive), send)
            return
        scope["route"] = _ROUTES[found[2]]
        try:
            await self._service.guard.admit(headers, "player")
            response = await self._answer(found[1], understood, scope["path"])
        except LinkedBanditError as error:
            response = error_response(error, scope["path"])
        await response(scope, receive, send)

    async def _answer(self, experiment: str, understood: AskRequest | TellRequest, path: str) -> Response:
        if isinstance(understood, AskRequest):
            return await playing.ask(self._service, experiment, understood)
        return await playing.tell(self._service, experiment, understood, path)


def _understand(verb: str, headers: dict[str, str], message: Message) -> AskRequest | TellRequest | None:
    if headers.get("content-type") != "application/json" or "idempotency-key" in headers:
        return None
    body = message.get("body", b"")
    try:
        return AskRequest.model_validate_json(body) if verb == "ask" else TellRequest.model_validate_json(body)
    except ValidationError:
        return None
