"""The web server: listens, runs the application, and stops without losing anything."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn

from linkedbandits.errors import InvalidParameter
from linkedbandits.service.http.app import create_app
from linkedbandits.service.http.service import Service, Settings
from linkedbandits.service.store import Store
from linkedbandits.signals import end_in_time, end_now

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
        super().__init__(
            uvicorn.Config(
                create_app(service),
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
        elif self.started and self._on_ready is not None:
            self._on_ready(self.url)

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
        await super().shutdown(sockets)


def make_server(
    store: Store, settings: Settings, host: str, port: int, on_ready: Callable[[str], None] | None = None
) -> Server:
    """A service to ``run()``. An address that others can reach is refused as long as there are no tokens."""
    loopback = is_loopback(host)
    with store.reading() as reading:
        if not loopback and not reading.tokens():
            raise InvalidParameter(
                f"--host {host} can be reached from elsewhere and the store has no tokens; make one with "
                "'linkedbandits token create --role admin --name NAME' first, or listen on 127.0.0.1"
            )
        # Who makes a token wants the service closed, and does not mean to open it by revoking the last.
        closed = not loopback or (reading.ever_had_tokens() and not settings.reopen)
    return Server(Service(store, settings.closed() if closed else settings), host, port, on_ready)


def listen(host: str, port: int) -> socket.socket:
    """A socket on an address, or why there is none."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise InvalidParameter(
            f"cannot listen on {host}, port {port} ({error.strerror}); choose another --port, or 0 for a free one"
        ) from error


def is_loopback(host: str) -> bool:
    """Can only this machine reach the address?

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
