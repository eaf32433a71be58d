"""The store and the desk without HTTP: durable ask and tell, beside optuna's on its journal, and opening a long one."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import numpy as np

from linkedbandits.service.desk import SNAPSHOT_EVERY, Desk
from linkedbandits.service.records import Setup
from linkedbandits.service.store import open_store

ARMS = 10
CLIENTS = 32
SECONDS = 4.0
PATIENCE = 60.0
"""Seconds that an answer of the desk may take."""
LONG = 10_000_000
ROWS = 2**21

SETUP = Setup(
    tuple(f"arm {number}" for number in range(ARMS)),
    {"name": "linked-elimination", "parameters": {"delta": 1e-150}},
    lease_seconds=3600.0,
)


class Coins:
    """Arms that tie at 0.2, so that the experiment goes on; drawn beforehand: how many fail before one succeeds."""

    def __init__(self) -> None:
        self._failures = (np.random.default_rng(1).geometric(0.2, ROWS) - 1).tolist()

    def answers(self, plays) -> list[tuple[int, object]]:
        failures = self._failures
        places = ((play, failures[play.id % ROWS]) for play in plays)
        return [(play.id, play.arms[place] if place < len(play.arms) else None) for play, place in places]


def in_parallel(clients: int, one_round: Callable[[], int]) -> float:
    """Pairs of ask and tell a second, all clients together."""
    start = perf_counter()

    def client(_: int) -> int:
        pairs = 0
        while perf_counter() - start < SECONDS:
            pairs += one_round()
        return pairs

    with ThreadPoolExecutor(clients) as pool:
        pairs = sum(pool.map(client, range(clients)))
    return pairs / (perf_counter() - start)


@contextmanager
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp())
    try:
        yield path
    finally:
        shutil.rmtree(path)


def desk_rate(clients: int, batch: int) -> float:
    coins = Coins()
    with folder() as path:
        store = open_store(str(path / "experiments.sqlite"))
        with Desk(store) as desk:
            setup = Setup(SETUP.arms, SETUP.policy, parallel=clients * batch, lease_seconds=SETUP.lease_seconds)
            experiment = desk.create(setup, "rate").result(PATIENCE).id

            def one_round() -> int:
                plays = desk.ask(experiment, batch).result(PATIENCE).plays
                return len(desk.tell(experiment, coins.answers(plays)).result(PATIENCE).receipts)

            rate = in_parallel(clients, one_round)
        store.close()
    return rate


def optuna_rate(clients: int) -> float:
    import optuna  # takes a second to import
    from optuna.storages.journal import JournalFileBackend, JournalStorage

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with folder() as path:
        storage = JournalStorage(JournalFileBackend(str(path / "journal.log")))
        sampler = optuna.samplers.RandomSampler(seed=1)  # the cheapest: what is measured is the storage
        study = optuna.create_study(storage=storage, sampler=sampler)

        def one_round() -> int:
            trial = study.ask()
            study.tell(trial, 0.5)
            return 1

        return in_parallel(clients, one_round)


def fsync_seconds() -> float:
    """What this disk takes to make a small write durable, for scale."""
    with folder() as path, (path / "probe").open("wb", buffering=0) as probe:
        start = perf_counter()
        for _ in range(50):
            probe.write(b"x" * 4096)
            os.fsync(probe.fileno())
        return (perf_counter() - start) / 50


def open_a_long_one() -> None:
    """Ten million plays in large batches, then as many one by one as there can be behind a snapshot; opened anew."""
    coins = Coins()
    with folder() as path:
        store = open_store(str(path / "experiments.sqlite"))
        start = perf_counter()
        with Desk(store, snapshot_every=200_000) as desk:
            setup = Setup(SETUP.arms, SETUP.policy, parallel=20_000, lease_seconds=SETUP.lease_seconds)
            experiment = desk.create(setup, "long").result(PATIENCE).id
            plays = 0
            while plays < LONG:
                asked = desk.ask(experiment, 10_000).result(PATIENCE).plays
                plays += len(desk.tell(experiment, coins.answers(asked)).result(PATIENCE).receipts)
        with Desk(store) as desk:
            tail = [desk.ask(experiment) for _ in range(SNAPSHOT_EVERY // 2 - 1)]
            told = [desk.tell(experiment, coins.answers(asked.result(PATIENCE).plays)) for asked in tail]
            plays += sum(len(answer.result(PATIENCE).receipts) for answer in told)
        built = perf_counter() - start
        store.close()
        size = sum(file.stat().st_size for file in path.iterdir())
        start = perf_counter()
        store = open_store(str(path / "experiments.sqlite"))
        with Desk(store) as desk:
            assert desk.read(experiment, lambda hosted: hosted.experiment.plays).result(PATIENCE) == plays
            opened = perf_counter() - start
            assert desk.ask(experiment).result(PATIENCE).plays
        store.close()
    print(
        f"  {plays:,} plays: written in {built:.0f} s, {size / 1e6:.0f} MB, opened in {opened:.2f} s (claim: below 2)"
    )


def main() -> None:
    print(f"durable ask + tell on SQLite, pairs a second; one fsync takes {1e3 * fsync_seconds():.2f} ms here")
    ours = {(clients, batch): desk_rate(clients, batch) for clients, batch in ((1, 1), (CLIENTS, 1), (CLIENTS, 100))}
    theirs = {clients: optuna_rate(clients) for clients in (1, CLIENTS)}
    print(f"  {'clients':>7} {'batch':>5} {'desk':>9} {'optuna':>8} {'ratio':>6}")
    for (clients, batch), rate in ours.items():
        beside = theirs[clients]
        print(f"  {clients:7} {batch:5} {rate:9,.0f} {beside:8,.0f} {rate / beside:6.1f}")
    print("  (claim: with 32 clients and batches of one, at least 5 times optuna's journal storage)")
    open_a_long_one()
