"""Several servers on one PostgreSQL store: what a pair costs, and how many pairs there are, against one server.

Servers and PostgreSQL run in processes of their own, 32 clients are spread over the servers evenly. Processor time is
that of the servers and of PostgreSQL together: it is less sensitive to what else the machine does than pairs a second,
which on two cores say little about more servers than one. One server and two take turns with as many pairs each, so
that both have the same machine and their experiments the same age; ratios are medians over the turns.
Claim: two servers on one experiment take at most a fifth more processor time a pair than one server, with batches of
one and of 100.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

import linkedbandits as lb
from benchmarks.service_http import ARMS, HARDLY_EVER, Connection, Player
from linkedbandits.service.client import Client
from tools.claims import Claims
from tools.postgres_server import PostgresServer, running_postgres
from tools.server_kills import rounds_of_trouble

CLIENTS = 32
PAIRS = {1: 2_000, 100: 20_000}
"""In a turn, by the size of batches."""
SETTLING_SECONDS = 4.0
SETTLING_PAIRS = {1: 500, 100: 10_000}
SETTLING_CLIENTS = 4
"""How long experiments are played before they are measured, at least, and by how many: they are shared out meanwhile,
and a young one with many plays out takes far more time a pair."""
TURNS = {1: 7, 2: 3, 8: 3}
"""By the number of experiments: more where something is claimed."""
MOST = 1.2
KILLS = 60
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Servers:
    """Some servers on a database of their own."""

    urls: list[str]
    pids: list[int]


@dataclass(frozen=True)
class Cost:
    """Of a pair, in microseconds of processor time; and pairs a second."""

    servers: float
    postgres: float
    rate: float

    @property
    def whole(self) -> float:
        return self.servers + self.postgres


@contextmanager
def running_servers(store: str, count: int) -> Iterator[Servers]:
    """That many servers on a store."""
    with ExitStack() as stack:
        urls, pids = [], []
        for _ in range(count):
            command = [sys.executable, "-m", "linkedbandits", "serve", "--port", "0", "--store", store]
            process = stack.enter_context(
                subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            )
            stack.callback(process.send_signal, signal.SIGTERM)
            assert process.stdout is not None
            urls.append(process.stdout.readline().split()[2].rstrip("/"))
            pids.append(process.pid)
        yield Servers(urls, pids)


def processor_seconds(pids: Sequence[int], with_ended_children: bool = False) -> float:
    """What processes have used; those that ended, of which a parent knows, if they are asked for."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(int(field) for field in fields[11 : 15 if with_ended_children else 13])
    return ticks / TICKS


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def used(servers: Servers, postgres: PostgresServer) -> tuple[float, float]:
    """By the servers, and by PostgreSQL."""
    database = processor_seconds([postgres.pid], with_ended_children=True)
    return processor_seconds(servers.pids), database + processor_seconds(children_of(postgres.pid))


async def play(
    servers: Servers, experiments: list[str], batch: int, pairs: int, seconds: float = 0.0, clients: int = CLIENTS
) -> None:
    """At least so many pairs, and for so long; every experiment has clients at every server."""
    players = []
    for number in range(clients):
        url = servers.urls[number % len(servers.urls)]
        experiment = experiments[number // len(servers.urls) % len(experiments)]
        players.append(Player(await Connection.open(url), experiment, batch, number))
    until, left = perf_counter() + seconds, pairs

    async def keep_playing(player: Player) -> None:
        nonlocal left
        while left > 0 or perf_counter() < until:
            left -= batch
            await player.play()

    await asyncio.gather(*(keep_playing(player) for player in players))
    for player in players:
        player.close()


def measure(servers: Servers, postgres: PostgresServer, experiments: list[str], batch: int) -> Cost:
    pairs = PAIRS[batch]
    before, start = used(servers, postgres), perf_counter()
    asyncio.run(play(servers, experiments, batch, pairs))
    took, after = perf_counter() - start, used(servers, postgres)
    return Cost(*(1e6 * (late - early) / pairs for late, early in zip(after, before, strict=True)), rate=pairs / took)


def create(servers: Servers, count: int, batch: int) -> list[str]:
    made = []
    with Client(servers.urls[0]) as client:
        for number in range(count):
            policy = lb.LinkedElimination(delta=HARDLY_EVER)
            made.append(client.create(f"{count} of {number}", ARMS, policy, parallel=CLIENTS * batch).id)
    return made


def compare(one: Servers, two: Servers, postgres: PostgresServer, count: int, batch: int) -> float:
    """The ratio of processor time a pair, of two servers to one, with so many experiments."""
    with_one, with_two = create(one, count, batch), create(two, count, batch)
    for servers, experiments in ((two, with_two), (one, with_one)):
        clients = max(SETTLING_CLIENTS, 2 * count)
        asyncio.run(play(servers, experiments, batch, SETTLING_PAIRS[batch] * count, SETTLING_SECONDS, clients))
    turns = [
        (measure(one, postgres, with_one, batch), measure(two, postgres, with_two, batch)) for _ in range(TURNS[count])
    ]
    cost = median(b.whole / a.whole for a, b in turns)
    of_servers = median(b.servers / a.servers for a, b in turns)
    rate = median(b.rate / a.rate for a, b in turns)
    single, both = (
        Cost(*(median(values) for values in zip(*((c.servers, c.postgres, c.rate) for c in side), strict=True)))
        for side in zip(*turns, strict=True)
    )
    print(
        f"  {batch:>5} {count:>11}   {single.whole:7.0f} ({single.servers:5.0f} + {single.postgres:4.0f})"
        f"   {both.whole:7.0f} ({both.servers:5.0f} + {both.postgres:4.0f})"
        f"   {cost:5.2f} ({of_servers:4.2f})   {single.rate:7,.0f}   {both.rate:7,.0f}   {rate:5.2f}",
        flush=True,
    )
    return cost


def main() -> None:
    claims = Claims()
    print(f"ask + tell over HTTP, PostgreSQL with every commit on the disk, {CLIENTS} clients spread over the servers")
    print("microseconds of processor time a pair (servers + PostgreSQL), its ratio (of servers alone), pairs a second")
    print("  batch experiments   one server            two servers           ratio           one       two   ratio")
    with running_postgres(durable=True) as postgres:
        if postgres is None:
            print("  postgresql is not installed here")
            return
        with (
            running_servers(postgres.new_database("one"), 1) as one,
            running_servers(postgres.new_database("two"), 2) as two,
        ):
            for batch in (1, 100):
                for count in (1, 2, 8):
                    cost = compare(one, two, postgres, count, batch)
                    if count == 1:
                        claims.check(
                            cost <= MOST, f"two servers cost {cost:.2f} times as much a pair as one, batches of {batch}"
                        )
    claims.report()


def kills() -> None:
    """Owners that are killed, and others that are paused and come back, with clients at both servers."""
    print(f"of two servers the one that owns an experiment is killed (kill -9) or paused, {KILLS} times in all, under")
    print(
        "load; every answer acknowledged is there, once, and the state and next decision are those of an uninterrupted"
    )
    print("run over the same journal")
    with running_postgres(durable=True) as postgres:
        if postgres is None:
            print("  postgresql is not installed here")
            return
        start = perf_counter()
        for number, answers in enumerate(rounds_of_trouble(postgres.new_database("kills"), KILLS, seed=2), start=1):
            print(f"  {number:4} experiments, {answers:8,} answers on record, none lost", flush=True)
        print(f"  took {perf_counter() - start:.0f} s")
