"""The live service over HTTP: one process, SQLite with every commit on the disk, 32 clients on keep-alive connections.

The service runs in a process of its own; the clients are raw asyncio streams, so that the service is measured.
Claims: at least 600 ask+tell pairs a second with batches of one and 20,000 with batches of 100, and 99 % of the tells
answered within 50 ms at half of what was carried.
"""

from __future__ import annotations

import asyncio
import json
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from urllib.parse import urlsplit

import numpy as np

import linkedbandits as lb
from linkedbandits.service.client import Client

CLIENTS = 32
SECONDS = 10.0
ARMS = [f"arm {number}" for number in range(10)]
TIED = {arm: 0.3 if number > 7 else 0.1 for number, arm in enumerate(ARMS)}  # two equal best,
HARDLY_EVER = 1e-12  # of which one goes out so rarely that the experiment does not end


@contextmanager
def running_service(folder: Path) -> Iterator[str]:
    """The address of a service on a new file."""
    with served(folder) as (url, _):
        yield url


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, int]]:
    """The same, with its process."""
    command = [sys.executable, "-m", "linkedbandits", "serve", "--port", "0", "--store", str(folder / "bench.sqlite3")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[2].rstrip("/")
        try:
            yield url, process.pid
        finally:
            process.send_signal(signal.SIGTERM)


class Connection:
    """A keep-alive connection that knows just enough HTTP."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str) -> None:
        self._reader, self._writer = reader, writer
        self._rest = f" HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: ".encode()

    @classmethod
    async def open(cls, url: str) -> Connection:
        parts = urlsplit(url)
        return cls(*await asyncio.open_connection(parts.hostname, parts.port), parts.netloc)

    async def post(self, path: str, body: bytes) -> bytes:
        self._writer.write(b"POST " + path.encode() + self._rest + b"%d\r\n\r\n" % len(body) + body)
        head = await self._reader.readuntil(b"\r\n\r\n")
        answer = await self._reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
        assert head.startswith(b"HTTP/1.1 200"), (head, answer)
        return answer

    def close(self) -> None:
        self._writer.close()


class Player:
    """Asks, tosses coins, tells; as fast as it can, or at a rate."""

    def __init__(self, connection: Connection, experiment: str, batch: int, seed: int) -> None:
        self._connection = connection
        self._path = f"/v1/experiments/{experiment}"
        self._ask = json.dumps({"count": batch}).encode()
        self._rng = random.Random(seed)
        self.pairs = 0
        self.tell_seconds: list[float] = []

    async def play(self) -> None:
        asked = json.loads(await self._connection.post(self._path + "/ask", self._ask))
        toss = self._rng.random
        answers = [
            {"play": play["id"], "hit": next((arm for arm in play["arms"] if toss() < TIED[arm]), None)}
            for play in asked["plays"]
        ]
        body = json.dumps({"answers": answers}).encode()
        start = perf_counter()
        await self._connection.post(self._path + "/tell", body)
        self.tell_seconds.append(perf_counter() - start)
        self.pairs += len(answers)

    async def run(self, until: float, gap: float) -> None:
        """Until a time; with a gap, a play begins at fixed times, whatever became of the one before."""
        due = perf_counter() + self._rng.random() * gap
        while perf_counter() < until:
            if gap:
                await asyncio.sleep(max(0.0, due - perf_counter()))
                due += gap
            await self.play()

    def close(self) -> None:
        self._connection.close()


async def load(url: str, experiment: str, batch: int, pairs_per_second: float | None) -> tuple[float, np.ndarray]:
    """Pairs a second, and how long each tell took."""
    players = [Player(await Connection.open(url), experiment, batch, seed) for seed in range(CLIENTS)]
    gap = 0.0 if pairs_per_second is None else CLIENTS * batch / pairs_per_second
    start = perf_counter()
    await asyncio.gather(*(player.run(start + SECONDS, gap) for player in players))
    took = perf_counter() - start
    for player in players:
        player.close()
    return sum(player.pairs for player in players) / took, np.concatenate([p.tell_seconds for p in players])


def measure(batch: int, claim: int) -> None:
    with tempfile.TemporaryDirectory(dir=".") as folder, running_service(Path(folder)) as url:
        with Client(url) as client:
            exp = client.create("load", ARMS, lb.LinkedElimination(delta=HARDLY_EVER), parallel=CLIENTS * batch)
        asyncio.run(load(url, exp.id, batch, claim / 10))  # warm up
        full, full_tells = asyncio.run(load(url, exp.id, batch, None))
        half, tells = asyncio.run(load(url, exp.id, batch, full / 2))
    print(
        f"  batches of {batch:>4}: {full:8,.0f} pairs a second (claim {claim:,}), tell p99 "
        f"{1000 * np.quantile(full_tells, 0.99):.1f} ms; at {half:,.0f} a second tell median "
        f"{1000 * np.median(tells):.1f} ms, p99 {1000 * np.quantile(tells, 0.99):.1f} ms (claim 50)"
    )


def main() -> None:
    print(f"ask + tell over HTTP, one process, SQLite, fsync, {CLIENTS} clients")
    measure(1, 600)
    measure(100, 20_000)


def million() -> None:
    """More than a million plays through the service go and end as they do in this process."""
    rng = random.Random(2)
    means = {arm: 0.0106 if number == 7 else 0.01 for number, arm in enumerate(ARMS)}
    here = lb.Experiment(ARMS, lb.LinkedElimination(delta=0.05))
    start = perf_counter()
    with tempfile.TemporaryDirectory(dir=".") as folder, running_service(Path(folder)) as url, Client(url) as client:
        there = client.create("million", ARMS, lb.LinkedElimination(delta=0.05))
        while not here.done:
            plays = there.ask_many(1000)
            assert plays == [here.ask() for _ in plays]
            answers = [(play.id, next((arm for arm in play.arms if rng.random() < means[arm]), None)) for play in plays]
            assert there.tell_many(answers).receipts == [here.tell(play, hit) for play, hit in answers]
        assert there.done
        assert there.recommend() == here.recommend()
        assert there.estimates() == here.estimates()
    verdict = here.recommend()
    print(
        f"  {here.plays:,} plays through the service, in batches of 1000, and in this process: same plays, same "
        f"receipts, same verdict ({verdict.arm}, {verdict.status}, {verdict.plays:,}); {perf_counter() - start:.0f} s"
    )
