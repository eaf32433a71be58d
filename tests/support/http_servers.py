"""Real servers on this machine that do as they are told: answer, fail, hang up, tear their answer, or be too slow."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tools.waiting import SECONDS

SLOW = threading.Event()
"""Never set: what waits for it waits as long as it likes."""


class Told(ThreadingHTTPServer):
    """A server that keeps what it was asked, and answers with what ``answer(method, path, body)`` gives.

    That is a status, a status with headers, or a status with headers and a body; or one of the words ``"hangs up"``,
    ``"torn"`` and ``"slow"``.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, answer: Callable[[str, str, bytes], object]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer = answer
        self.asked: list[tuple[str, str, bytes]] = []
        self.headers: list[dict[str, str]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *_: object) -> None:
        """Clients that are gone are none of its business."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Told

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.headers.append(dict(self.headers))
        self.server.asked.append((self.command, self.path, body))  # last: who sees it sees its headers
        told = self.server.answer(self.command, self.path, body)
        if told == "hangs up":
            self.close_connection = True
            return
        if told == "slow":
            SLOW.wait(min(3.0, SECONDS))
            self.close_connection = True
            return
        torn = told == "torn"
        status, headers, content = (200, {}, b"half of it") if torn else whole_answer(told)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content) * (2 if torn else 1)))
        self.end_headers()
        self.wfile.write(content)
        self.close_connection = torn

    do_POST = do_PUT = do_DELETE = do_GET

    def log_message(self, *_: object) -> None:
        """Nothing."""


def whole_answer(told: object) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of what was told in short."""
    given = told if isinstance(told, tuple) else (told,)
    status, headers, content = (*given, *({}, b"ok")[len(given) - 1 :])
    return status, headers, content


@contextmanager
def serving(answer: Callable[[str, str, bytes], object]) -> Iterator[Told]:
    """Such a server, until the context ends."""
    server = Told(answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(SECONDS)
