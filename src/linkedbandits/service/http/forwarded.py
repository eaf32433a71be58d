"""What other servers pass on, for experiments that this one owns.

Whoever sent it has checked its caller. That it comes from a server of the same store is shown by a secret, which is in
the store, and new with every start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from secrets import compare_digest
from typing import Any

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from linkedbandits.errors import LinkedBanditError, UnexpectedAnswer
from linkedbandits.service.http import looking, playing
from linkedbandits.service.http.commands import MOST_BYTES, PATH, Kind, Outcome, read_batch, write_outcome
from linkedbandits.service.http.edge import NamedRoute
from linkedbandits.service.http.limits import LARGEST_BODY
from linkedbandits.service.http.logs import log_failure
from linkedbandits.service.http.problems import status_response
from linkedbandits.service.http.received import ExpensesReport
from linkedbandits.service.http.request_ids import continue_request
from linkedbandits.service.http.service import Service

LARGEST_BATCH = MOST_BYTES + 4 * LARGEST_BODY
"""Bytes: a body of a caller may be longer when it is written again."""

Doing = Callable[..., Awaitable[Response]]
_SERVER = "another server of the store"
"""Who calls: the door keeps its connections rather than those of strangers."""


class Forwarded:
    """A layer that answers other servers, and passes on all else. It stands before the limit on bodies of callers."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._verbs: dict[str, Doing] = {
            "ask": playing.ask_here,
            "tell": playing.tell_here,
            "abandon": playing.abandon_here,
            "expenses": _keep_expenses,
            "estimates": looking.estimates_here,
            "verdict": looking.verdict_here,
            "view": looking.view_here,
            "state": looking.state_here,
        }

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Answer another server, or pass the request on."""
        if scope["type"] != "http" or scope["path"] != PATH:
            return self._app(scope, receive, send)
        return self._answer_a_server(scope, receive, send)

    async def _answer_a_server(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = NamedRoute(PATH)
        headers = dict(scope["headers"])
        body = None
        if self._is_from_a_server(scope["method"], headers):
            scope.setdefault("state", {})["caller"] = _SERVER
            body = await _body(receive)
        if body is None:
            refusal = status_response(421, "this is for other servers of the same store, and not from one", PATH)
            await refusal(scope, receive, send)
            return
        await self._answer(read_batch(body), headers.get(b"x-from", b"").decode("latin-1"), send)

    def _is_from_a_server(self, method: str, headers: dict[bytes, bytes]) -> bool:
        """Does the sender know this server's secret, and mean this server?"""
        owners = self._service.owners
        wanted = f"Server {owners.secret}".encode()
        known = compare_digest(headers.get(b"authorization", b""), wanted)
        return method == "POST" and known and headers.get(b"x-to") == owners.id.encode()

    async def _answer(self, commands: list[list[Any]], sender: str, send: Send) -> None:
        """Do all of them at once, and send what comes of each as soon as it is there."""
        ready: list[bytes] = []
        news = asyncio.Event()
        left = len(commands)

        async def do(number: int, command: list[Any]) -> None:
            nonlocal left
            try:
                ready.append(write_outcome(number, await self._outcome(command, sender)))
            finally:
                left -= 1
                news.set()

        tasks = [asyncio.create_task(do(number, command)) for number, command in enumerate(commands)]
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            more = left > 0
            if not more:
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            while more:
                await news.wait()
                news.clear()
                more = left > 0
                part = b"".join(ready)
                ready.clear()
                await send({"type": "http.response.body", "body": part, "more_body": more})
        finally:
            for task in tasks:
                task.cancel()

    async def _outcome(self, command: list[Any], sender: str) -> Outcome:
        try:
            identifier, verb, experiment, *arguments = command
            doing = self._verbs.get(verb)
        except (TypeError, ValueError):  # no command at all
            doing = None
        if doing is None:
            return Outcome(Kind.UNKNOWN, 0, b"")
        continue_request(identifier)
        try:
            self._service.owners.elsewhere(experiment, through=sender)  # counts it
            response = await doing(self._service, experiment, *arguments)
        except LinkedBanditError as error:
            return Outcome.of(error)
        except Exception as error:  # whatever it is, the others of the batch go on
            log_failure("command-broke", error)
            return Outcome.of(UnexpectedAnswer("the service made a mistake; the log of its servers says where"))
        kind = Kind.ANSWER if response.status_code == 200 else Kind.PROBLEM
        return Outcome(kind, response.status_code, bytes(response.body))


async def _keep_expenses(service: Service, experiment: str, source: str, report: str) -> Response:
    return await playing.keep_expenses_here(service, experiment, source, ExpensesReport.model_validate_json(report))


async def _body(receive: Receive) -> bytes | None:
    """All of it; None if there is too much, or the sender has hung up."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > LARGEST_BATCH:
            return None
        if not message.get("more_body", False):
            return b"".join(parts)
