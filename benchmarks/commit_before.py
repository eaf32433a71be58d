"""Is this tree as fast as an earlier commit? Simulation, ask and tell, and the service, both trees in one run.

    make bench SECTION=commit-before REV=HEAD~3

Each round measures both trees, one right after the other, each in a process of its own that imports nothing of the
other. What is compared are times of the processor, which other work on the machine hardly changes; for the service it
is those of the server's process. The figure is the median over the rounds of the ratio within a round.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median

import numpy as np

import linkedbandits as lb
from benchmarks.service_http import ARMS, HARDLY_EVER, Connection, Player
from linkedbandits.service.client import Client

ROUNDS = 5
ALLOWED = 1.05
ROOT = Path(__file__).parents[1]
SECONDS_OF_MEASURING = 300.0


def main() -> None:
    """Print a table of ratios."""
    revision = os.environ.get("REV", "HEAD~1")
    with tempfile.TemporaryDirectory() as folder:
        before = Path(folder)
        packed = ["git", "archive", revision, "src"]
        archive = subprocess.run(packed, cwd=ROOT, check=True, capture_output=True, timeout=60)
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True, timeout=60)
        print(f"time of the processor, this tree over {revision} (allowed: {ALLOWED})")
        ratios: dict[str, list[float]] = {}
        for number in range(ROUNDS):
            sides = [("before", before / "src"), ("now", ROOT / "src")]
            # The second may find the machine warmer or busier: they take turns.
            found = {name: measured(source) for name, source in (sides if number % 2 else reversed(sides))}
            for what, seconds in found["now"].items():
                ratios.setdefault(what, []).append(seconds / found["before"][what])
            these = ", ".join(f"{values[-1]:.2f}" for values in ratios.values())
            print(f"  round {number + 1} of {ROUNDS}: {these}", flush=True)
    for what, values in ratios.items():
        note = "" if median(values) <= ALLOWED else "   more than allowed"
        print(f"  {what:44} {median(values):5.2f}   ({min(values):.2f} to {max(values):.2f}){note}")


def measured(source: Path) -> dict[str, float]:
    """What a process that imports the library from this folder measures."""
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.commit_before", str(source)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        timeout=SECONDS_OF_MEASURING,
        check=True,
    )
    return dict(json.loads(ran.stdout))


def measure_all(source: Path) -> Iterable[tuple[str, float]]:
    """Names and seconds. Uses public names alone, which earlier commits have, too."""
    assert Path(lb.__file__).is_relative_to(source), f"{lb.__file__} is not in {source}"
    means = lb.scenarios.one_sparse(100)
    for policy, trials in (
        (lb.UniformSampling(delta=0.1), 500),
        (lb.LinkedEGE(delta=0.1, gap=0.05), 10_000),
        (lb.LinkedElimination(delta=0.1), 2_000),
        (lb.LinkedTrackAndStop(delta=0.1), 500),
    ):
        yield (
            f"simulate, {policy.name}, n=100",
            least(lambda policy=policy, trials=trials: lb.simulate(means, policy, trials=trials, seed=1)),
        )
    for linkage in ("ordered", "free", "single"):
        for arms in (10, 1000):
            yield f"ask and tell, {linkage}, n={arms}", least(lambda linkage=linkage, arms=arms: plays(linkage, arms))
    for batch, pairs in ((1, 3_000), (100, 80_000)):
        yield f"service, batches of {batch}", service_seconds(batch, pairs)


def least(work: Callable[[], object], times: int = 3) -> float:
    """The least time of the processor that the work took."""
    seconds = []
    for _ in range(times):
        begun = time.process_time()
        work()
        seconds.append(time.process_time() - begun)
    return min(seconds)


def plays(linkage: str, arms: int) -> None:
    """Some thousand plays of an experiment in this process."""
    means = np.full(arms, 0.1)
    means[-2:] = 0.3  # a tie, so that the run does not end
    heads = (np.random.default_rng(1).random((1000, arms)) < means).tolist()
    experiment = lb.Experiment(range(arms), lb.LinkedElimination(delta=1e-12), linkage=linkage)
    for number in range(10_000):
        play = experiment.ask()
        coin = heads[number % 1000]
        experiment.tell(play.id, next((arm for arm in play.arms if coin[arm]), None))


def service_seconds(batch: int, pairs: int) -> float:
    """Time of the processor that a server takes for that many plays, asked for and told over HTTP by eight clients."""
    clients = 8

    async def load(url: str, experiment: str, share: int) -> None:
        connections = [await Connection.open(url) for _ in range(clients)]
        players = [Player(connection, experiment, batch, seed) for seed, connection in enumerate(connections)]

        async def play(player: Player) -> None:
            while player.pairs < share / clients:
                await player.play()

        await asyncio.gather(*map(play, players))
        for connection in connections:
            connection.close()

    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "linkedbandits", "serve", "--port", "0", "--store", f"{folder}/s.sqlite3"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
            assert server.stdout is not None
            url = server.stdout.readline().split()[2].rstrip("/")
            try:
                with Client(url) as client:
                    experiment = client.create(
                        "load", ARMS, lb.LinkedElimination(delta=HARDLY_EVER), parallel=clients * batch
                    )
                asyncio.run(load(url, experiment.id, pairs // 4))  # warm up
                begun = processor_seconds(server.pid)
                asyncio.run(load(url, experiment.id, pairs))
                return processor_seconds(server.pid) - begun
            finally:
                server.send_signal(signal.SIGTERM)


def processor_seconds(process: int) -> float:
    """What a process has used so far, in all its threads."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    print(json.dumps(list(measure_all(Path(sys.argv[1])))))
