"""What a caller with a token, a viewer or a player, can do to all others: as much as it likes, and they hardly notice.

One service process on a SQLite file with an experiment of 1.4 million plays and one of 1,000 arms with long names.
While an attack goes on, another process asks for ``/healthz`` and plays an experiment of its own. Claims: 99 % of its
requests of either kind are answered within 250 ms, and all processes of the service together have less than 400 MB.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from benchmarks.service_store import PATIENCE, SETUP, Coins
from linkedbandits.intervals import RunningMean
from linkedbandits.option_estimates import FirstAttempts
from linkedbandits.service.desk import Desk
from linkedbandits.service.records import Setup
from linkedbandits.service.store import Store, open_store
from linkedbandits.service.tokens import make_token

PLAYS = 1_400_000
SECONDS = 15.0
"""How long each attack goes on."""
MOST_MILLISECONDS = 250.0
MOST_MEGABYTES = 400.0
LONG_NAMES = tuple(f"{number:03d} " + "x" * 190 for number in range(1_000))


@dataclass
class Target:
    """A running service, and what is in it."""

    url: str
    process: int
    long: str
    wide: str
    small: str
    tokens: dict[str, str]
    stop: threading.Event = field(default_factory=threading.Event)

    def request(self, method: str, path: str, who: str, body: object = None) -> tuple[int, int]:
        """Status and bytes of an answer, which is read and forgotten; (0, 0) if there was none."""
        headers = {"Authorization": f"Bearer {self.tokens[who]}", "Content-Type": "application/json"}
        with closing(http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=60)) as connection:
            try:
                connection.request(method, path, None if body is None else json.dumps(body), headers)
                answer = connection.getresponse()
                size = 0
                while not self.stop.is_set() and (piece := answer.read(1 << 20)):
                    size += len(piece)
            except (OSError, http.client.HTTPException):
                return 0, 0
            return answer.status, size


def first_attempts() -> FirstAttempts:
    kept = FirstAttempts(RunningMean(4.0), RunningMean(2.0))
    for number in range(20):
        kept.add(number % 2 == 0, 0.5, 1.0)
    return kept


def fill(store: Store) -> tuple[str, str, str]:
    """The long, the wide and the small experiment."""
    coins, plays = Coins(), 0
    with Desk(store, snapshot_every=200_000) as desk:
        setup = Setup(SETUP.arms, SETUP.policy, parallel=20_000, lease_seconds=36_000.0)
        long = desk.create(setup, "long").result(PATIENCE).id
        small = desk.create(setup, "small").result(PATIENCE).id
        wide = desk.create(Setup(LONG_NAMES, SETUP.policy, lease_seconds=1.0), "wide").result(PATIENCE).id
        while plays < PLAYS:
            asked = desk.ask(long, 1_000).result(PATIENCE).plays
            plays += len(desk.tell(long, coins.answers(asked)).result(PATIENCE).receipts)
        for source in range(5):
            firsts = [(label, first_attempts()) for label in LONG_NAMES]
            desk.keep_expenses(wide, f"web{source}", firsts).result(PATIENCE)
    return long, wide, small


@contextmanager
def target() -> Iterator[Target]:
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path, tokens = Path(folder) / "bench.sqlite3", {}
        with closing(open_store(str(path))) as store:
            start = time.perf_counter()
            long, wide, small = fill(store)
            print(f"  {PLAYS:,} plays written in {time.perf_counter() - start:.0f} s", flush=True)
            for who in ("other", "player", *(f"viewer {number}" for number in range(7))):
                tokens[who], record = make_token(who, "viewer" if who.startswith("viewer") else "player", time.time)
                with store.writing() as writing:
                    writing.add_token(record)
        command = [sys.executable, "-m", "linkedbandits", "serve", "--port", "0", "--store", str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            assert process.stdout is not None
            url = process.stdout.readline().split()[2].rstrip("/")
            try:
                yield Target(url, process.pid, long, wide, small, tokens)
            finally:
                process.send_signal(signal.SIGTERM)


def seven_exports(aim: Target, number: int, seen: Counter[str]) -> None:
    status, size = aim.request("GET", f"/v1/experiments/{aim.long}/journal?format=parquet", f"viewer {number}")
    seen[f"{status}"] += 1
    if status == 503:
        time.sleep(0.5)
    seen["MB"] += size // 1_000_000


def exports_that_nobody_reads(aim: Target, number: int, seen: Counter[str]) -> None:
    where = urlsplit(aim.url)
    with socket.create_connection((where.hostname, where.port), timeout=PATIENCE) as connection:
        said = f"GET /v1/experiments/{aim.long}/journal HTTP/1.1\r\nHost: {where.netloc}\r\n"
        connection.sendall(f"{said}Authorization: Bearer {aim.tokens[f'viewer {number}']}\r\n\r\n".encode())
        aim.stop.wait(5.0)
        seen["connections"] += 1


def eight_large_asks(aim: Target, number: int, seen: Counter[str]) -> None:
    form = "?tuples=true" if number % 2 else ""
    status, size = aim.request("POST", f"/v1/experiments/{aim.wide}/ask{form}", "player", {"count": 1_000})
    seen[f"{status}"] += 1
    seen["largest KB"] = max(seen["largest KB"], size // 1_000)


def expenses_in_a_loop(aim: Target, number: int, seen: Counter[str]) -> None:
    confidence = 0.5 + random.random() / 2.1
    path = f"/v1/experiments/{aim.wide}/expenses?confidence={confidence}"
    status, _ = aim.request("GET", path, f"viewer {number % 7}")
    seen[f"{status}"] += 1


def views_in_a_loop(aim: Target, number: int, seen: Counter[str]) -> None:
    path = ("view", "estimates")[number % 2]
    status, size = aim.request("GET", f"/v1/experiments/{aim.wide}/{path}", f"viewer {number % 7}")
    seen[f"{status}"] += 1
    seen["largest KB"] = max(seen["largest KB"], size // 1_000)


def nothing(aim: Target, number: int, seen: Counter[str]) -> None:
    aim.stop.wait(1.0)


ATTACKS: list[tuple[int, Callable[[Target, int, Counter[str]], None]]] = [
    (1, nothing),
    (7, seven_exports),
    (7, exports_that_nobody_reads),
    (8, eight_large_asks),
    (8, expenses_in_a_loop),
    (8, views_in_a_loop),
]


def megabytes_of(process: int) -> float:
    """Of a process and all that it has started, as Linux counts it."""
    total, waiting = 0.0, [process]
    while waiting:
        one = waiting.pop()
        with suppress(OSError, IndexError, ValueError):
            children = Path(f"/proc/{one}/task").glob("*/children")
            waiting += [int(child) for tasks in children for child in tasks.read_text().split()]
            lines = Path(f"/proc/{one}/status").read_text().splitlines()
            # One that has ended and is not waited for yet has none.
            total += sum(float(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1_000
    return total


def observe(aim: Target, results: multiprocessing.Queue, until: float) -> None:  # type: ignore[type-arg]
    """The milliseconds that another caller waits, and the most memory; in a process of its own."""
    netloc = urlsplit(aim.url).netloc
    headers = {"Authorization": f"Bearer {aim.tokens['other']}", "Content-Type": "application/json"}
    took: dict[str, list[float]] = {"healthz": [], "ask": []}
    most = 0.0
    with closing(http.client.HTTPConnection(netloc, timeout=60)) as connection:

        def timed(name: str, method: str, path: str, body: object = None) -> bytes:
            start = time.perf_counter()
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            content = connection.getresponse().read()
            if name in took:
                took[name].append(1_000 * (time.perf_counter() - start))
            return content

        while time.time() < until:
            timed("healthz", "GET", "/healthz")
            asked = json.loads(timed("ask", "POST", f"/v1/experiments/{aim.small}/ask", {}))
            answers = [{"play": play["id"], "hit": None} for play in asked["plays"]]
            timed("tell", "POST", f"/v1/experiments/{aim.small}/tell", {"answers": answers})
            most = max(most, megabytes_of(aim.process))
            time.sleep(0.02)
    results.put((took, most))


def under(aim: Target, callers: int, attack: Callable[[Target, int, Counter[str]], None]) -> bool:
    seen: Counter[str] = Counter()
    aim.stop = threading.Event()

    def again_and_again(number: int) -> None:
        while not aim.stop.is_set():
            attack(aim, number, seen)

    plain = Target(aim.url, aim.process, aim.long, aim.wide, aim.small, aim.tokens, None)  # type: ignore[arg-type]
    results: multiprocessing.Queue = multiprocessing.Queue()  # type: ignore[type-arg]
    observer = multiprocessing.Process(target=observe, args=(plain, results, time.time() + SECONDS))
    observer.start()
    threads = [threading.Thread(target=again_and_again, args=(number,)) for number in range(callers)]
    for thread in threads:
        thread.start()
    took, most = results.get(timeout=SECONDS + 120)
    aim.stop.set()
    observer.join(60)
    for thread in threads:
        thread.join(60)
    p99 = {name: float(np.quantile(values, 0.99)) for name, values in took.items()}
    held = all(value < MOST_MILLISECONDS for value in p99.values()) and most < MOST_MEGABYTES
    print(
        f"  {attack.__name__.replace('_', ' '):26} healthz p99 {p99['healthz']:6.1f} ms, ask p99 {p99['ask']:6.1f} ms "
        f"({len(took['ask'])} asks), {most:4.0f} MB  {'' if held else 'TOO MUCH'}  {dict(seen)}",
        flush=True,
    )
    return held


def main() -> None:
    print(f"attacks by callers with a token (claims: p99 below {MOST_MILLISECONDS:.0f} ms, {MOST_MEGABYTES:.0f} MB)")
    with target() as aim:
        held = [under(aim, callers, attack) for callers, attack in ATTACKS]
    if not all(held):
        sys.exit("a claim does not hold")
