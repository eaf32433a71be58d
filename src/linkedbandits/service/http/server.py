"""The web server: listens, runs the application, and stops without losing anything."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn

from linkedbandits.errors import InvalidParameter
from linkedbandits.service.addresses import is_loopback
from linkedbandits.service.http.app import create_app
from linkedbandits.service.http.connections import connections_at
from linkedbandits.service.http.door import Door, DoorLimits, places_for_connections
from linkedbandits.service.http.logs import log_event
from linkedbandits.service.http.present_figures import FiguresOfTheDoor
from linkedbandits.service.http.service import Service, Settings
from linkedbandits.service.store import Store
from linkedbandits.signals import end_in_time, end_now
from linkedbandits.version import __version__

SECONDS_TO_FINISH = 3
"""How long requests that are being answered may take after the signal to stop; the whole process has a second more."""
SECONDS_KEPT_ALIVE = 75
"""When a quiet connection is closed. Clients give up sooner: else it might be closed with a request on its way."""


class Server(uvicorn.Server):
    """Stops on SIGTERM and SIGINT: event streams end at once, requests are finished, the desk commits.

    A second signal, or a store that does not answer, ends it without more ado: what was acknowledged is in the store.
    ``service`` is what it serves.
    """

    def __init__(self, service: Service, host: str, port: int, on_ready: Callable[[str], None] | None = None) -> None:
        self.door = Door(DoorLimits(places_for_connections()), service.clock)
        super().__init__(
            uvicorn.Config(
                create_app(service),
                http=connections_at(self.door),
                access_log=False,
                proxy_headers=False,
                log_config=None,
                server_header=False,
                ws="none",
                timeout_graceful_shutdown=SECONDS_TO_FINISH,
                timeout_keep_alive=SECONDS_KEPT_ALIVE,
            )
        )
        self.service = service
        service.metrics.add(FiguresOfTheDoor(self.door))
        self._address = (host, port)
        self._on_ready = on_ready

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal comes."""
        with listen(*self._address) as listening:
            super().run(sockets or [listening])

    @property
    def url(self) -> str:
        """Where the service is, with the port that the system chose if it was asked to."""
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say where."""
        await super().startup(sockets)
        if self.started and self.should_exit:  # a signal came before it could be heard, and nothing else ends it now
            await self.shutdown(sockets)
        elif self.started:
            log_event("service-started", version=__version__, process=os.getpid(), url=self.url)
            if self.service.owners.may_share:
                self.service.owners.start(self.service.settings.url_for_others or self.url)
            if self._on_ready is not None:
                self._on_ready(self.url)

    async def on_tick(self, counter: int) -> bool:
        """Called ten times a second: now and then, close what has waited too long."""
        if counter % 10 == 0:
            self.door.sweep()
        return await super().on_tick(counter)

    def stop_early(self, sig: int, frame: FrameType | None) -> None:
        """What they do before: it stops when it has started. Passed on afterwards, they have nothing left to do."""
        if not self.should_exit:
            self.handle_exit(sig, frame)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """What the signals to stop do while it serves."""
        if self.should_exit:
            end_now(sig)
        end_in_time(sig)
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the event streams, which have no end of their own, and then all other requests."""
        self.service.closing.set()
        log_event("service-stopping", connections=len(self.server_state.connections))
        await asyncio.to_thread(self.service.owners.leave)
        await super().shutdown(sockets)
        log_event("service-stopped")


def make_server(
    store: Store, settings: Settings, host: str, port: int, on_ready: Callable[[str], None] | None = None
) -> Server:
    """A service to ``run()``. An address that others can reach is refused as long as there are no tokens."""
    loopback = is_loopback(host)
    with store.reading() as reading:
        signs_in = settings.proxy is not None and settings.proxy.header is not None
        if not loopback and not signs_in and not reading.tokens():
            raise InvalidParameter(
                f"--host {host} can be reached from elsewhere and the store has no tokens; make one with "
                "'linkedbandits token create --role admin --name NAME' first, or listen on 127.0.0.1"
            )
        # Who makes a token wants the service closed, and does not mean to open it by revoking the last.
        # Behind a proxy everybody is on this machine.
        closed = not loopback or settings.proxy is not None or (reading.ever_had_tokens() and not settings.reopen)
    return Server(Service(store, settings.closed() if closed else settings), host, port, on_ready)


def listen(host: str, port: int) -> socket.socket:
    """A socket on an address, or why there is none."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise InvalidParameter(
            f"cannot listen on {host}, port {port} ({error.strerror}); choose another --port, or 0 for a free one"
        ) from error
