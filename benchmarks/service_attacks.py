"""What strangers can do to a service that wants tokens, while somebody else asks it for ``/healthz``.

    make bench SECTION=service-attacks ONLY="endless header"

The service is a process of its own that may open 1,024 files. Each attack is another one, with a new service; it goes
on for some seconds, and all that time this one asks for ``/healthz``, ten times a second on a new connection and ten
times on one that stays open. Claims, for each attack: every such request is answered, 99 % of them within 250 ms, and
the service never holds 400 MB. The attacker has a lower priority than the service: from elsewhere he could not use its
processor either. What else a machine does can only make it slower, so an attack after which the claim on time does not
hold is tried up to three times.

An attack is a coroutine function in ``ATTACKS`` that is given a ``Target`` and goes on until it is cancelled.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import httpx
import numpy as np

from tools.claims import Claims
from tools.waiting import killed_in_the_end

FILES = 1_024
SECONDS = 12.0
EVERY = 0.1
PATIENCE = 20.0
MOST_TRIES = 3
MOST_MILLISECONDS = 250.0
MOST_MEGABYTES = 400.0


@dataclass(frozen=True)
class Target:
    """A service under attack."""

    host: str
    port: int
    token: str
    experiment: str

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(self.host, self.port, limit=2**16)

    def head(self, method: str, path: str, *headers: str, token: bool = False) -> bytes:
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.host}:{self.port}", *headers]
        if token:
            lines.append(f"Authorization: Bearer {self.token}")
        return "\r\n".join([*lines, "", ""]).encode()


Attack = Callable[[Target], Awaitable[None]]


async def many(number: int, one: Attack, target: Target) -> None:
    """The same on many connections at once; who is thrown out comes again."""

    async def again_and_again() -> None:
        while True:
            with suppress(OSError, asyncio.IncompleteReadError):
                await one(target)
            await asyncio.sleep(0.05)

    await asyncio.gather(*(again_and_again() for _ in range(number)))


async def pour(target: Target, beginning: bytes, piece: bytes) -> None:
    """Send a beginning, and then the same piece for ever, as fast as it is taken."""
    _, writer = await target.connect()
    try:
        writer.write(beginning)
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
    finally:
        writer.close()


async def hold(target: Target, *pieces: bytes) -> None:
    """Send something, and keep the connection until the other side closes it; what it says is read."""
    reader, writer = await target.connect()
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        while await reader.read(2**16):
            pass
    finally:
        writer.close()


async def endless_header(target: Target) -> None:
    beginning = target.head("GET", "/healthz")[:-2] + b"X-Long: "
    await many(4, lambda there: pour(there, beginning, b"a" * 65_536), target)


async def endless_headers(target: Target) -> None:
    beginning = target.head("GET", "/healthz")[:-2]
    await many(4, lambda there: pour(there, beginning, b"X-Many: a\r\n" * 4_000), target)


async def endless_trailers(target: Target) -> None:
    """Headers behind the last chunk of a body: many short ones, and one without an end."""
    beginning = target.head("POST", "/v1/experiments", "Transfer-Encoding: chunked") + b"0\r\n"
    await asyncio.gather(
        many(2, lambda there: pour(there, beginning, b"a: b\r\n" * 10_000), target),
        many(2, lambda there: pour(there, beginning + b"X-Long: ", b"a" * 65_536), target),
    )


async def endless_address(target: Target) -> None:
    await many(4, lambda there: pour(there, b"GET /", b"a" * 65_536), target)


async def one_byte_sockets(target: Target) -> None:
    await many(1_100, lambda there: hold(there, b"G"), target)


async def silent_sockets(target: Target) -> None:
    await many(1_100, hold, target)


async def idle_sockets(target: Target) -> None:
    """Each has had an answer, and stays."""
    await many(1_100, lambda there: hold(there, there.head("GET", "/healthz")), target)


async def slow_bodies(target: Target) -> None:
    """A byte a second of bodies that are announced as large as they may be."""

    async def slowly(there: Target) -> None:
        _, writer = await there.connect()
        try:
            writer.write(there.head("POST", "/v1/experiments", *large_json(1_000_000)))
            while True:
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(1.0)
        finally:
            writer.close()

    await many(1_000, slowly, target)


async def large_bodies(target: Target) -> None:
    """Bodies of a megabyte without a token, of which the last byte never comes."""
    head = target.head("POST", "/v1/experiments", *large_json(1_000_000))
    await many(400, lambda there: hold(there, head, b" " * 999_999), target)


async def large_whole_bodies(target: Target) -> None:
    """Bodies of a megabyte of JSON without a token, all of it."""
    body = json.dumps([[]] * 249_000).encode()
    head = target.head("POST", "/v1/experiments", *large_json(len(body)), "Connection: close")
    await many(20, lambda there: hold(there, head + body), target)


async def requests_ahead(target: Target) -> None:
    """Thousands of requests before the first answer."""
    await many(20, lambda there: pour(there, b"", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2_000), target)


async def unread_answers(target: Target) -> None:
    """The largest answer that strangers get, asked for and never read."""

    async def ask_only(there: Target) -> None:
        _, writer = await there.connect()
        try:
            writer.transport.pause_reading()
            for _ in range(60):
                writer.write(there.head("GET", "/openapi.json"))
                await asyncio.sleep(0.2)
            await asyncio.sleep(SECONDS)
        finally:
            writer.transport.abort()

    await many(900, ask_only, target)


def large_json(size: int) -> list[str]:
    return ["Content-Type: application/json", f"Content-Length: {size}"]


ATTACKS: dict[str, Attack] = {
    "endless header": endless_header,
    "endless headers": endless_headers,
    "endless trailers": endless_trailers,
    "endless address": endless_address,
    "1,100 sockets with one byte": one_byte_sockets,
    "1,100 silent sockets": silent_sockets,
    "1,100 idle sockets": idle_sockets,
    "1,000 slow bodies": slow_bodies,
    "400 unfinished bodies of 1 MB": large_bodies,
    "20 times 1 MB of JSON": large_whole_bodies,
    "thousands of requests ahead": requests_ahead,
    "900 unread answers": unread_answers,
}


@dataclass(frozen=True)
class Felt:
    """What somebody else felt of an attack."""

    seconds: np.ndarray
    failed: int
    peak_megabytes: float
    processor: float

    @property
    def p99(self) -> float:
        return 1000 * float(np.quantile(self.seconds, 0.99))


def main() -> None:
    claims = Claims()
    only = os.environ.get("ONLY", "")
    print(f"/healthz of others under attack, the service with {FILES} files, {SECONDS:g} s each")
    print(f"  {'attack':32} {'median':>8} {'p99':>8} {'most':>8}   {'failed':>6} {'memory':>8} {'processor':>10}")
    for name in (None, *ATTACKS):
        if only and name not in {None, only}:
            continue
        felt = under(name)
        tries = 1
        while name is not None and felt.p99 >= MOST_MILLISECONDS and felt.failed == 0 and tries < MOST_TRIES:
            felt, tries = under(name), tries + 1
        print(
            f"  {name or '(none)':32} {1000 * np.median(felt.seconds):5.1f} ms {felt.p99:5.0f} ms "
            f"{1000 * felt.seconds.max():5.0f} ms   {felt.failed:>6} {felt.peak_megabytes:5.0f} MB "
            f"{felt.processor:9.0%}" + (f"   (try {tries})" if tries > 1 else ""),
            flush=True,
        )
        if name is not None:
            claims.check(felt.failed == 0, f"{name}: {felt.failed} requests of others were not answered")
            claims.check(felt.p99 < MOST_MILLISECONDS, f"{name}: p99 of others {felt.p99:.0f} ms")
            claims.check(felt.peak_megabytes < MOST_MEGABYTES, f"{name}: {felt.peak_megabytes:.0f} MB")
    claims.report()


def under(name: str | None) -> Felt:
    """A service of its own for each attack, which may be none."""
    with tempfile.TemporaryDirectory() as folder, running_service(Path(folder)) as (target, process):
        begun = processor_seconds(process)
        if name is None:
            seconds, failed = asyncio.run(felt_by_others(target))
        else:
            with attacking(name, target):
                time.sleep(1.0)
                seconds, failed = asyncio.run(felt_by_others(target))
        used = processor_seconds(process) - begun
        return Felt(np.array(seconds), failed, peak_megabytes(process), used / SECONDS)


@contextmanager
def running_service(folder: Path) -> Iterator[tuple[Target, int]]:
    """A service that wants tokens, on a new file, with an experiment and an admin's token."""
    store = str(folder / "attacked.sqlite3")
    library = [sys.executable, "-m", "linkedbandits"]
    made = subprocess.run(
        [*library, "token", "create", "--store", store, "--role", "admin", "--name", "boss"],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    token = next(word for word in made.stdout.split() if word.startswith("lb_"))
    serve = ["sh", "-c", f'ulimit -n {FILES}; exec "$@"', "sh", *library, "serve", "--port", "0", "--store", store]
    with (
        subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process,
        killed_in_the_end(process),
    ):
        assert process.stdout is not None
        url = process.stdout.readline().split()[2].rstrip("/")
        created = httpx.post(
            f"{url}/v1/experiments",
            json={"name": "attacked", "arms": ["north", "east", "south"]},
            headers={"Authorization": f"Bearer {token}"},
            timeout=PATIENCE,
        ).json()
        parts = urlsplit(url)
        yield Target(str(parts.hostname), int(parts.port or 0), token, created["id"]), process.pid


@contextmanager
def attacking(name: str, target: Target) -> Iterator[None]:
    """A process that attacks, with as many files as the system lets it have."""
    told = json.dumps([name, target.host, target.port, target.token, target.experiment])
    with (
        subprocess.Popen([sys.executable, "-m", "benchmarks.service_attacks", told]) as process,
        killed_in_the_end(process),
    ):
        yield


def attack() -> None:
    """What that process does."""
    from resource import RLIMIT_NOFILE, getrlimit, setrlimit

    os.nice(10)
    most = getrlimit(RLIMIT_NOFILE)[1]
    setrlimit(RLIMIT_NOFILE, (most, most))
    name, *rest = json.loads(sys.argv[1])
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # that the service hangs up is no news here
    with suppress(TimeoutError):
        asyncio.run(asyncio.wait_for(ATTACKS[name](Target(*rest)), 4 * SECONDS))


async def felt_by_others(target: Target) -> tuple[list[float], int]:
    """How long ``/healthz`` takes, on connections of both kinds, and how often there was no answer at all."""
    seconds: list[float] = []
    failed = 0

    async def ask(kind: Literal["new", "kept"], number: int, client: httpx.AsyncClient) -> None:
        nonlocal failed
        await asyncio.sleep(number * EVERY + (EVERY / 2 if kind == "kept" else 0.0))
        begun = time.perf_counter()
        try:
            answer = await client.get("/healthz", headers={"Connection": "close"} if kind == "new" else {})
        except httpx.HTTPError:
            failed += 1
        else:
            failed += answer.status_code != 200
        seconds.append(time.perf_counter() - begun)

    url = f"http://{target.host}:{target.port}"
    signed = {"Authorization": f"Bearer {target.token}"}
    async with (
        httpx.AsyncClient(base_url=url, timeout=PATIENCE) as new,
        httpx.AsyncClient(base_url=url, timeout=PATIENCE, headers=signed) as kept,
    ):
        await kept.get("/v1/me")
        numbers = range(round(SECONDS / EVERY))
        await asyncio.gather(*(ask("new", number, new) for number in numbers), *(ask("kept", n, kept) for n in numbers))
    return seconds, failed


def peak_megabytes(process: int) -> float:
    """The most memory that a process has ever held."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


def processor_seconds(process: int) -> float:
    """What a process has used so far, in all its threads."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    attack()
