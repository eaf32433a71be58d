"""Restarts of a real service: how soon it hands out plays, what it replays, and what callers see when it stops."""

from __future__ import annotations

import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from time import perf_counter

import httpx

import linkedbandits as lb
from linkedbandits.model import Label
from linkedbandits.service.client import Client
from linkedbandits.service.desk import Desk
from linkedbandits.service.records import Setup
from linkedbandits.service.store import open_store
from tools.claims import Claims, Row, mark_over
from tools.ports import free_port

ARMS = tuple(f"arm {number}" for number in range(10))
PLAYS = 209_900
"""In entries of one play: twenty snapshots, and behind the last nearly as many entries as there can be."""
AT_ONCE = 500
PATIENCE = 120.0
"""Seconds that anything here may take."""
HELD_SECONDS = 5.0
"""For how long another process holds the store while the service is told to stop: longer than requests may take."""
MOST_REPLAYED = 20_000
"""Entries of one play between two snapshots."""
REPLAYED = "linkedbandits_entries_replayed_total"


class ServiceProcess:
    """``linkedbandits serve`` on a file, again and again on the same port."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._port = free_port()
        self._process: subprocess.Popen[str] | None = None
        self.url = f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Until it listens."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "linkedbandits", "serve", "--store", str(self._store), "--port", str(self._port)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline().startswith("Live page: ")

    def end(self, number: int) -> None:
        """Until it has ended by this signal."""
        assert self._process is not None
        assert self._process.stdout is not None
        self._process.send_signal(number)
        self._process.wait(PATIENCE)
        self._process.stdout.close()


def build(path: Path) -> tuple[str, str]:
    """A store whose process was killed: an experiment of many plays, each asked and told by itself, and a small one."""
    lively, chance = path.with_name("lively.sqlite"), random.Random(1)

    def hit_in(play: lb.Play) -> Label | None:
        """Options tie at 0.2, so that there is no verdict."""
        return next((arm for arm in play.arms if chance.random() < 0.2), None)

    with closing(open_store(str(lively))) as store, Desk(store) as desk:
        setup = Setup(ARMS, {"name": "linked-elimination", "parameters": {"delta": 1e-150}}, lease_seconds=3600.0)
        large, small = (desk.create(setup, name).result(PATIENCE).id for name in ("large", "small"))
        for begin in range(0, PLAYS, AT_ONCE):
            asked = [desk.ask(large) for _ in range(min(AT_ONCE, PLAYS - begin))]
            plays = [play for answer in asked for play in answer.result(PATIENCE).plays]
            told = [desk.tell(large, [(play.id, hit_in(play))]) for play in plays]
            for answer in told:
                answer.result(PATIENCE)
        for end in ("", "-wal"):  # now, before the desk stops and writes a snapshot of all
            shutil.copy(f"{lively}{end}", f"{path}{end}")
    return large, small


def figure(url: str, name: str) -> int:
    lines = httpx.get(f"{url}/metrics", timeout=PATIENCE).text.splitlines()
    return int(float(next(line.split()[1] for line in lines if line.startswith(f"{name} "))))


def restart(service: ServiceProcess, large: str, small: str) -> tuple[float, float, int]:
    """Seconds to the first play of the large one and the longest of the small one meanwhile; entries replayed."""
    service.start()
    up = perf_counter()
    longest, over = 0.0, threading.Event()

    def ask_the_small_one() -> None:
        nonlocal longest
        with httpx.Client(base_url=service.url, timeout=PATIENCE) as http:
            while not over.is_set():
                start = perf_counter()
                http.post(f"/v1/experiments/{small}/ask", json={"count": 1}).raise_for_status()
                longest = max(longest, perf_counter() - start)

    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(ask_the_small_one)
        answer = httpx.post(f"{service.url}/v1/experiments/{large}/ask", json={"count": 1}, timeout=PATIENCE)
        answer.raise_for_status()
        first = perf_counter() - up
        over.set()
        asking.result(PATIENCE)
    return first, longest, figure(service.url, REPLAYED)


@contextmanager
def held(path: Path, seconds: float) -> Iterator[None]:
    """Another process that writes to the store, for so long."""
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        let_go = threading.Timer(seconds, lambda: other.execute("ROLLBACK"))
        let_go.start()
        try:
            yield
        finally:
            let_go.join(PATIENCE)


def stop_under_load(service: ServiceProcess, path: Path) -> tuple[Counter[str], int, int]:
    """What raw requests under way at SIGTERM end with; calls of the library's client, and those that failed."""
    with httpx.Client(timeout=PATIENCE) as http:
        made = http.post(f"{service.url}/v1/experiments", json={"name": "busy", "arms": list(ARMS)})
    experiment, seen, failed, calls = made.json()["id"], Counter[str](), 0, 0
    over = threading.Event()

    def raw() -> None:
        try:
            answer = httpx.post(f"{service.url}/v1/experiments/{experiment}/ask", json={"count": 1}, timeout=PATIENCE)
            wait = " with Retry-After" if "Retry-After" in answer.headers else ""
            seen[f"{answer.status_code}{wait}"] += 1
        except httpx.HTTPError:
            seen["cut"] += 1

    def play() -> None:
        nonlocal failed, calls
        with Client(service.url) as client:
            remote = client.experiment(experiment)
            while not over.is_set():
                try:
                    play = remote.ask()
                    remote.tell(play.id, None)
                except lb.LinkedBanditError:
                    failed += 1
                calls += 2

    with ThreadPoolExecutor(24) as pool:
        playing = [pool.submit(play) for _ in range(8)]
        time.sleep(1.0)
        with held(path, HELD_SECONDS):
            waiting = [pool.submit(raw) for _ in range(16)]
            time.sleep(0.5)  # they are under way
            service.end(signal.SIGTERM)
        for one in waiting:
            one.result(PATIENCE)
        service.start()
        time.sleep(2.0)
        over.set()
        for one in playing:
            one.result(PATIENCE)
    return seen, calls, failed


def restarts(claims: Claims) -> Iterator[Row]:
    """With an experiment of many plays: how soon it and another one can be asked, and what is replayed for it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "killed.sqlite"
        large, small = build(path)
        service = ServiceProcess(path)
        for how, number in (("kill -9", signal.SIGKILL), ("SIGTERM", signal.SIGTERM)):
            if how == "SIGTERM":
                service.end(number)
            first, longest, replayed = restart(service, large, small)
            claims.check(replayed <= MOST_REPLAYED, f"after {how} entries behind the last snapshot alone are replayed")
            late = mark_over(first, 1.0)
            yield f"{PLAYS:,} plays, {how}: first ask", "9 to 14 s, or a 503", f"{first:.2f} s{late}"
            yield f"{how}: asks of another experiment meanwhile", "9 to 14 s", f"{longest:.3f} s at most"
            yield f"{how}: entries replayed", "the whole journal", f"{replayed:,}"
        seen, calls, failed = stop_under_load(service, path)
        service.end(signal.SIGTERM)
    claims.check(set(seen) <= {"503 with Retry-After", "200"}, "requests cut off by a shutdown are told to come again")
    claims.check(failed == 0, "the client asks again")
    ends = ", ".join(f"{what}: {times}" for what, times in sorted(seen.items()))
    yield "requests under way at SIGTERM, store held", "a bare 500", ends
    yield "calls of the client that fail over that restart", "those with a 500", f"{failed} of {calls:,}"


MEASURES = (restarts,)
