"""One message to one webhook: bounded in time, in what is read of the answer, and in where it may go.

The address is looked up once, checked, and then connected to: a name that leads elsewhere at the second look gains
nothing. Redirects are not followed, and proxies of the environment are not used.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from linkedbandits.errors import InvalidParameter
from linkedbandits.service.webhooks import Delivery, Webhook, check_address, check_url, signed_headers
from linkedbandits.version import __version__

SECONDS_TO_ANSWER = 10.0
"""From the connection to the status of the answer, all together."""


@dataclass(frozen=True, slots=True)
class Posted:
    """What came of an attempt, in a few words without any of the receiver's."""

    arrived: bool
    said: str


class Post:
    """Sends messages; with ``private`` also to addresses that are not public."""

    def __init__(
        self, private: bool, seconds: float = SECONDS_TO_ANSWER, clock: Callable[[], float] = time.time
    ) -> None:
        self._private = private
        self._seconds = seconds
        self._clock = clock

    def send(self, webhook: Webhook, delivery: Delivery) -> Posted:
        """Try once. It has arrived if the answer is a 2xx."""
        try:
            status = self._status(webhook, delivery)
        except (InvalidParameter, OSError, http.client.HTTPException) as error:
            return Posted(False, self._in_words(error))
        return Posted(200 <= status < 300, f"answered {status}")

    def _in_words(self, error: Exception) -> str:
        match error:
            case InvalidParameter():
                return str(error)
            case TimeoutError():
                return f"no answer within {self._seconds:g} s"
            case ssl.SSLError():
                return f"no secure connection ({error.reason or 'the certificate is not trusted'})"
            case socket.gaierror():
                return "the name of the server is not known"
            case OSError():
                return f"no connection ({error.strerror or type(error).__name__})"
        return f"the answer is not HTTP ({type(error).__name__})"

    def _status(self, webhook: Webhook, delivery: Delivery) -> int:
        parts = check_url(webhook.url, self._private)
        host = str(parts.hostname)
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
        body = delivery.body.encode()
        headers = {
            **signed_headers(webhook.secret, delivery.id, int(self._clock()), body),
            "Host": parts.netloc,
            "Content-Type": "application/json",
            "User-Agent": f"linkedbandits/{__version__}",
            "Connection": "close",
        }
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        with self._connected(host, port, secure=parts.scheme == "https") as connection:
            asked = http.client.HTTPConnection(host, port)
            asked.sock = connection
            asked.request("POST", path, body, headers)
            return asked.getresponse().status  # the rest of the answer is not read

    @contextmanager
    def _connected(self, host: str, port: int, secure: bool) -> Iterator[socket.socket]:
        """A connection that is cut when the time is up, whatever the other side does."""
        end = time.monotonic() + self._seconds
        connection = self._connect(host, port)
        late = threading.Event()

        def cut() -> None:
            late.set()
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

        watchdog = threading.Timer(max(0.0, end - time.monotonic()), cut)
        watchdog.daemon = True
        watchdog.start()
        try:
            if secure:
                context = ssl.create_default_context()
                connection = context.wrap_socket(connection, server_hostname=host, do_handshake_on_connect=False)
                connection.do_handshake()  # not sooner: what is cut has to be the connection that is waited for
            yield connection
        except (OSError, http.client.HTTPException) as error:
            if late.is_set():
                raise TimeoutError from error
            raise
        finally:
            watchdog.cancel()
            connection.close()

    def _connect(self, host: str, port: int) -> socket.socket:
        """To the first address of the name that answers, if all of them may be connected to."""
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = [(family, str(where[0])) for family, _, _, _, where in found]
        if not self._private:
            for _, address in addresses:
                check_address(address)
        refused: OSError = ConnectionRefusedError()
        for _, address in addresses[:2]:
            try:
                connection = socket.create_connection((address, port), timeout=self._seconds / 2)
            except OSError as error:
                refused = error
            else:
                connection.settimeout(self._seconds)
                return connection
        raise refused
