"""Kill a desk at work 200 times on each store; nothing that it acknowledged may be gone, nor be there twice."""

from __future__ import annotations

import tempfile
from time import perf_counter

from tools.kill_rounds import rounds_of_kills
from tools.postgres_server import running_postgres

ROUNDS = 200


def report(name: str, url: str) -> None:
    start, answers = perf_counter(), 0
    for number, answers in enumerate(rounds_of_kills(url, ROUNDS, seed=2), start=1):
        if number % 50 == 0:
            print(f"  {name:10} {number:4} kills, {answers:8,} answers on record, none lost", flush=True)
    print(f"  {name:10} took {perf_counter() - start:.0f} s")


def main() -> None:
    print(f"{ROUNDS} rounds of kill -9 at random moments under load; every answer acknowledged is there, once, and the")
    print("state and next decision are those of an uninterrupted run over the same journal")
    with tempfile.TemporaryDirectory() as folder:
        report("sqlite", f"sqlite:///{folder}/experiments.sqlite")
    with running_postgres(durable=True) as server:
        if server is None:
            print("  postgresql is not installed here")
        else:
            report("postgresql", server.new_database("nothing_lost"))
