"""A short way for ask and tell, which are nearly all of the requests.

The framework takes longer over one of them than the work in it does. So a request that is just as it should be is
answered here, by the functions that are behind the routes, too. Anything else, a wrong field or a header that seldom
comes, goes the long way, where it gets its problem document.
"""

from __future__ import annotations

import asyncio
import re

from pydantic import ValidationError
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from linkedbandits.errors import LinkedBanditError
from linkedbandits.service.http import playing
from linkedbandits.service.http.deadline import Deadline, too_late
from linkedbandits.service.http.edge import NamedRoute
from linkedbandits.service.http.limits import first_then
from linkedbandits.service.http.problems import broken_response, error_response
from linkedbandits.service.http.received import AskRequest, TellRequest
from linkedbandits.service.http.service import Service
from linkedbandits.service.http.unread import SMALL, UnreadLimit

_PATH = re.compile(r"/v1/experiments/([0-9a-zA-Z_-]{1,64})/(ask|tell)")


_ROUTES = {verb: NamedRoute(f"/v1/experiments/{{experiment}}/{verb}") for verb in ("ask", "tell")}


_QUERIES = {"ask": (b"", b"tuples=true"), "tell": (b"",)}


class FastLane:
    """A layer around the framework that answers what it knows, and passes on the rest.

    It takes the body as one message.
    """

    def __init__(self, app: ASGIApp, service: Service, deadline: Deadline, unread: UnreadLimit) -> None:
        """``app`` sees to deadline and unread answers by itself."""
        self._app = app
        self._service = service
        self._deadline = deadline
        self._unread = unread

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        found = _PATH.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if found is None:
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        message = await receive()
        query = scope.get("query_string", b"")
        # A header that came twice is for the long way to look at.
        is_plain = query in _QUERIES[found[2]] and len(headers) == len(scope["headers"])
        understood = _understand(found[2], headers, message) if is_plain else None
        if understood is None:
            await self._app(scope, first_then(message, receive), send)
            return
        scope["route"] = _ROUTES[found[2]]
        response = await self._in_time(scope, headers, found[1], understood, bool(query))
        if len(response.body) > SMALL:
            send = self._unread.bounded(scope, receive, send)
        await response(scope, receive, send)

    async def _in_time(
        self,
        scope: Scope,
        headers: dict[str, str],
        experiment: str,
        understood: AskRequest | TellRequest,
        tuples_once: bool,
    ) -> Response:
        request = self._deadline.begin()
        try:
            client = scope.get("client")
            caller = await self._service.guard.admit(headers, "player", client[0] if client else None)
            scope.setdefault("state", {})["caller"] = caller
            if caller.scope.limited:
                await self._service.visibility.check(caller.scope, experiment)
            if isinstance(understood, AskRequest):
                return await playing.ask(self._service, experiment, understood, tuples_once=tuples_once)
            return await playing.tell(self._service, experiment, understood, scope["path"])
        except LinkedBanditError as error:
            return error_response(error, scope["path"])
        except asyncio.CancelledError:
            request.raise_unless_late()
            return error_response(too_late(), scope["path"])
        except Exception as error:  # the framework, which would see to it, is not asked
            return broken_response(error, scope["path"])
        finally:
            self._deadline.end(request)


def _understand(verb: str, headers: dict[str, str], message: Message) -> AskRequest | TellRequest | None:
    if headers.get("content-type") != "application/json" or "idempotency-key" in headers:
        return None
    body = message.get("body", b"")
    try:
        return AskRequest.model_validate_json(body) if verb == "ask" else TellRequest.model_validate_json(body)
    except ValidationError:
        return None
