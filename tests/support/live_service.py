"""The live service in a process of its own, and somebody who plays."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from linkedbandits.model import Label
from linkedbandits.service.client import RemoteExperiment
from linkedbandits.service.store import open_store
from linkedbandits.service.tokens import make_token
from tools.ports import free_port
from tools.waiting import SECONDS


class LiveService:
    """On a port and a store that survive the process."""

    def __init__(self, store: Path, *options: str) -> None:
        self._store = store
        self._options = options
        self._port = free_port()
        self.url = ""
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Wait for its own word: if somebody else has taken the port, it is not this service that answers."""
        command = [sys.executable, "-m", "linkedbandits", "serve"]
        where = ["--store", str(self._store), "--port", str(self._port)]
        self._process = subprocess.Popen(
            [*command, *where, *self._options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        said = self._process.stdout.readline()
        assert said.startswith("Live page: "), "the service ended before it answered"
        self.url = said.split()[2].rstrip("/")

    def kill(self) -> None:
        """As if the machine had failed."""
        self._process.kill()
        self._process.wait(SECONDS)
        self._process.stdout.close()

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(SECONDS)
        finally:
            self._process.kill()
            self._process.stdout.close()

    def make_token(self, role: str) -> str:
        text, record = make_token(role, role, time.time)
        with closing(open_store(str(self._store))) as store, store.writing() as writing:
            writing.add_token(record)
        return text

    def address_of(self, experiment: RemoteExperiment) -> str:
        return f"{self.url}/#/experiments/{experiment.id}"


@contextmanager
def running_service(folder: Path) -> Iterator[LiveService]:
    service = LiveService(folder / "store.sqlite3")
    try:
        service.start()
        yield service
    finally:
        service.stop()


def play(experiment: RemoteExperiment, means: dict[Label, float], plays: int, seed: int = 1) -> bool:
    """Play that many times against arms with these means. Is it decided now?"""
    coin = random.Random(seed)
    done = False
    while plays > 0 and not done:
        asked = experiment.ask_many(min(plays, 100))
        answers = [(one.id, next((arm for arm in one.arms if coin.random() < means[arm]), None)) for one in asked]
        done = experiment.tell_many(answers).done
        plays -= len(asked)
    return done
