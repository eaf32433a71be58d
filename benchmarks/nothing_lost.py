"""Kill a desk or a server at work 200 times on each store; nothing acknowledged may be gone, nor be there twice."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from time import perf_counter

from tools.kill_rounds import rounds_of_kills
from tools.postgres_server import running_postgres
from tools.server_kills import rounds_of_trouble

ROUNDS = 200
CLIENTS = 32
ROUNDS_EACH = 10
"""Kills of a server while one experiment goes on; what was acknowledged is then looked at."""


def main() -> None:
    print(f"{ROUNDS} rounds of kill -9 at random moments under load; every answer acknowledged is there, once, and the")
    print("state and next decision are those of an uninterrupted run over the same journal")
    on_each_store(lambda url: rounds_of_kills(url, ROUNDS, seed=2), looked_at_every=1, told_every=50)


def over_http() -> None:
    print(f"{ROUNDS} times kill -9 of the HTTP server at random moments under {CLIENTS} clients; every answer")
    print("acknowledged is there, once, and the state and next decision are those of an experiment in this process")

    def rounds(url: str) -> Iterator[int]:
        return rounds_of_trouble(
            url, ROUNDS, 2, troubles=["kill"], rounds_each=ROUNDS_EACH, server_count=1, client_count=CLIENTS
        )

    on_each_store(rounds, looked_at_every=ROUNDS_EACH, told_every=50)


def on_each_store(rounds: Callable[[str], Iterator[int]], looked_at_every: int, told_every: int) -> None:
    """Report rounds, of which some are looked at at once: how many answers were found."""

    def report(name: str, url: str) -> None:
        start = perf_counter()
        for number, answers in enumerate(rounds(url), start=1):
            kills = number * looked_at_every
            if kills % told_every == 0:
                print(f"  {name:10} {kills:4} kills, {answers:8,} answers on record, none lost", flush=True)
        print(f"  {name:10} took {perf_counter() - start:.0f} s")

    with tempfile.TemporaryDirectory() as folder:
        report("sqlite", f"sqlite:///{folder}/experiments.sqlite")
    with running_postgres(durable=True) as server:
        if server is None:
            print("  postgresql is not installed here")
        else:
            report("postgresql", server.new_database("nothing_lost"))
