"""A real service on loopback, in a thread of this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from linkedbandits.service.http.server import Server, make_server
from linkedbandits.service.http.service import Settings
from linkedbandits.service.store import Store, open_store
from linkedbandits.service.tokens import make_token
from tests.support.figures import figures_in
from tools.waiting import SECONDS


@dataclass
class RunningService:
    """Where it is, and what it works on."""

    url: str
    store: Store
    server: Server
    http: httpx.Client

    def create(self, **changes: Any) -> str:
        """A small experiment; its identifier."""
        wanted = {"name": "directions", "arms": ["north", "east", "south"], **changes}
        response = self.http.post("/v1/experiments", json=wanted)
        assert response.status_code == 201, response.text
        return response.json()["id"]

    def post(self, experiment: str, verb: str, body: Any, **headers: str) -> httpx.Response:
        """What comes of telling an experiment to do something."""
        return self.http.post(f"/v1/experiments/{experiment}/{verb}", json=body, headers=headers)

    def play(self, experiment: str, count: int = 50) -> None:
        """Plays, none of which ends with a success."""
        plays = self.post(experiment, "ask", {"count": count}).json()["plays"]
        told = self.post(experiment, "tell", {"answers": [{"play": play["id"], "hit": None} for play in plays]})
        assert told.status_code == 200, told.text

    def figures(self, headers: dict[str, str] | None = None) -> dict[tuple[object, ...], float]:
        """What it has for Prometheus."""
        response = self.http.get("/metrics", headers=headers)
        assert response.status_code == 200, response.text
        return figures_in(response.text)

    def make_token(self, role: str, name: str = "somebody") -> tuple[str, str]:
        """A new token, and its identifier."""
        text, record = make_token(name, role, lambda: 0.0)
        with self.store.writing() as writing:
            writing.add_token(record)
        self.forget_tokens()
        return text, record.id

    def forget_tokens(self) -> None:
        """Have the service read them again, as it does after a while."""
        guard = self.server.service.guard
        guard._loaded_at, guard._reading = float("-inf"), None


@contextmanager
def running_service(path: str, settings: Settings | None = None, host: str = "127.0.0.1") -> Iterator[RunningService]:
    """Serve the store at ``path`` until the context ends."""
    store = open_store(path)
    ready = threading.Event()
    where: list[str] = []

    def on_ready(url: str) -> None:
        where.append(url)
        ready.set()

    server = make_server(store, settings or Settings(), host, 0, on_ready)
    thread = threading.Thread(target=server.run, name="server")
    thread.start()
    try:
        assert ready.wait(SECONDS), "the service did not start"
        with httpx.Client(base_url=where[0], timeout=SECONDS) as http:
            yield RunningService(where[0], store, server, http)
    finally:
        server.should_exit = True
        thread.join(SECONDS)
        store.close()
        assert not thread.is_alive(), "the service did not stop"
