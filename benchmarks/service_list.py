"""A store of 10,000 experiments: how long the list takes, and what it costs to watch it.

``python -m benchmarks service-list`` fills a SQLite store, starts a service on it, and watches pages of the list while
some of what they show is played.
"""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import perf_counter, sleep

import httpx

from benchmarks.service_http import running_service
from linkedbandits.service.client import Client
from linkedbandits.service.desk import Desk
from linkedbandits.service.records import Setup
from linkedbandits.service.store import open_store

EXPERIMENTS = 10_000
PLAYED = 20
"""Experiments of the first page that are played, a play a second each."""
VIEWERS = 20
SECONDS = 10.0
PATIENCE = 120.0
SETUP = Setup(
    tuple(f"gateway {number}" for number in range(10)), {"name": "linked-elimination", "parameters": {"delta": 1e-6}}
)


def fill(path: Path) -> list[str]:
    """Experiments with twenty plays each; their identifiers, oldest first. One is played, the others are copies."""
    store = open_store(str(path))
    with Desk(store) as desk:
        first = desk.create(SETUP, "experiment 0", tags=["team 0"]).result(PATIENCE).id
        plays = desk.ask(first, 20).result(PATIENCE).plays
        sleep(1.1)  # then there is a point of history
        desk.tell(first, [(play.id, play.arms[0] if play.id % 3 == 0 else None) for play in plays]).result(PATIENCE)
    store.close()
    names = [first, *(f"{number:016x}" for number in range(1, EXPERIMENTS))]
    with closing(sqlite3.connect(path)) as tables, tables:
        for table in ("experiments", "journal", "tuples", "snapshots", "answers", "history", "listing", "curves"):
            columns = [row[1] for row in tables.execute(f"PRAGMA table_info({table})")]
            own = {"id": "?1", "experiment": "?1", "name": "'experiment ' || ?2", "created_at": "created_at + ?2"}
            own |= {"tags": "'[\"team ' || (?2 % 7) || '\"]'"}
            copied = ", ".join(own.get(column, column) for column in columns)
            which = "id" if table == "experiments" else "experiment"
            copy = f"INSERT INTO {table} SELECT {copied} FROM {table} WHERE {which} = ?3"
            tables.executemany(copy, [(name, number, first) for number, name in enumerate(names) if number])
    return names


def service_process(store: Path) -> int:
    """The process that has the store on its command line."""
    for found in Path("/proc").iterdir():
        if found.name.isdigit() and int(found.name) != os.getpid():
            try:
                words = (found / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"serve" in words and any(str(store.parent).encode() in word for word in words):
                return int(found.name)
    raise LookupError("no process of the service was found")


def processor_seconds(process: int) -> float:
    parts = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


def events(url: str, search: str = "") -> Iterator[tuple[int, dict]]:
    """The events of a page of the list, each with its bytes."""
    with httpx.stream("GET", f"{url}/v1/events", params={"search": search}, timeout=PATIENCE) as response:
        for line in response.iter_lines():
            if line.startswith("data: "):
                yield len(line), json.loads(line.removeprefix("data: "))


class Watching(threading.Thread):
    """A viewer, who counts what comes."""

    def __init__(self, url: str, search: str = "") -> None:
        super().__init__(daemon=True)
        self.bytes = self.events = 0
        self._of = (url, search)

    def run(self) -> None:
        for size, _ in events(*self._of):
            self.bytes += size
            self.events += 1


def watch(url: str, process: int, watching: list[Watching], what: str) -> None:
    for viewer in watching:
        viewer.start()
    sleep(3.0)
    before, start = processor_seconds(process), perf_counter()
    bytes_before = sum(viewer.bytes for viewer in watching)
    sleep(SECONDS)
    took = perf_counter() - start
    share = (processor_seconds(process) - before) / took
    sent = (sum(viewer.bytes for viewer in watching) - bytes_before) / took / len(watching)
    print(f"{what}: {sent / 1000:.1f} kB a second to each, {share:.1%} of a core")


def play(url: str, names: list[str], enough: threading.Event) -> None:
    """A play a second of each."""
    with Client(url) as client:
        while not enough.is_set():
            for name in names:
                exp = client.experiment(name)
                exp.tell(exp.ask().id, None)
                enough.wait(1.0 / len(names))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "bench.sqlite3"
        start = perf_counter()
        names = fill(store)
        print(f"{EXPERIMENTS:,} experiments of {len(SETUP.arms)} arms, made in {perf_counter() - start:.0f} s")
        with running_service(Path(folder)) as url:
            process = service_process(store)
            start = perf_counter()
            stream = events(url)
            size, page = next(stream)
            print(f"first page of {page['pages']}: {perf_counter() - start:.2f} s, {size / 1000:.1f} kB")
            while any(row["leading"] is None for row in page["experiments"]) and len(page["experiments"]) > 0:
                _, page = next(stream)
            print(f"with everything in it: {perf_counter() - start:.2f} s")
            stream.close()
            for path in ("?page=1", "?page=200&sort=name", "?page=1&search=9999", ""):
                start = perf_counter()
                answer = httpx.get(f"{url}/v1/experiments{path}", timeout=PATIENCE)
                found = answer.json()
                seconds = perf_counter() - start
                print(f"GET /v1/experiments{path}: {seconds:.2f} s, {len(answer.content) / 1000:,.0f} kB,", end=" ")
                print(f"{len(found['experiments']):,} of {found.get('matching', 0):,}")
            watch(url, process, [Watching(url)], "one viewer, nothing played")
            enough = threading.Event()
            player = threading.Thread(target=play, args=(url, names[-PLAYED:], enough))
            player.start()
            try:
                watch(url, process, [Watching(url)], f"two viewers of a page, {PLAYED} plays a second on it")
                many = [Watching(url, f"experiment {number}") for number in range(VIEWERS)]
                watch(url, process, many, f"{VIEWERS} more, each with a search of their own")
            finally:
                enough.set()
                player.join(PATIENCE)
