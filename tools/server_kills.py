"""Kill or pause the server that has an experiment, again and again, while clients play it through all servers.

A client goes to another server when its own does not answer. Afterwards all that was acknowledged has to be on record,
once, and the experiment has to be what it would be without interruption.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Literal

import httpx

import linkedbandits as lb
from linkedbandits.service.owner_tables import SharedStore
from linkedbandits.service.store import Store, open_store
from tools.kill_rounds import ROOT, Reported, check, create, outcome
from tools.ports import free_port
from tools.waiting import SECONDS, join, until

MOST_ANSWERS = 150
"""Fewer than this are told before a server is killed or paused."""
Trouble = Literal["kill", "pause"]
PAUSE_SECONDS = (0.1, 8.0)
"""Shorter and longer than what makes the others think that a server is gone."""


class ServerProcess:
    """A server on a port that survives it."""

    def __init__(self, store: str) -> None:
        self._store = store
        self._port = free_port()
        self.start()

    def start(self) -> None:
        """Returns when it answers."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "linkedbandits", "serve", "--port", str(self._port), "--store", self._store],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *sys.path])},
        )
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        assert said.startswith("Live page: "), "the server ended before it answered"
        self.url = said.split()[2].rstrip("/")

    def send(self, number: signal.Signals) -> None:
        """A signal."""
        self._process.send_signal(number)

    def end(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Returns when it is gone."""
        self._process.send_signal(number)
        try:
            self._process.wait(SECONDS)
        finally:
            self._process.kill()
            assert self._process.stdout is not None
            self._process.stdout.close()


@contextmanager
def running_servers(store: str, count: int) -> Iterator[list[ServerProcess]]:
    """Servers that share a store."""
    with ExitStack() as stack:
        servers = []
        for _ in range(count):
            servers.append(ServerProcess(store))
            stack.callback(servers[-1].end)
        yield servers


class Clients:
    """Threads that play one experiment, each through a server of its own as long as that answers."""

    def __init__(self, urls: Sequence[str], experiment: str, seed: int, count: int) -> None:
        self.reported = Reported()
        self.repeated: set[int] = set()  # told before, though that was not acknowledged
        self._urls = urls
        self._experiment = experiment
        self._lock = threading.Lock()
        self._enough = threading.Event()
        self._failures: list[BaseException] = []
        self._threads = [threading.Thread(target=self._play, args=(seed, number)) for number in range(count)]

    def __enter__(self) -> Clients:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._enough.set()
        join(*self._threads)
        if kind is None and self._failures:
            raise self._failures[0]

    def wait_for(self, answers: int) -> None:
        """Until so many more were acknowledged."""
        wanted = len(self.reported.told) + answers
        until(lambda: self._failures or len(self.reported.told) >= wanted, f"{answers} more answers")

    def _play(self, seed: int, number: int) -> None:
        rng = random.Random(f"{seed} {number}")
        with ExitStack() as stack:
            doors = [stack.enter_context(httpx.Client(base_url=url, timeout=20.0)) for url in self._urls]
            first = number % len(doors)
            try:
                while not self._enough.is_set():
                    self._one_round(rng, doors[first:] + doors[:first])
            except BaseException as error:
                self._failures.append(error)

    def _one_round(self, rng: random.Random, doors: Sequence[httpx.Client]) -> None:
        key = {"key": f"{rng.getrandbits(64):x}"} if rng.random() < 0.8 else {}
        asked = self._post(doors, "ask", {"count": rng.randint(1, 12), **key})
        if asked is None:
            return
        plays = [lb.Play(play["id"], tuple(play["arms"])) for play in asked["plays"]]
        with self._lock:
            self.reported.asked += [play.id for play in plays]
        if rng.random() < 0.05:
            return  # never told; the lease runs out
        told = self._post(doors, "tell", {"answers": [{"play": play.id, "hit": outcome(play)} for play in plays]})
        if told is None:
            return
        with self._lock:
            for play, receipt in zip(plays, told["receipts"], strict=True):
                assert isinstance(receipt, str), receipt
                if receipt == "repeated":
                    self.repeated.add(play.id)
                else:
                    self.reported.take("told", [str(play.id), receipt])

    def _post(self, doors: Sequence[httpx.Client], verb: str, body: dict[str, Any]) -> Any | None:
        """What the first server says that answers; None if none does, or if too many plays are out."""
        for door in doors:
            try:
                response = door.post(f"/v1/experiments/{self._experiment}/{verb}", json=body)
            except httpx.TransportError:
                continue
            if response.status_code == 200:
                return response.json()
            if response.json()["type"] == "urn:linkedbandits:too-many-in-flight":
                time.sleep(0.02)
                return None
            assert response.status_code == 503, response.text
        return None


def owner_among(servers: Sequence[ServerProcess], store: Store, experiment: str) -> ServerProcess | None:
    """The server that owns the experiment."""
    if len(servers) == 1:
        return servers[0]
    assert isinstance(store, SharedStore)
    with store.owning() as tables:
        owner = tables.owners().get(experiment)
        urls = {server.id: server.url for server in tables.alive()}
    return next((server for server in servers if owner in urls and server.url == urls[owner]), None)


def rounds_of_trouble(
    url: str,
    rounds: int,
    seed: int,
    troubles: Sequence[Trouble] = ("kill", "pause"),
    rounds_each: int = 5,
    server_count: int = 2,
    client_count: int = 6,
) -> Iterator[int]:
    """Kill or pause the owner ``rounds`` times, with a new experiment every few; yields the answers checked so far.

    One server alone begins again at once, as a supervisor would make it; of several the others go on for a while.
    """
    rng = random.Random(seed)
    store = open_store(url)
    checked = 0
    try:
        with running_servers(url, server_count) as servers:
            for begin in range(0, rounds, rounds_each):
                experiment = create(store)
                addresses = [server.url for server in servers]
                with Clients(addresses, experiment, rng.randrange(2**30), client_count) as clients:
                    for number in range(begin, min(begin + rounds_each, rounds)):
                        clients.wait_for(rng.randrange(1, MOST_ANSWERS))
                        owner = until(partial(owner_among, servers, store, experiment), "an owner")
                        time.sleep(rng.uniform(0.0, 0.05))
                        if troubles[number % len(troubles)] == "kill":
                            owner.end()
                            if server_count > 1:
                                clients.wait_for(rng.randrange(1, MOST_ANSWERS))
                            owner.start()
                        else:
                            owner.send(signal.SIGSTOP)
                            time.sleep(rng.uniform(*PAUSE_SECONDS))
                            owner.send(signal.SIGCONT)
                    clients.wait_for(50)
                _archive(servers, experiment)  # else servers would go on to give up plays whose lease has run out
                checked += check(store, experiment, clients.reported)
                on_record = _told_on_record(store, experiment)
                assert clients.repeated <= on_record, "said to be told before, and not on record"
                yield checked
    finally:
        store.close()


def _archive(servers: Sequence[ServerProcess], experiment: str) -> None:
    def is_archived() -> bool:
        response = httpx.post(f"{servers[0].url}/v1/experiments/{experiment}/archive", timeout=20.0)
        return response.status_code == 200

    until(is_archived, "the experiment to be archived")


def _told_on_record(store: Store, experiment: str) -> set[int]:
    with store.reading() as tables:
        return {play for entry in tables.entries(experiment, 0) if entry.kind == "tell" for play in entry.body["plays"]}
