"""A log of attempts from real servers that fail: three of them on this machine, behind a chain that tries them in turn.

    python examples/faulty_servers.py attempts.csv --requests 1500
    linkedbandits verdict attempts.csv

Each server answers over HTTP, and each has faults of its own: one says 503 now and then, one is too slow for the
client's patience, one hangs up. Long requests are hard for two of them, which therefore fail together. The chain tries
the servers in a random order until one answers, and writes a row for each attempt.
"""

from __future__ import annotations

import argparse
import csv
import http.client
import random
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PATIENCE = 0.05
"""Seconds that the chain waits for an answer."""
LONG = 800
"""Characters from which on a request is hard for two of the servers."""


class Server(BaseHTTPRequestHandler):
    """Answers, or fails in its own way: ``faults`` are the shares of its requests that each fault has."""

    faults: dict[str, float]
    fails_on_long: float
    luck: random.Random

    def do_GET(self) -> None:
        """Answer, unless luck or the length of the request is against it."""
        drawn = self.luck.random()
        if len(self.path) >= LONG and self.luck.random() < self.fails_on_long:
            self.send_error(413)
            return
        for fault, share in self.faults.items():
            if drawn < share:
                getattr(self, fault)()
                return
            drawn -= share
        self.send_response(200)
        self.end_headers()

    def busy(self) -> None:
        """Say so."""
        self.send_error(503)

    def slow(self) -> None:
        """Answer when nobody listens any more."""
        time.sleep(2 * PATIENCE)
        self.send_response(200)
        self.end_headers()

    def hangs_up(self) -> None:
        """Close the connection without a word."""
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Nothing: the chain keeps the log."""


SERVERS = {
    "amber": ({"busy": 0.15}, 0.9),
    "basalt": ({"slow": 0.25}, 0.0),
    "cedar": ({"busy": 0.05, "hangs_up": 0.25}, 0.7),
}
"""Of each its faults, and how often it fails on long requests."""


class QuietServer(ThreadingHTTPServer):
    """Does not mind clients that are gone when it answers."""

    def handle_error(self, *_: object) -> None:
        """Nothing: the chain keeps the log."""


@contextmanager
def running(name: str, seed: int) -> Iterator[int]:
    """One of the servers, on a port of its own."""
    faults, fails_on_long = SERVERS[name]
    handler = type(name, (Server,), {"faults": faults, "fails_on_long": fails_on_long, "luck": random.Random(seed)})
    server = QuietServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def attempt(port: int, path: str) -> int:
    """The status of one attempt; 0 where there was no answer, or none in time."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


def main() -> None:
    """Write the log."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help="where the log goes, as CSV")
    parser.add_argument("--requests", type=int, default=1500, help="how many requests are made")
    parser.add_argument("--seed", type=int, default=1, help="of the orders, the lengths and the faults")
    given = parser.parse_args()
    chance = random.Random(given.seed)
    with ExitStack() as stack, Path(given.file).open("w", newline="", encoding="utf-8") as file:
        ports = {name: stack.enter_context(running(name, chance.randrange(2**32))) for name in SERVERS}
        log = csv.writer(file)
        log.writerow(["request", "time", "server", "status", "ms"])
        for request in range(given.requests):
            path = "/" + "x" * int(chance.expovariate(1 / 500))
            for name in chance.sample(list(SERVERS), len(SERVERS)):
                began = time.time()
                status = attempt(ports[name], path)
                log.writerow([request, f"{began:.3f}", name, status, round(1000 * (time.time() - began))])
                if status == 200:
                    break
    print(f"{given.requests:,} requests in {given.file}")


if __name__ == "__main__":
    main()
