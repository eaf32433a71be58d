"""Requests for experiments that another server owns go there, and their answers come back.

Whatever has come in while the last batch was answered goes as the next one, as in :mod:`linkedbandits.service.desk`: so
the work that a request makes on its way is shared by all that travel with it. A batch that is not answered soon does
not keep the others waiting.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from time import monotonic
from typing import cast
from urllib.parse import urlsplit

import httptools
from starlette.responses import Response

from linkedbandits.errors import ServiceUnavailable
from linkedbandits.service.http.commands import (
    MOST_BYTES,
    MOST_COMMANDS,
    PATH,
    Kind,
    Outcome,
    OutcomeReader,
    write_batch,
)
from linkedbandits.service.http.logs import log_event
from linkedbandits.service.http.problems import MEDIA_TYPE
from linkedbandits.service.owner_tables import ServerRecord
from linkedbandits.service.owners import Owners

SECONDS_TO_CLAIM = 0.5
"""How long a request waits to know who owns its experiment, where nobody does."""
SECONDS_TO_CONNECT = 2.0
SECONDS_TO_ANSWER = 30.0
"""How long a server may take that gives signs of life. One that gives none is not waited for."""
SECONDS_ALIKE = 0.005
"""How long commands wait for the batch before theirs."""
SECONDS_IDLE = 60.0
"""When a quiet connection is closed: before the other side does, which could be when a batch is on its way."""


class Cut(Exception):
    """No outcome came. If the command was ``sent``, it may have been done or not."""

    def __init__(self, why: str, sent: bool) -> None:
        super().__init__(why)
        self.sent = sent


class Forwarding:
    """Sends commands to other servers; in the event loop alone."""

    def __init__(self, owners: Owners) -> None:
        self._owners = owners
        self._peers: dict[str, Peer] = {}

    async def answer(self, experiment: str, command: Callable[[], bytes], *, repeatable: bool) -> Response | None:
        """The answer of the experiment's owner. None if that is this server, or does not answer: do it here then.

        What may have been done there is done here again only if it is ``repeatable``.
        """
        claimed = self._owners.claim(experiment)
        if claimed is not None:  # two servers that begin with an experiment at once would stand in each other's way
            await asyncio.wait([asyncio.wrap_future(claimed)], timeout=SECONDS_TO_CLAIM)
        server = self._owners.elsewhere(experiment)
        if server is None:
            return None
        peer = self._peers.get(server.id)
        if peer is None:
            peer = self._peers[server.id] = Peer(server, self._owners.id)
        try:
            outcome = await peer.outcome(command())
        except Cut as cut:
            self._note(server, cut)
            if cut.sent and not repeatable:
                raise ServiceUnavailable(
                    "the server that has this experiment stopped answering, and this may have been done or not; ask "
                    "again (with a key, an ask that was done is answered with the same plays)"
                ) from cut
            return None
        if outcome.kind is Kind.ERROR:
            raise outcome.error()
        if outcome.kind is Kind.UNKNOWN:
            return None
        media_type = MEDIA_TYPE if outcome.kind is Kind.PROBLEM else "application/json"
        return Response(outcome.body, outcome.status, media_type=media_type)

    def look_after(self) -> None:
        """Do not wait for servers that are gone, nor keep connections that are not used; to be called now and then."""
        for name, peer in list(self._peers.items()):
            peer.look_after(alive=self._owners.is_alive(name))
            if peer.is_idle:
                del self._peers[name]

    def close(self) -> None:
        """Hang up."""
        for peer in self._peers.values():
            peer.close()

    def _note(self, server: ServerRecord, cut: Cut) -> None:
        if self._owners.avoid(server.id):
            log_event("server-does-not-answer", server=server.id, url=server.url, why=str(cut))


class _Waiting:
    """A command, and who waits for what comes of it."""

    __slots__ = ("command", "future")

    def __init__(self, command: bytes, future: asyncio.Future[Outcome]) -> None:
        self.command, self.future = command, future


def _cut(waiting: Iterable[_Waiting], why: str, sent: bool) -> None:
    """Nothing will come of these."""
    for one in waiting:
        if not one.future.done():
            one.future.set_exception(Cut(why, sent))


class Peer:
    """Another server, and the connections to it."""

    def __init__(self, server: ServerRecord, sender: str, clock: Callable[[], float] = monotonic) -> None:
        self._server = server
        self._sender = sender
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_Waiting] = deque()
        self._soon = False
        self._timer: asyncio.TimerHandle | None = None
        self._idle: list[_Connection] = []
        self._out: set[_Batch] = set()

    def outcome(self, command: bytes) -> asyncio.Future[Outcome]:
        """What will come of a command, or Cut."""
        future: asyncio.Future[Outcome] = self._loop.create_future()
        self._waiting.append(_Waiting(command, future))
        if not self._soon:
            self._soon = True
            self._loop.call_soon(self._send_soon)
        return future

    @property
    def is_idle(self) -> bool:
        """Is nothing under way, nor any connection open?"""
        return not (self._waiting or self._out or self._idle)

    def look_after(self, alive: bool) -> None:
        """Cut what is waited for in vain, and close what is not used."""
        now = self._clock()
        for batch in list(self._out):
            if not alive:
                batch.cut("it gives no sign of life")
            elif now - batch.begun_at > SECONDS_TO_ANSWER:
                batch.cut(f"no answer within {SECONDS_TO_ANSWER:g} s")
        for connection in [idle for idle in self._idle if not alive or now - idle.used_at > SECONDS_IDLE]:
            self._idle.remove(connection)
            connection.close()

    def close(self) -> None:
        """Hang up. What was not sent will not be."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        _cut(self._waiting, "this server stops", sent=False)
        self._waiting.clear()
        for batch in list(self._out):
            batch.cut("this server stops")
        for connection in self._idle:
            connection.close()
        self._idle.clear()

    def _send_soon(self) -> None:
        """Send what has come in, unless there is a batch out: then with what comes in until that is answered."""
        self._soon = False
        if not self._out:
            self._send()
        elif self._waiting and self._timer is None:
            self._timer = self._loop.call_later(SECONDS_ALIKE, self._send)

    def _send(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiting:
            taken: list[_Waiting] = []
            size = 0
            while self._waiting and len(taken) < MOST_COMMANDS:
                size += len(self._waiting[0].command)
                if taken and size > MOST_BYTES:
                    break
                one = self._waiting.popleft()
                if not one.future.done():  # the caller may have hung up
                    taken.append(one)
            if taken:
                batch = _Batch(taken, self._clock(), self._finished)
                self._out.add(batch)
                self._dispatch(batch)

    def _dispatch(self, batch: _Batch) -> None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open:
                connection.send(batch)
                return
        batch.connecting = self._loop.create_task(self._connect_and_send(batch))

    async def _connect_and_send(self, batch: _Batch) -> None:
        parts = urlsplit(self._server.url)
        try:
            async with asyncio.timeout(SECONDS_TO_CONNECT):
                _, connection = await self._loop.create_connection(
                    lambda: _Connection(self._request_head(parts.netloc), self._clock),
                    parts.hostname or "",
                    parts.port or 80,
                )
        except (OSError, TimeoutError) as error:
            batch.cut(f"it cannot be reached ({error!r})", sent=False)
            return
        batch.connecting = None
        connection.send(batch)

    def _request_head(self, host: str) -> bytes:
        return (
            f"POST {PATH} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Server {self._server.secret}\r\n"
            f"X-To: {self._server.id}\r\nX-From: {self._sender}\r\nContent-Length: "
        ).encode()

    def _finished(self, batch: _Batch, connection: _Connection | None) -> None:
        """A batch has all its outcomes, or will get no more."""
        self._out.discard(batch)
        if connection is not None and connection.is_open:
            self._idle.append(connection)
        if not self._out and self._waiting:
            self._send()


class _Batch:
    """Commands that travel together."""

    def __init__(
        self, waiting: list[_Waiting], now: float, finished: Callable[[_Batch, _Connection | None], None]
    ) -> None:
        self.waiting = waiting
        self.begun_at = now
        self.connecting: asyncio.Task[None] | None = None
        self.connection: _Connection | None = None
        self._finished = finished
        self._ended = False

    def arrive(self, number: int, outcome: Outcome) -> None:
        """What came of one of them."""
        future = self.waiting[number].future
        if not future.done():
            future.set_result(outcome)

    def end(self, connection: _Connection) -> None:
        """The answer is complete."""
        if not self._ended:
            self._ended = True
            _cut(self.waiting, "the answer has not all outcomes", sent=True)
            self._finished(self, connection)

    def cut(self, why: str, sent: bool | None = None) -> None:
        """No more will come."""
        if self._ended:
            return
        self._ended = True
        if self.connection is not None:
            self.connection.abort()
        elif self.connecting is not None:
            self.connecting.cancel()
        _cut(self.waiting, why, self.connection is not None if sent is None else sent)
        self._finished(self, None)


class _Connection(asyncio.Protocol):
    """A keep-alive connection: one batch at a time."""

    def __init__(self, head: bytes, clock: Callable[[], float]) -> None:
        self._head = head
        self._clock = clock
        self._transport: asyncio.Transport | None = None
        self._batch: _Batch | None = None
        self.used_at = clock()
        self.is_open = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It can be used."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop has a class of its own
        self.is_open = True

    def send(self, batch: _Batch) -> None:
        """Send commands; the outcomes arrive in the batch."""
        batch.connection = self
        self._batch = batch
        self._parser = httptools.HttpResponseParser(self)
        self._reader = OutcomeReader()
        self.used_at = self._clock()
        if self._transport is None or not self.is_open:
            batch.cut("the connection was closed", sent=False)
            return
        body = write_batch([one.command for one in batch.waiting])
        self._transport.write(self._head + b"%d\r\n\r\n" % len(body) + body)

    def data_received(self, data: bytes) -> None:
        """A piece of the answer."""
        try:
            self._parser.feed_data(data)
        except Exception as error:  # the parser wraps what goes wrong while it calls
            self._give_up(f"its answer cannot be read ({error!r})")

    def on_headers_complete(self) -> None:
        """The head of the answer is there."""
        status = self._parser.get_status_code()
        if status != 200:
            self._give_up(f"it answered with status {status}; is {self._host} its address?", sent=False)

    def on_body(self, body: bytes) -> None:
        """A piece of its body."""
        if self._batch is not None:
            for number, outcome in self._reader.feed(body):
                self._batch.arrive(number, outcome)

    def on_message_complete(self) -> None:
        """It is complete."""
        batch, self._batch = self._batch, None
        if batch is not None:
            self.used_at = self._clock()
            self.is_open = self.is_open and self._parser.should_keep_alive()
            if not self.is_open:
                self.close()
            batch.end(self)

    def connection_lost(self, error: Exception | None) -> None:
        """The other side has hung up, or this one."""
        self.is_open = False
        self._give_up(f"the connection was lost ({error!r})")

    def close(self) -> None:
        """Hang up."""
        self.is_open = False
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Hang up, and send nothing of what was not sent yet."""
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    @property
    def _host(self) -> str:
        return self._head.partition(b"Host: ")[2].partition(b"\r\n")[0].decode()

    def _give_up(self, why: str, sent: bool = True) -> None:
        batch, self._batch = self._batch, None
        if batch is not None:
            batch.cut(why, sent)
