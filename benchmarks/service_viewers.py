"""500 viewers of an experiment with 1,000 arms that is being played: what they see, and what others feel of it.

The service is a process of its own, the viewers are raw event streams in this one, which count events and throw them
away. All that time the experiment is played, so that there is something new every second, and ``/healthz`` is asked
for. Claims: every viewer has an event a second, 99 % of the requests of others are answered within 250 ms, and the
service stays below 400 MB.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import numpy as np

import linkedbandits as lb
from benchmarks.service_attacks import MOST_MEGABYTES, MOST_MILLISECONDS, peak_megabytes, processor_seconds
from benchmarks.service_http import served
from linkedbandits.service.async_client import AsyncClient, AsyncRemoteExperiment
from tools.claims import Claims

VIEWERS = 500
ARMS = [f"arm {number}" for number in range(1_000)]
SECONDS = 30.0
PLAYS_A_SECOND = 20
LEAST_EVENTS_A_SECOND = 0.9
"""Of the viewer who has fewest: an event that comes at the end of a second may be counted in the next."""


class Viewer:
    """An event stream."""

    def __init__(self) -> None:
        self.events = 0
        self.bytes = 0

    async def watch(self, url: str, experiment: str) -> None:
        """Until it is cancelled."""
        parts = urlsplit(url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=2**22)
        writer.write(f"GET /v1/experiments/{experiment}/events HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode())
        try:
            while piece := await reader.read(2**18):
                self.events += piece.count(b"event: ")
                self.bytes += len(piece)
        finally:
            writer.close()


async def play(remote: AsyncRemoteExperiment) -> None:
    """Some plays a second, of which the first arms succeed now and then."""
    number = 0
    while True:
        plays = await remote.ask_many(PLAYS_A_SECOND // 2)
        answers = []
        for one in plays:
            number += 1
            answers.append((one.id, one.arms[number % 7] if number % 3 == 0 else None))
        await remote.tell_many(answers)
        await asyncio.sleep(0.5)


async def healthz(url: str) -> list[float]:
    """Milliseconds of requests of somebody else."""
    took = []
    async with httpx.AsyncClient(base_url=url, timeout=60.0) as other:
        end = time.perf_counter() + SECONDS
        while (begun := time.perf_counter()) < end:
            (await other.get("/healthz")).raise_for_status()
            took.append(1_000 * (time.perf_counter() - begun))
            await asyncio.sleep(0.05)
    return took


async def measure(url: str, process: int, claims: Claims) -> None:
    async with AsyncClient(url) as client:
        made = await client.create("watched", ARMS, lb.LinkedElimination(delta=0.01), parallel=1_000)
        viewers = [Viewer() for _ in range(VIEWERS)]
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(viewer.watch(url, made.id)) for viewer in viewers]
            running.append(tasks.create_task(play(made)))
            await asyncio.sleep(5.0)  # until all are there
            before, used = [viewer.events for viewer in viewers], processor_seconds(process)
            sent, begun = sum(viewer.bytes for viewer in viewers), time.perf_counter()
            took = await healthz(url)
            seconds = time.perf_counter() - begun
            events = [(viewer.events - early) / seconds for viewer, early in zip(viewers, before, strict=True)]
            kilobytes = (sum(viewer.bytes for viewer in viewers) - sent) / seconds / VIEWERS / 1_000
            used = (processor_seconds(process) - used) / seconds
            for task in running:
                task.cancel()
    p99, memory = float(np.quantile(took, 0.99)), peak_megabytes(process)
    print(
        f"  events a second: least {min(events):.2f}, median {np.median(events):.2f}; {kilobytes:.0f} kB each\n"
        f"  /healthz median {np.median(took):.1f} ms, p99 {p99:.0f} ms; {memory:.0f} MB, {used:.0%} of a processor"
    )
    claims.check(min(events) >= LEAST_EVENTS_A_SECOND, f"a viewer had {min(events):.2f} events a second")
    claims.check(p99 < MOST_MILLISECONDS, f"p99 of others {p99:.0f} ms")
    claims.check(memory < MOST_MEGABYTES, f"{memory:.0f} MB")


def main() -> None:
    claims = Claims()
    print(f"{VIEWERS} event streams of an experiment of {len(ARMS):,} arms, {SECONDS:g} s")
    with tempfile.TemporaryDirectory(dir=".") as folder, served(Path(folder)) as (url, process):
        asyncio.run(measure(url, process, claims))
    claims.report()
