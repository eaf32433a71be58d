"""One connection of the web server, held to the limits of the door.

uvicorn's protocol for HTTP/1.1 has no bounds of its own: not on the first line and the headers of a request, not on the
requests that are sent ahead, not on the time until a request is whole. They are added here, around its methods.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Hashable
from http import HTTPStatus
from typing import Any, ClassVar

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from linkedbandits.service.http.door import Door, Part
from linkedbandits.service.http.edge import SECURITY_HEADERS
from linkedbandits.service.http.problems import status_response
from linkedbandits.service.http.request_ids import HEADER, current_request_id, with_new_id

# What strangers get wrong is counted, and no line of the log each: they could fill the disk with it.
_logger = logging.getLogger("linkedbandits.service.connections")
_logger.setLevel(logging.ERROR)


class _Refused(Exception):
    """Ends the parsing of a request whose refusal was noted."""


class BoundedConnection(HttpToolsProtocol):
    """A connection at the door that a subclass names."""

    door: ClassVar[Door]

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.logger = _logger
        self.url = b""
        self.address: Hashable = None
        self.part: Part = "head"
        self.since = 0.0
        self.is_known = False
        self._is_inside = False
        self._head_bytes = 0
        self._bytes_without_body = 0  # since the last of a body: chunks may have extensions, and headers behind them
        self._bytes_after_the_answer = 0
        self._whole_requests = 0  # that are not answered yet
        self._refusal = (400, "this is no HTTP request")

    # uvicorn narrows the type of the transport in the same way.
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Enter, if there is room or somebody makes some."""
        super().connection_made(transport)
        self.address = self.client[0] if self.client else None
        self._is_inside = self.door.enter(self)
        if not self._is_inside:
            self._answer_and_close(503, "every connection that this service can have is in use; come back in a while")

    def connection_lost(self, exc: Exception | None) -> None:
        """Leave."""
        self._leave()
        super().connection_lost(exc)

    def _leave(self) -> None:
        if self._is_inside:
            self._is_inside = False
            self.door.leave(self)

    def data_received(self, data: bytes) -> None:
        """Take in what came, as long as it is no head without an end, nor what comes around chunks."""
        if not self._is_inside:
            return
        if self.part == "body":
            self._bytes_without_body += len(data)
        else:
            self._head_bytes += len(data)
        super().data_received(data)
        most = self.door.limits.head_bytes
        too_large = (self.part == "head" and self._head_bytes > most) or (
            self.part == "body" and self._bytes_without_body > most
        )
        if too_large and self._is_inside:
            self.door.turned_away["large"] += 1
            self._answer_and_close(*self._too_large())

    def on_message_begin(self) -> None:
        """A request begins."""
        if self.part == "nothing" and not self._whole_requests:
            self.since = self.door.clock()
        self.part = "head"
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is there. It is measured if it came with so much that it may be too large."""
        limits = self.door.limits
        if (
            (self._head_bytes > limits.head_bytes and self._size_of_head() > limits.head_bytes)
            or len(self.url) > limits.url_bytes
            or len(self.headers) > limits.headers
        ):
            self._refusal = self._too_large()
            raise _Refused
        if len(self.pipeline) >= limits.requests_ahead:
            self._refusal = (503, f"more than {limits.requests_ahead} requests came before the first was answered")
            raise _Refused
        self.part = "body"
        self._bytes_without_body = 0
        super().on_headers_complete()
        self.headers: list[tuple[bytes, bytes]] = []  # what comes behind the body is for nobody

    def on_body(self, body: bytes) -> None:
        """Some of the body is there. Nobody reads it when the answer was given already."""
        self._bytes_without_body = 0
        if self.cycle.response_complete:
            self._bytes_after_the_answer += len(body)
            if self._bytes_after_the_answer > self.door.limits.bytes_after_an_answer:
                self.push_out()
            return
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is whole."""
        self.part = "nothing"
        self._head_bytes = 0
        if self.cycle.response_complete:  # it was refused before all of it was there
            self.since = self.door.clock()
        else:
            self._whole_requests += 1
            self.door.is_served(self)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """An answer is given."""
        self._bytes_after_the_answer = 0
        if self._whole_requests:
            self._whole_requests -= 1
        if not self._whole_requests and self._is_inside:
            self.door.is_served(self)
            self.is_known = self.is_known or "caller" in self.cycle.scope.get("state", ())
            self.door.waits(self)
        super().on_response_complete()

    def pause_writing(self) -> None:
        """What was sent is not read as fast."""
        super().pause_writing()
        if self._is_inside:
            self.door.is_unread(self)

    def resume_writing(self) -> None:
        """It is read."""
        super().resume_writing()
        self.door.is_read(self)

    def send_400_response(self, msg: str) -> None:
        """What uvicorn calls if the parser has stopped: say why."""
        self.door.turned_away["wrong" if self._refusal[0] == 400 else "large"] += 1
        self._answer_and_close(*self._refusal)

    def shutdown(self) -> None:
        """The service stops: a request that is not whole by now is not waited for."""
        if self.part == "body" and not self._whole_requests:
            self._answer_and_close(503, "the service is stopping, and the request was not all there; send it again")
        else:
            super().shutdown()

    def push_out(self) -> None:
        """Close it, at once."""
        self._leave()
        self.transport.abort()

    def time_out(self, seconds: float) -> None:
        """Close it, and say why if something of a request is there."""
        if self.part == "nothing" or not self._head_bytes:
            self.push_out()
        else:
            self._answer_and_close(408, f"the request was not all there after {seconds:g} seconds")

    def _answer_and_close(self, status: int, detail: str) -> None:
        self._leave()
        under_way = self.cycle is not None and not self.cycle.response_complete and self.cycle.response_started
        if self._whole_requests or self.pipeline or under_way:  # it would end up inside of another answer
            self.transport.abort()
            return
        if self.part == "body" and self.cycle.response_complete:  # the request has its answer, and gets no second
            self.transport.close()
            return
        self.transport.write(with_new_id(lambda: self._last_words(status, detail)))
        self.transport.close()

    def _last_words(self, status: int, detail: str) -> bytes:
        response = status_response(status, detail)
        headers = [*self.server_state.default_headers, *response.raw_headers, *SECURITY_HEADERS]
        headers += [(HEADER, (current_request_id() or "").encode()), (b"connection", b"close")]
        lines = b"".join(b"%b: %b\r\n" % header for header in headers)
        first = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n".encode()
        return first + lines + b"\r\n" + bytes(response.body)

    def _size_of_head(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _too_large(self) -> tuple[int, str]:
        limits = self.door.limits
        if len(self.url) > limits.url_bytes:
            return 414, f"the address is longer than {limits.url_bytes} bytes"
        return 431, f"the headers are more than {limits.headers}, or have more than {limits.head_bytes} bytes in all"


def connections_at(the_door: Door) -> type[asyncio.Protocol]:
    """The class of connections for a server with this door."""

    class ConnectionHere(BoundedConnection):
        door = the_door

    return ConnectionHere
